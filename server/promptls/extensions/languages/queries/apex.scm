; Apex.

(class_declaration name: (identifier) @name body: (_) @body) @class
(interface_declaration name: (identifier) @name body: (_) @body) @interface
(enum_declaration name: (identifier) @name body: (_) @body) @enum
(trigger_declaration name: (identifier) @name body: (_) @body) @function
(method_declaration name: (identifier) @name body: (_)? @body) @method
(constructor_declaration name: (identifier) @name body: (_) @body) @constructor
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @field
(method_invocation name: (identifier) @call)
(superclass (type_identifier) @base)
