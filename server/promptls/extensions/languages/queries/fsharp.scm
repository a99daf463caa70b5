; F#.

(namespace name: (_) @name) @namespace
(named_module name: (_) @name) @module
(module_defn (identifier) @name block: (_)? @body) @module
(record_type_defn (type_name type_name: (_) @name) block: (_)? @body) @struct
(union_type_defn (type_name type_name: (_) @name)) @union
(enum_type_defn (type_name type_name: (_) @name)) @enum
(interface_type_defn (type_name type_name: (_) @name)) @interface
(anon_type_defn (type_name type_name: (_) @name) block: (_)? @body) @class
(type_abbrev_defn (type_name type_name: (_) @name)) @type
(delegate_type_defn (type_name type_name: (_) @name)) @type
(type_definition (_) @inner) @wrap
(exception_definition exception_name: (_) @name) @type
(declaration_expression (function_or_value_defn (function_declaration_left (identifier) @name . (argument_patterns)) body: (_) @body)) @function
(declaration_expression (function_or_value_defn (value_declaration_left (identifier_pattern (long_identifier_or_op) @name)))) @variable
(function_or_value_defn (function_declaration_left (identifier) @name . (argument_patterns)) body: (_) @body) @function
(function_or_value_defn "and" . (function_declaration_left (identifier) @name . (argument_patterns)) @function . (_) @tail)
(member_defn (method_or_prop_defn name: (property_or_ident (identifier) @name .) args: (_) . (_) @body)) @method
(member_defn (method_or_prop_defn name: (property_or_ident (identifier) @name .) . (_) @body)) @method
(application_expression . (long_identifier_or_op (_) @call))
(infix_expression (infix_op) . (long_identifier_or_op (_) @call))
