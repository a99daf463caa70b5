; Dart. A body follows its signature as a sibling node, captured as @tail.

(class_definition name: (_) @name body: (_) @body) @class
(mixin_declaration (identifier) @name (class_body) @body) @trait
(enum_declaration name: (_) @name body: (_) @body) @enum
(extension_declaration name: (_) @name body: (_) @body) @object
((function_signature name: (_) @name) @function . (function_body) @tail)
((method_signature (function_signature name: (_) @name)) @method . (function_body) @tail)
((method_signature (getter_signature name: (_) @name)) @method . (function_body) @tail)
((method_signature (setter_signature name: (_) @name)) @method . (function_body) @tail)
((method_signature (factory_constructor_signature (identifier) . (identifier) @name)) @constructor . (function_body) @tail)
((method_signature (constructor_signature name: (identifier) @name)) @constructor . (function_body) @tail)
(declaration (constructor_signature name: (identifier) . "." . name: (identifier) @name)) @constructor
(declaration (constructor_signature . name: (identifier) @name)) @constructor
(declaration (function_signature name: (_) @name)) @method
(type_alias . (type_identifier) @name) @type
((method_signature (operator_signature (binary_operator) @name)) @method . (function_body) @tail)
((getter_signature name: (_) @name) @function . (function_body) @tail)
((setter_signature name: (_) @name) @function . (function_body) @tail)
(declaration (static_final_declaration_list (static_final_declaration . (identifier) @name) @constant)) @head
(declaration (initialized_identifier_list (initialized_identifier . (identifier) @name) @field)) @head
(program (initialized_identifier_list (initialized_identifier . (identifier) @name) @variable))
(enum_constant name: (_) @name) @constant
(program (static_final_declaration_list (static_final_declaration . (identifier) @name)) @constant)

(annotation) @attribute

(import_or_export) @import
(part_directive) @import
(part_of_directive) @import

((identifier) @call . (selector (argument_part)))
((selector (unconditional_assignable_selector (identifier) @call)) . (selector (argument_part)))
((selector (conditional_assignable_selector (identifier) @call)) . (selector (argument_part)))
(cascade_section (cascade_selector (identifier) @call) (argument_part))
(new_expression (type_identifier) (identifier) @call)
(const_object_expression (type_identifier) (identifier) @call)
(type_identifier) @ref

(superclass (type_identifier) @base)
(mixins (type_identifier) @base)
(interfaces (type_identifier) @implements)

(if_statement) @branch
(for_statement) @branch
(while_statement) @branch
(do_statement) @branch
(switch_statement_case) @branch
(catch_clause) @branch
(conditional_expression) @branch
["&&"] @branch
["||"] @branch

(yield_statement) @yields

(class_body (declaration) @typed)
(initialized_variable_definition) @typed
(formal_parameter (type_identifier)) @typed
