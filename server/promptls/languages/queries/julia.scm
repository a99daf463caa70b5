; Julia.

(module_definition name: (_) @name) @module
(function_definition (signature (call_expression . (_) @name)) (block)? @body) @function
(function_definition (signature (where_expression (call_expression . (_) @name))) (block)? @body) @function
(function_definition (signature (typed_expression (call_expression . (_) @name))) (block)? @body) @function
(function_definition name: (_) @name) @function
(macro_definition (signature (call_expression . (_) @name)) (block)? @body) @macro
(macro_definition name: (_) @name) @macro
(struct_definition (type_head . (identifier) @name)) @struct
(struct_definition (type_head (binary_expression . (identifier) @name))) @struct
(struct_definition (type_head (parametrized_type_expression . (identifier) @name))) @struct
(struct_definition (type_head (binary_expression . (parametrized_type_expression . (identifier) @name)))) @struct
(struct_definition name: (_) @name) @struct
(abstract_definition (type_head . (identifier) @name)) @type
(abstract_definition (type_head (binary_expression . (identifier) @name))) @type
(abstract_definition name: (_) @name) @type
(assignment . (call_expression . (_) @name)) @function
(short_function_definition name: (_) @name) @function
(const_statement (assignment . (identifier) @name)) @constant

((string_literal) @attribute . [(function_definition) (struct_definition) (abstract_definition) (macro_definition) (assignment)])

(using_statement) @import
(import_statement) @import
(call_expression (identifier) (argument_list . (string_literal) .)) @import

(call_expression . (identifier) @call)
(call_expression . (field_expression (identifier) @call .))
(binary_expression (operator) . (identifier) @ref .)
(typed_expression (identifier) . (identifier) @ref)

(if_statement) @branch
(elseif_clause) @branch
(for_statement) @branch
(while_statement) @branch
(catch_clause) @branch
(ternary_expression) @branch
