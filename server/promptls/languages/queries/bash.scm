; Bash and sh.

(function_definition name: (_) @name body: (_) @body) @function
(program (variable_assignment name: (variable_name) @name) @variable)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @variable)

(command name: (command_name) argument: (_)) @import

(command name: (command_name (word) @call))

(if_statement) @branch
(elif_clause) @branch
(for_statement) @branch
(while_statement) @branch
(case_item) @branch
["&&"] @branch
["||"] @branch
