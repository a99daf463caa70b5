; Markdown. A section extends from its heading to the next heading of its level or above (symbol_builder.py).

(atx_heading (inline) @name) @heading
(setext_heading (paragraph) @name) @heading
(atx_heading (heading_content) @name) @heading
(setext_heading (heading_content) @name) @heading
