; Meson.

(source_file (operatorunit . (identifier) @name) @variable)
(normal_command command: (identifier) @call)
