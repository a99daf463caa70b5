; Smithy.

(namespace_statement (namespace) @name) @package
(service_statement (identifier) @name) @interface
(resource_statement (identifier) @name) @class
(operation_statement (identifier) @name (operation_body)? @body) @function
(structure_statement (identifier) @name) @struct
(union_statement (identifier) @name) @union
(enum_statement (identifier) @name) @enum
(list_statement (identifier) @name) @type
(map_statement (identifier) @name) @type
(simple_shape_statement (identifier) @name) @type
