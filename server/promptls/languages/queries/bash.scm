; Bash and sh.

(function_definition name: (_) @name body: (_) @body) @function
(program (variable_assignment name: (variable_name) @name) @variable)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @variable)

(command name: (command_name) argument: (_)) @import

(command name: (command_name (word) @call))

(if_statement) @fork
(elif_clause) @fork
(for_statement) @fork
(while_statement) @fork
(case_item) @fork
["&&"] @fork
["||"] @fork
