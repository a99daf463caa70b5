; GDScript.

(class_name_statement name: (_) @name) @type
(class_definition name: (_) @name body: (_) @body) @class
(function_definition name: (_) @name body: (_) @body) @function
(signal_statement name: (_) @name) @property
(enum_definition name: (_) @name body: (_) @body) @enum
(const_statement name: (_) @name) @constant
(source (variable_statement name: (_) @name) @variable)
(class_body (variable_statement name: (_) @name) @field)
(call . (identifier) @call)
(attribute_call . (identifier) @call)
