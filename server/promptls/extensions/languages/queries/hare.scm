; Hare.

(function_declaration name: (_) @name body: (_)? @body) @function
(type_declaration . (_) @name) @type
(constant_declaration . (_) @name) @constant
(global_declaration . (_) @name) @variable
(call_expression callee: (_) @call)
