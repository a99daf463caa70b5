; Nix: bindings in let expressions and attribute sets.

(let_expression (binding_set (binding attrpath: (_) @name expression: (function_expression) @body) @function))
(let_expression (binding_set (binding attrpath: (_) @name) @variable))
(attrset_expression (binding_set (binding attrpath: (_) @name expression: (function_expression) @body) @function))
(rec_attrset_expression (binding_set (binding attrpath: (_) @name expression: (function_expression) @body) @function))
(attrset_expression (binding_set (binding attrpath: (_) @name) @key))
(rec_attrset_expression (binding_set (binding attrpath: (_) @name) @key))

(apply_expression function: (variable_expression name: (identifier)) argument: [(path_expression) (spath_expression)]) @import

(apply_expression function: (variable_expression name: (identifier) @call))
(apply_expression function: (select_expression attrpath: (attrpath attr: (identifier) @call .)))
