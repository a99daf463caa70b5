; Starlark: targets of build files. Functions and constants come from the queries of Python.

(module (expression_statement (call arguments: (argument_list (keyword_argument name: (identifier) @callee value: (string) @name))) @definition))
