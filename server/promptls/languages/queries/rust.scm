; Rust. A method belongs to the type of its impl block. The block itself is a symbol without a name.

(function_item name: (_) @name body: (_) @body) @function
(function_signature_item name: (_) @name) @function
(struct_item name: (_) @name body: (_)? @body) @struct
(enum_item name: (_) @name body: (_) @body) @enum
(union_item name: (_) @name body: (_) @body) @union
(trait_item name: (_) @name body: (_) @body) @trait
(impl_item type: (_) @owner body: (_) @body) @impl
(type_item name: (_) @name) @type
(const_item name: (_) @name) @constant
(static_item name: (_) @name) @variable
(macro_definition name: (_) @name . ["{" "(" "["] @body) @macro
(mod_item name: (_) @name body: (_) @body) @module

(attribute_item) @attribute

(use_declaration) @import
(extern_crate_declaration) @import
(mod_item !body) @import

(call_expression function: (identifier) @call)
(call_expression function: (scoped_identifier name: (_) @call))
(call_expression function: (field_expression field: (field_identifier) @call))
(call_expression function: (generic_function function: (identifier) @call))
(call_expression function: (generic_function function: (scoped_identifier name: (_) @call)))
(call_expression function: (generic_function function: (field_expression field: (_) @call)))
(call_expression function: (scoped_identifier path: (identifier) @ref))
(macro_invocation macro: (identifier) @call)
(macro_invocation macro: (scoped_identifier name: (_) @call))
(token_tree (identifier) @call . (token_tree))
(type_identifier) @ref

(impl_item trait: (type_identifier) @implements)
(impl_item trait: (scoped_type_identifier name: (_) @implements))
(impl_item trait: (generic_type type: (type_identifier) @implements))
(trait_item bounds: (trait_bounds (type_identifier) @base))
(struct_expression name: (type_identifier) @call)
(struct_expression name: (scoped_type_identifier name: (_) @call))

(if_expression) @branch
(match_arm) @branch
(while_expression) @branch
(for_expression) @branch
(loop_expression) @branch
(try_expression) @branch
["&&"] @branch
["||"] @branch

(await_expression) @awaits

(let_declaration type: (_)) @typed
(let_declaration value: [(call_expression) (struct_expression) (try_expression) (await_expression)]) @typed
(parameter) @typed
(field_declaration name: (_) type: (_)) @typed
