; Dockerfile: build stages. A stage extends to the next FROM (symbol_builder.py).

(from_instruction as: (image_alias) @name) @stage
(from_instruction (image_spec) @name) @stage

(copy_instruction (param) @ref)

(arg_instruction name: (_) @name) @constant
(env_instruction (env_pair name: (_) @name) @constant)
