; Elixir. Everything is a call; `definition_calls` in elixir.py lists the values of @callee that define something.

(call target: (identifier) @callee (arguments . (alias) @name) (do_block) @body) @definition
(call target: (identifier) @callee (arguments . (call target: (identifier) @name)) (do_block)? @body) @definition
(call target: (identifier) @callee (arguments . (identifier) @name) (do_block)? @body) @definition
(call target: (identifier) @callee (arguments . (binary_operator left: (call target: (identifier) @name))) (do_block)? @body) @definition
(call target: (identifier) @callee (arguments . (string) @name) (do_block) @body) @definition

(unary_operator operator: "@" operand: (call target: (identifier) @callee
  (arguments . (binary_operator left: [(identifier) @name (call target: (identifier) @name)])))) @definition
(unary_operator operator: "@" operand: (call target: (identifier) @callee
  (arguments . (binary_operator left: (binary_operator left: (call target: (identifier) @name)))))) @definition

(unary_operator operator: "@") @attribute

(call target: (identifier) @callee (arguments . [(alias) (dot)])) @import

(call target: (identifier) @call)
; Without arguments, this is a call if the receiver is a module, and a field access if it is a value.
(call target: (dot right: (identifier) @call) (arguments))
(call target: (dot left: [(alias) (atom)] right: (identifier) @call))
(unary_operator operator: "&" operand: (binary_operator left: (identifier) @call operator: "/"))
(alias) @ref
(call target: (identifier) (arguments . (alias) @implements))

(unary_operator operator: "@" operand: (call target: (identifier) @bound))
; Types in "@spec" and similar attributes.
(unary_operator operator: "@" operand: (call (arguments . (binary_operator left: (call target: (identifier) @bound)))))
(unary_operator operator: "@" operand: (call (arguments . (binary_operator left: (binary_operator left: (call target: (identifier) @bound))))))

(stab_clause) @branch
["&&"] @branch
["||"] @branch
["and"] @branch
["or"] @branch
