; Thrift.

(struct_definition type: (identifier) @name) @struct
(union_definition type: (identifier) @name) @union
(exception_definition (identifier) @name) @struct
(service_definition type: (identifier) @name) @interface
(enum_definition type: (identifier) @name) @enum
(typedef_definition (typedef_identifier) @name) @type
(const_definition (type) . (identifier) @name) @constant
(service_definition (function_definition (type) (identifier) @name) @method)
