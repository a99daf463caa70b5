; Prisma.

(model_block (identifier) @name) @class
(enum_block . (identifier) @name) @enum
(view_block (identifier) @name) @view
(type_block (identifier) @name) @type
(key_value_block (identifier) @name) @block
