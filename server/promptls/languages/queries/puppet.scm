; Puppet.

(class_definition (class_identifier) @name (block)? @body) @class
(defined_resource_type (class_identifier) @name (block)? @body) @function
(function_declaration (class_identifier) @name (block)? @body) @function
(function_declaration (identifier) @name (block)? @body) @function
(node_definition (node_name) @name (block)? @body) @block
(include_statement (class_identifier) @ref)
