; Fennel.

(fn name: (_) @name (parameters) docstring: (string) @doc @body) @function
(fn name: (_) @name (parameters) . (_) @body) @function
(lambda name: (_) @name (parameters) . (_) @body) @function
(program (local . (binding (symbol) @name)) @variable)
(program (list . (symbol) @callee . (symbol) @name) @definition)
(list . (symbol) @call)
