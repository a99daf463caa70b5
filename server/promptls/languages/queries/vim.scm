; Vim script.

(function_definition (function_declaration name: (_) @name) (body)? @body) @function
(command_statement name: (_) @name) @function
(script_file (let_statement . [(scoped_identifier) (identifier)] @name) @variable)

(source_statement) @import

(call_expression function: [(identifier) (scoped_identifier)] @call)
(call_expression function: (field_expression field: (_) @call))

(if_statement) @branch
(elseif_statement) @branch
(for_loop) @branch
(while_loop) @branch
