; Elixir. Everything is a call; which ones define something is told by @verb (outline.VERBS).

(call target: (identifier) @verb (arguments . (alias) @name) (do_block) @body) @definition
(call target: (identifier) @verb (arguments . (call target: (identifier) @name)) (do_block)? @body) @definition
(call target: (identifier) @verb (arguments . (identifier) @name) (do_block)? @body) @definition
(call target: (identifier) @verb (arguments . (binary_operator left: (call target: (identifier) @name))) (do_block)? @body) @definition
(call target: (identifier) @verb (arguments . (string) @name) (do_block) @body) @definition

(unary_operator operator: "@") @lead

(call target: (identifier) @verb (arguments . [(alias) (dot)])) @import

(call target: (identifier) @call)
(call target: (dot right: (identifier) @call))
(alias) @ref

(stab_clause) @fork
["&&"] @fork
["||"] @fork
["and"] @fork
["or"] @fork
