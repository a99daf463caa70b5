; HCL and Terraform: top-level blocks, named by their labels.

(config_file (body (block . (identifier) @callee . (string_lit) @owner . (string_lit) @name (body)? @body) @block))
(config_file (body (block . (identifier) @callee . (string_lit) @name (body)? @body) @block))
(config_file (body (block . (identifier) @name . (block_start) (body)? @body) @block))
(config_file (body (block . (identifier) @callee (body (attribute . (identifier) @name) @member))))
(config_file (body (attribute . (identifier) @name) @variable))

(variable_expr (identifier) @ref)
(get_attr (identifier) @ref)
(function_call . (identifier) @call)
