; Elixir. Everything is a call; which ones define something is told by @verb (outline.VERBS).

(call target: (identifier) @verb (arguments . (alias) @name) (do_block) @body) @definition
(call target: (identifier) @verb (arguments . (call target: (identifier) @name)) (do_block)? @body) @definition
(call target: (identifier) @verb (arguments . (identifier) @name) (do_block)? @body) @definition
(call target: (identifier) @verb (arguments . (binary_operator left: (call target: (identifier) @name))) (do_block)? @body) @definition
(call target: (identifier) @verb (arguments . (string) @name) (do_block) @body) @definition

(unary_operator operator: "@" operand: (call target: (identifier) @verb
  (arguments . (binary_operator left: [(identifier) @name (call target: (identifier) @name)])))) @definition
(unary_operator operator: "@" operand: (call target: (identifier) @verb
  (arguments . (binary_operator left: (binary_operator left: (call target: (identifier) @name)))))) @definition

(unary_operator operator: "@") @lead

(call target: (identifier) @verb (arguments . [(alias) (dot)])) @import

(call target: (identifier) @call)
; Without arguments it is a call only on a module: on a value it is a field.
(call target: (dot right: (identifier) @call) (arguments))
(call target: (dot left: [(alias) (atom)] right: (identifier) @call))
(unary_operator operator: "&" operand: (binary_operator left: (identifier) @call operator: "/"))
(alias) @ref
(call target: (identifier) (arguments . (alias) @iface))

(unary_operator operator: "@" operand: (call target: (identifier) @bound))
; What "@spec" and the like speak of.
(unary_operator operator: "@" operand: (call (arguments . (binary_operator left: (call target: (identifier) @bound)))))
(unary_operator operator: "@" operand: (call (arguments . (binary_operator left: (binary_operator left: (call target: (identifier) @bound))))))

(stab_clause) @fork
["&&"] @fork
["||"] @fork
["and"] @fork
["or"] @fork
