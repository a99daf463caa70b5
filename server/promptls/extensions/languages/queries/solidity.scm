; Solidity.

(contract_declaration name: (identifier) @name body: (_) @body) @class
(interface_declaration name: (identifier) @name body: (_) @body) @interface
(library_declaration name: (identifier) @name body: (_) @body) @module
(function_definition name: (identifier) @name body: (_)? @body) @function
(modifier_definition name: (identifier) @name body: (_)? @body) @function
(constructor_definition "constructor" @name body: (_)? @body) @constructor
(struct_declaration name: (identifier) @name body: (_) @body) @struct
(enum_declaration name: (identifier) @name body: (_) @body) @enum
(event_definition name: (identifier) @name) @type
(error_declaration name: (identifier) @name) @type
(user_defined_type_definition name: (identifier) @name) @type
(state_variable_declaration name: (identifier) @name) @field
(constant_variable_declaration name: (identifier) @name) @constant
(inheritance_specifier ancestor: (user_defined_type (identifier) @base))
(call_expression function: (expression (identifier) @call))
(call_expression function: (expression (member_expression property: (identifier) @call)))
(call_expression function: (expression (struct_expression type: (expression (identifier) @call))))
(call_expression function: (expression (struct_expression type: (expression (member_expression property: (identifier) @call)))))
(new_expression name: (type_name (user_defined_type (identifier) @call)))
(emit_statement name: (expression (identifier) @call))
(revert_statement error: (expression (identifier) @call))
(revert_statement error: (expression (member_expression property: (identifier) @call)))
(modifier_invocation (identifier) @call)
