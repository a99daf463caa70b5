; PureScript.

(type_alias name: (type) @name) @type
(data name: (type) @name) @type
(newtype name: (type) @name) @type
(class_declaration (class_head (class_name (type) @name)) (class_body)? @body) @interface
(foreign_import name: (_) @name) @function
(function name: (variable) @name patterns: (_) rhs: (_) @body) @function @clause
(function name: (variable) @name rhs: (_) @body) @function @clause
(exp_apply . (exp_name (variable) @call))
(type_name (type) @ref)
