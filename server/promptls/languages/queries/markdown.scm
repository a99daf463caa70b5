; Markdown: a section reaches from its heading to the next one of its level or above (outline.py).

(atx_heading (inline) @name) @heading
(setext_heading (paragraph) @name) @heading
(atx_heading (heading_content) @name) @heading
(setext_heading (heading_content) @name) @heading
