; Julia.

(module_definition name: (_) @name) @module
(function_definition (signature . (_) @declarator) (block)? @body) @function
(function_definition name: (_) @name) @function
(assignment . (binary_expression (_) . (operator) @name . (_))) @function
(short_function_definition name: (_) @name) @function
(short_function_definition name: (function_object) @name) @function
(macro_definition (signature (call_expression . (_) @name)) (block)? @body) @macro
(macro_definition name: (_) @name) @macro

(struct_definition (type_head [
  (identifier) @name
  (parametrized_type_expression . (identifier) @name)
  (binary_expression . (identifier) @name)
  (binary_expression . (parametrized_type_expression . (identifier) @name))
])) @struct
(struct_definition name: (_) @name) @struct
(abstract_definition (type_head [
  (identifier) @name
  (parametrized_type_expression . (identifier) @name)
  (binary_expression . (identifier) @name)
  (binary_expression . (parametrized_type_expression . (identifier) @name))
])) @type
(abstract_definition name: (_) @name) @type
(primitive_definition (type_head [
  (identifier) @name
  (parametrized_type_expression . (identifier) @name)
  (binary_expression . (identifier) @name)
  (binary_expression . (parametrized_type_expression . (identifier) @name))
])) @type
(primitive_definition name: (_) @name) @type

(const_statement (assignment . (identifier) @name)) @constant
(const_statement (assignment . (typed_expression . (identifier) @name))) @constant
(const_statement (assignment . (parametrized_type_expression . (identifier) @name))) @type
(const_statement (assignment . (open_tuple (identifier) @name @constant))) @head
(source_file (assignment . (identifier) @name (operator) . (arrow_function_expression)) @function)
(module_definition (block (assignment . (identifier) @name (operator) . (arrow_function_expression)) @function))
(source_file (assignment . (identifier) @name) @variable)
(module_definition (block (assignment . (identifier) @name) @variable))
(module_definition (assignment . (identifier) @name) @variable)
(global_statement (assignment . (identifier) @name)) @variable
(assignment . [(call_expression) (where_expression) (typed_expression)] @declarator) @function
(macrocall_expression (macro_identifier (identifier) @callee) (macro_argument_list . [
  (identifier) @name
  (string_literal) @name
  (typed_expression . (identifier) @name)
])) @definition
(macrocall_expression (macro_argument_list
  [(function_definition) (struct_definition) (assignment)] @inner .)) @wrap
(macrocall_expression (macro_argument_list (short_function_definition) @inner .)) @wrap

((string_literal) @attribute . [(function_definition) (struct_definition) (abstract_definition) (primitive_definition)
  (macro_definition) (module_definition) (const_statement) (macrocall_expression) (assignment)])
((string_literal) @attribute . (short_function_definition))

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
