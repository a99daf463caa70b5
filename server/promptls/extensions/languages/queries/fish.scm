; Fish.

(function_definition name: (word) @name [(command) (for_statement) (if_statement) (while_statement) (switch_statement) (begin_statement) (return)] @body) @function
(function_definition name: (word) @name) @function
(command name: (word) @call)
