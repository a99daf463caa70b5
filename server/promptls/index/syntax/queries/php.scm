; PHP.

(namespace_definition name: (_) @name body: (_) @body) @namespace
(namespace_definition name: (_) @name !body) @package
(class_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @interface
(trait_declaration name: (_) @name body: (_) @body) @trait
(enum_declaration name: (_) @name body: (_) @body) @enum
(function_definition name: (_) @name body: (_) @body) @function
(method_declaration name: (_) @name body: (_)? @body) @method
(const_declaration (const_element . (name) @name)) @constant
(property_declaration (property_element (variable_name (name) @name))) @property

(namespace_use_declaration) @import
(expression_statement [
  (require_expression) (require_once_expression) (include_expression) (include_once_expression)
]) @import

(function_call_expression function: (name) @ref)
(function_call_expression function: (qualified_name (name) @ref))
(member_call_expression name: (name) @ref)
(nullsafe_member_call_expression name: (name) @ref)
(scoped_call_expression name: (name) @ref)
(scoped_call_expression scope: (name) @ref)
(object_creation_expression (name) @ref)
(object_creation_expression (qualified_name (name) @ref))
(base_clause (name) @ref)
(base_clause (qualified_name (name) @ref))
(class_interface_clause (name) @ref)
(class_interface_clause (qualified_name (name) @ref))
(use_declaration (name) @ref)
(named_type (name) @ref)
(attribute (name) @ref)
