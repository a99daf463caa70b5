; Odin.

(procedure_declaration . (identifier) @name (procedure (block) @body)) @function
(procedure_declaration . (identifier) @name) @function
(overloaded_procedure_declaration . (identifier) @name) @function
(struct_declaration . (identifier) @name) @struct
(enum_declaration . (identifier) @name) @enum
(union_declaration . (identifier) @name) @union
(const_declaration . (identifier) @name) @constant
(call_expression function: (identifier) @call)
