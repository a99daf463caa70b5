; Erlang.

(fun_decl clause: (function_clause name: (atom) @name body: (_) @body)) @function @clause
(module_attribute name: (atom) @name) @package
(pp_define lhs: (macro_lhs name: (_) @name)) @constant
(record_decl name: (atom) @name) @struct
(type_alias name: (type_name name: (atom) @name)) @type
(opaque name: (type_name name: (atom) @name)) @type
(callback fun: (atom) @name) @function
(call expr: (atom) @call)
(call expr: (remote fun: (atom) @call))
(record_expr name: (record_name name: (atom) @ref))
