; CMake.

(function_def (function_command (argument_list . (argument) @name)) (body)? @body) @function
(macro_def (macro_command (argument_list . (argument) @name)) (body)? @body) @macro
(source_file (normal_command (identifier) @callee (argument_list . (argument (unquoted_argument) @name))) @definition)
(normal_command (identifier) @call)
