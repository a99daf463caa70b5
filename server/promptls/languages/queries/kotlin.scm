; Kotlin. The grammars differ in their use of fields, so children are named by type.

(class_declaration "interface" (type_identifier) @name (class_body)? @body) @interface
(class_declaration (type_identifier) @name (class_body) @body) @class
(class_declaration (type_identifier) @name (enum_class_body) @body) @enum
(class_declaration (type_identifier) @name) @class
(object_declaration (type_identifier) @name (class_body)? @body) @object
(companion_object (type_identifier) @name (class_body)? @body) @object
(function_declaration receiver: (_) @owner (simple_identifier) @name (function_body)? @body) @method
(function_declaration !receiver (simple_identifier) @name (function_body)? @body) @function
(secondary_constructor "constructor" @name) @constructor
(source_file (property_declaration (variable_declaration . (simple_identifier) @name)) @property)
(class_body (property_declaration (variable_declaration . (simple_identifier) @name)) @property)
(source_file (property_declaration (multi_variable_declaration (variable_declaration . (simple_identifier) @name @property))) @head)
(enum_class_body (property_declaration (variable_declaration . (simple_identifier) @name)) @property)
(ERROR (property_declaration (variable_declaration . (simple_identifier) @name)) @property)
(type_alias (type_identifier) @name) @type

(import_header) @import

(call_expression . (simple_identifier) @call)
(call_expression . (navigation_expression (navigation_suffix (simple_identifier) @call)))
(user_type (type_identifier) @ref)

(delegation_specifier (constructor_invocation (user_type (type_identifier) @base)))
(delegation_specifier (user_type (type_identifier) @implements))

(if_expression) @branch
(for_statement) @branch
(while_statement) @branch
(do_while_statement) @branch
(when_entry) @branch
(catch_block) @branch
["&&"] @branch
["||"] @branch
["?:"] @branch

(property_declaration) @typed
(parameter) @typed
(class_parameter) @typed
