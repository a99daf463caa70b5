; Tcl.

(procedure name: (_) @name body: (_) @body) @function
(namespace (word_list . (simple_word) . (simple_word) @name . (braced_word) @body)) @namespace
(source_file (set . (id) @name) @variable)
(command name: (simple_word) @call)
