; Rust. A method belongs to the type of its impl block; the block itself is a nameless symbol.

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

(attribute_item) @lead

(use_declaration) @import
(extern_crate_declaration) @import
(mod_item !body) @import

(call_expression function: (identifier) @ref)
(call_expression function: (scoped_identifier name: (_) @ref))
(call_expression function: (field_expression field: (field_identifier) @ref))
(call_expression function: (generic_function function: (identifier) @ref))
(call_expression function: (generic_function function: (scoped_identifier name: (_) @ref)))
(call_expression function: (generic_function function: (field_expression field: (_) @ref)))
(call_expression function: (scoped_identifier path: (identifier) @ref))
(macro_invocation macro: (identifier) @ref)
(macro_invocation macro: (scoped_identifier name: (_) @ref))
(token_tree (identifier) @ref . (token_tree))
(type_identifier) @ref
