; Bicep.

(resource_declaration (identifier) @name (object)? @body) @block
(module_declaration (identifier) @name (object)? @body) @block
(parameter_declaration (identifier) @name) @variable
(variable_declaration (identifier) @name) @variable
(output_declaration (identifier) @name) @variable
(type_declaration (identifier) @name) @type
(user_defined_function name: (identifier) @name) @function
(call_expression function: (identifier) @call)
