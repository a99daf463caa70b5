; Emacs Lisp.

(function_definition name: (_) @name parameters: (_) docstring: (string) @doc @body) @function
(function_definition name: (_) @name parameters: (_) . (_) @body) @function
(macro_definition name: (_) @name parameters: (_) docstring: (string) @doc @body) @macro
(macro_definition name: (_) @name parameters: (_) . (_) @body) @macro
(special_form . ["defvar" "defconst"] . (symbol) @name) @variable
(source_file (list . (symbol) @callee . (symbol) @name) @definition)

(source_file (list . (symbol) . (quote)) @import)

(list . (symbol) @call)
(quote (list . (symbol) @bound))
(function_definition parameters: (list . (symbol) @bound))
(macro_definition parameters: (list . (symbol) @bound))
(special_form "lambda" . (list . (symbol) @bound))
(special_form ["let" "let*"] . (list . (symbol) @bound))
(special_form ["let" "let*"] . (list (list . (symbol) @bound)))
