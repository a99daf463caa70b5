; MATLAB.

(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name (block)? @body) @function
(function_definition name: (property_name) @name (block)? @body) @function
(properties (property name: (identifier) @name) @field)
(function_call name: (identifier) @call)
(superclasses (property_name) @base)
