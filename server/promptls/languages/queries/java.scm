; Java.

(class_declaration name: (_) @name body: (_) @body) @class
(record_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @interface
(annotation_type_declaration name: (_) @name body: (_) @body) @interface
(enum_declaration name: (_) @name body: (_) @body) @enum
(method_declaration name: (_) @name body: (_)? @body) @method
(annotation_type_element_declaration name: (_) @name) @method
(constructor_declaration name: (_) @name body: (_) @body) @constructor
(compact_constructor_declaration name: (_) @name body: (_) @body) @constructor
(field_declaration declarator: (variable_declarator name: (_) @name)) @field
(constant_declaration declarator: (variable_declarator name: (_) @name)) @constant
(field_declaration (variable_declarator) . (variable_declarator name: (_) @name) @field) @head
(constant_declaration (variable_declarator) . (variable_declarator name: (_) @name) @constant) @head

(import_declaration) @import

(method_invocation name: (_) @call)
(type_identifier) @ref
(marker_annotation name: (identifier) @ref)
(annotation name: (identifier) @ref)

(object_creation_expression type: (type_identifier) @call)
(object_creation_expression type: (scoped_type_identifier (type_identifier) @call .))
(object_creation_expression type: (generic_type . (type_identifier) @call))
(superclass (type_identifier) @base)
(superclass (generic_type . (type_identifier) @base))
(super_interfaces (type_list (type_identifier) @implements))
(super_interfaces (type_list (generic_type . (type_identifier) @implements)))
(extends_interfaces (type_list (type_identifier) @base))

(if_statement) @branch
(for_statement) @branch
(enhanced_for_statement) @branch
(while_statement) @branch
(do_statement) @branch
(switch_label) @branch
(catch_clause) @branch
(ternary_expression) @branch
["&&"] @branch
["||"] @branch

(local_variable_declaration) @typed
(formal_parameter) @typed
(field_declaration) @typed
