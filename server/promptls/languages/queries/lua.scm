; Lua. The two grammars in use share hardly any node names.

(function_declaration name: (_) @name body: (_)? @body) @function
(function_definition_statement name: (_) @name body: (_)? @body) @function
(local_function_definition_statement name: (_) @name body: (_)? @body) @function
(assignment_statement (variable_list . name: (_) @name .) (expression_list . value: (function_definition body: (_)? @body) .)) @function
(field name: (identifier) @name value: (function_definition body: (_)? @body)) @method
(local_variable_declaration (variable_list . (variable) @name .) (expression_list . value: (function_definition body: (_)? @body) .)) @function
(variable_assignment (variable_list . (variable) @name .) (expression_list . value: (function_definition body: (_)? @body) .)) @function
(field key: (identifier) @name value: (function_definition body: (_)? @body)) @method
(chunk (variable_declaration (assignment_statement (variable_list . name: (identifier) @name)) @variable))
(chunk (variable_declaration (assignment_statement (variable_list (identifier) . (identifier) @name @variable)) @head))
(chunk (local_variable_declaration (variable_list (variable) . (variable) @name @variable)) @head)
(chunk (local_variable_declaration (variable_list . (variable) @name)) @variable)

(variable_declaration (assignment_statement) @inner) @wrap

(function_call name: (identifier) arguments: (arguments . (string) .)) @import
(call function: (variable) arguments: (argument_list . (expression_list . (string) .))) @import
(call function: (variable) arguments: (argument_list . (string) .)) @import

(function_call name: (identifier) @call)
(function_call name: (dot_index_expression field: (_) @call))
(function_call name: (method_index_expression method: (_) @call))
(call function: (variable name: (_) @call))
(call function: (variable field: (_) @call))
(call function: (variable method: (_) @call))

(if_statement) @branch
(elseif_statement) @branch
(for_statement) @branch
(while_statement) @branch
(repeat_statement) @branch
["and"] @branch
["or"] @branch
