; Dockerfile: build stages.  A stage reaches to the next FROM (outline.py).

(from_instruction as: (image_alias) @name) @stage
(from_instruction (image_spec) @name) @stage

(copy_instruction (param) @ref)
