; Bash and sh.

(function_definition name: (_) @name body: (_) @body) @function
(program (variable_assignment name: (variable_name) @name) @variable)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @variable)

(command name: (command_name) argument: (_)) @import

(command name: (command_name (word) @ref))
