; Scala.

(class_definition name: (_) @name body: (_)? @body) @class
(object_definition name: (_) @name body: (_)? @body) @object
(package_object name: (_) @name body: (_)? @body) @object
(trait_definition name: (_) @name body: (_)? @body) @trait
(enum_definition name: (_) @name body: (_)? @body) @enum
(function_definition name: (_) @name body: (_) @body) @function
(function_declaration name: (_) @name) @function
(given_definition name: (_) @name) @variable
(type_definition name: (_) @name) @type
(template_body (val_definition pattern: (identifier) @name) @field)
(template_body (var_definition pattern: (identifier) @name) @field)
(template_body (val_definition pattern: [(identifiers (identifier) @name @field) (tuple_pattern (identifier) @name @field)]) @head)
(template_body (var_definition pattern: [(identifiers (identifier) @name @field) (tuple_pattern (identifier) @name @field)]) @head)
(compilation_unit (val_definition pattern: [(identifiers (identifier) @name @variable) (tuple_pattern (identifier) @name @variable)]) @head)
(compilation_unit (val_definition pattern: (identifier) @name) @variable)

(import_declaration) @import

(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (_) @call))
(call_expression function: (generic_function function: (identifier) @call))
(type_identifier) @ref

(extends_clause type: (type_identifier) @base)
(extends_clause type: (generic_type type: (type_identifier) @base))
(instance_expression (type_identifier) @call)

(if_expression) @branch
(for_expression) @branch
(while_expression) @branch
(case_clause) @branch
(catch_clause) @branch

(val_definition) @typed
(var_definition) @typed
(parameter) @typed
(class_parameter) @typed
(function_definition !parameters return_type: (_)) @typed
(function_declaration !parameters return_type: (_)) @typed
