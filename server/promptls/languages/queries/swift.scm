; Swift. Classes, structs, enums, actors and extensions are one kind of node.

(class_declaration declaration_kind: "class" name: (_) @name body: (_) @body) @class
(class_declaration declaration_kind: "struct" name: (_) @name body: (_) @body) @struct
(class_declaration declaration_kind: "enum" name: (_) @name body: (_) @body) @enum
(class_declaration declaration_kind: "actor" name: (_) @name body: (_) @body) @class
(class_declaration declaration_kind: "extension" name: (_) @owner body: (_) @body) @impl
(protocol_declaration name: (_) @name body: (_) @body) @interface
(function_declaration name: [(simple_identifier) (custom_operator)] @name body: (_)? @body) @function
(protocol_function_declaration name: (simple_identifier) @name) @method
(init_declaration "init" @name body: (_)? @body) @constructor
(deinit_declaration "deinit" @name body: (_)? @body) @method
(subscript_declaration "subscript" @name) @method
(typealias_declaration name: (type_identifier) @name) @type
(associatedtype_declaration name: (_) @name) @type
(class_body (property_declaration name: (pattern . (simple_identifier) @name) computed_value: (_)? @body) @property)
(source_file (property_declaration name: (pattern . (simple_identifier) @name) computed_value: (_)? @body) @variable)
(class_body (property_declaration (pattern) (pattern . (simple_identifier) @name) @property) @head)
(source_file (property_declaration (pattern) (pattern . (simple_identifier) @name) @variable) @head)
(source_file (property_declaration name: (pattern (pattern (simple_identifier) @name @variable))) @head)

(import_declaration) @import

(call_expression . (simple_identifier) @call)
(call_expression . (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @call)))
(user_type (type_identifier) @ref)

(inheritance_specifier inherits_from: (user_type (type_identifier) @base))

(if_statement) @branch
(guard_statement) @branch
(for_statement) @branch
(while_statement) @branch
(repeat_while_statement) @branch
(switch_entry) @branch
(catch_block) @branch
(ternary_expression) @branch
(conjunction_expression) @branch
(disjunction_expression) @branch
(nil_coalescing_expression) @branch

(property_declaration) @typed
(parameter) @typed
