; Luau.

(function_declaration name: (_) @name body: (_)? @body) @function
(type_definition name: (_) @name) @type
(chunk (variable_declaration (assignment_statement (variable_list . name: (identifier) @name))) @variable)
(function_call name: (identifier) @call)
(function_call name: (dot_index_expression field: (identifier) @call))
(function_call name: (method_index_expression method: (identifier) @call))
