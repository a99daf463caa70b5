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
(const_declaration (const_element) . (const_element . (name) @name) @constant) @head
(property_declaration (property_element) . (property_element (variable_name (name) @name)) @property) @head

(namespace_use_declaration) @import
(expression_statement [
  (require_expression) (require_once_expression) (include_expression) (include_once_expression)
]) @import

(function_call_expression function: (name) @call)
(function_call_expression function: (qualified_name (name) @call))
(member_call_expression name: (name) @call)
(nullsafe_member_call_expression name: (name) @call)
(scoped_call_expression name: (name) @call)
(scoped_call_expression scope: (name) @ref)
(object_creation_expression (name) @call)
(object_creation_expression (qualified_name (name) @call))
(base_clause (name) @base)
(base_clause (qualified_name (name) @base))
(class_interface_clause (name) @implements)
(class_interface_clause (qualified_name (name) @implements))
(use_declaration (name) @base)
(named_type (name) @ref)
(attribute (name) @ref)

(if_statement) @branch
(else_if_clause) @branch
(for_statement) @branch
(foreach_statement) @branch
(while_statement) @branch
(do_statement) @branch
(case_statement) @branch
(match_conditional_expression) @branch
(catch_clause) @branch
(conditional_expression) @branch
["&&"] @branch
["||"] @branch
["??"] @branch

(yield_expression) @yields

(assignment_expression right: (object_creation_expression)) @typed
(simple_parameter type: (_)) @typed
(property_declaration type: (_)) @typed
(property_promotion_parameter type: (_)) @typed
