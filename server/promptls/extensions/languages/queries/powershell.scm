; PowerShell.

(function_statement (function_name) @name (script_block)? @body) @function
(class_statement . (simple_name) @name) @class
(enum_statement . (simple_name) @name) @enum
(class_method_definition (simple_name) @name (script_block)? @body) @method
(program (statement_list (pipeline (assignment_expression (left_assignment_expression) @name) @variable)))
(command command_name: (command_name) @call)
