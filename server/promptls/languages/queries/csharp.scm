; C#.

(class_declaration name: (_) @name body: (_)? @body) @class
(record_declaration "struct" name: (_) @name body: (declaration_list)? @body) @struct
(record_declaration name: (_) @name body: (declaration_list)? @body) @class
(record_struct_declaration name: (_) @name body: (declaration_list)? @body) @struct
(struct_declaration name: (_) @name body: (_)? @body) @struct
(interface_declaration name: (_) @name body: (_)? @body) @interface
(enum_declaration name: (_) @name body: (_)? @body) @enum
(delegate_declaration name: (_) @name) @type
(namespace_declaration name: (_) @name body: (_) @body) @namespace
(file_scoped_namespace_declaration name: (_) @name) @package
(method_declaration name: (_) @name body: (_)? @body) @method
(local_function_statement name: (_) @name body: (_)? @body) @function
(constructor_declaration name: (_) @name body: (_)? @body) @constructor
(destructor_declaration name: (_) @name body: (_)? @body) @method
(operator_declaration operator: _ @name body: (_)? @body) @method
(indexer_declaration "this" @name accessors: (_)? @body) @property
(property_declaration name: (_) @name accessors: (_)? @body) @property
(event_declaration name: (_) @name) @property
(field_declaration (variable_declaration (variable_declarator . (identifier) @name))) @field
(event_field_declaration (variable_declaration (variable_declarator . (identifier) @name))) @field
(field_declaration (variable_declaration (variable_declarator) . (variable_declarator . (identifier) @name) @field)) @head
(event_field_declaration (variable_declaration (variable_declarator) . (variable_declarator . (identifier) @name) @field)) @head

(using_directive) @import

(invocation_expression function: (identifier) @call)
(invocation_expression function: (member_access_expression name: (identifier) @call))
(invocation_expression function: (generic_name . (identifier) @call))
(invocation_expression function: (member_access_expression name: (generic_name . (identifier) @call)))
(object_creation_expression type: (identifier) @call)
(base_list (identifier) @base)
(base_list (qualified_name name: (identifier) @base))
(generic_name . (identifier) @ref)
(type_argument_list (identifier) @ref)
(parameter type: (identifier) @ref)
(variable_declaration type: (identifier) @ref)
(method_declaration returns: (identifier) @ref)
(property_declaration type: (identifier) @ref)
(nullable_type (identifier) @ref)
(attribute name: (identifier) @ref)
(type_parameter_constraint type: (identifier) @ref)

(base_list (generic_name . (identifier) @base))

(if_statement) @branch
(for_statement) @branch
(foreach_statement) @branch
(for_each_statement) @branch
(while_statement) @branch
(do_statement) @branch
(switch_section) @branch
(switch_expression_arm) @branch
(catch_clause) @branch
(conditional_expression) @branch
["&&"] @branch
["||"] @branch

(yield_statement) @yields

(variable_declaration) @typed
(parameter type: (_)) @typed
(property_declaration type: (_)) @typed
