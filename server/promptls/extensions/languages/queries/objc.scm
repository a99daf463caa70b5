; Objective-C. Functions, structures and macros come from the queries of C.

(class_interface . (identifier) @name) @class
(class_implementation . (identifier) @name) @class
(protocol_declaration . (identifier) @name) @interface
(method_declaration . (method_type) . (identifier) @name) @method
(method_definition . (method_type) . (identifier) @name (compound_statement) @body) @method
(method_declaration . (identifier) @name) @method
(method_definition . (identifier) @name (compound_statement) @body) @method
(property_declaration (struct_declaration (struct_declarator (identifier) @name))) @property
(property_declaration (struct_declaration (struct_declarator (pointer_declarator declarator: (identifier) @name)))) @property
(preproc_def name: (identifier) @name) @constant
(message_expression method: (identifier) @call)
(class_interface superclass: (identifier) @base)
