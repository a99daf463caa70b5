; D.

(module_declaration (module_fqn) @name) @package
(function_declaration (type) (identifier) @name (function_body)? @body) @function
(auto_function_declaration (identifier) @name (function_body)? @body) @function
(constructor . (_) @name (function_body)? @body) @constructor
(class_declaration (identifier) @name (aggregate_body)? @body) @class
(struct_declaration (identifier) @name (aggregate_body)? @body) @struct
(interface_declaration (identifier) @name (aggregate_body)? @body) @interface
(union_declaration (identifier) @name (aggregate_body)? @body) @union
(enum_declaration . (enum) . (identifier) @name) @enum
(template_declaration (identifier) @name) @macro
(mixin_template_declaration (identifier) @name) @macro
(manifest_constant (manifest_declarator . (identifier) @name)) @constant
(alias_declaration (alias_initializer . (identifier) @name)) @type
(call_expression . (identifier) @call)
(call_expression . (property_expression (identifier) @call .))
(base_class (identifier) @base)
(type (identifier) @ref)
