; Cairo.

(function_definition . (identifier) @name (block) @body) @function
(function_definition (identifier) @name (block) @body) @function
(function_signature . (identifier) @name) @function
(struct_item name: (_) @name body: (_)? @body) @struct
(enum_item name: (_) @name body: (_)? @body) @enum
(trait_item name: (_) @name body: (_)? @body) @trait
(impl_item . (_) @name (block)? @body) @class
(mod_item name: (_) @name body: (_)? @body) @module
(const_item name: (_) @name) @constant
(type_item name: (_) @name) @type
(call_expression function: (identifier) @call)
