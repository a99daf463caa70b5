; Gleam.

(function name: (identifier) @name body: (_)? @body) @function
(type_definition (type_name name: (_) @name) (data_constructors)? @body) @type
(type_alias (type_name name: (_) @name)) @type
(constant name: (identifier) @name) @constant
(function_call function: (identifier) @call)
(function_call function: (field_access field: (label) @call))
(type name: (type_identifier) @ref)
