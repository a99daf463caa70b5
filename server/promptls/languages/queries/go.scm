; Go.

(function_declaration name: (_) @name body: (_)? @body) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @owner)) name: (_) @name body: (_)? @body) @method

(type_spec name: (_) @name type: (struct_type (field_declaration_list) @body)) @struct
(type_spec name: (_) @name type: (interface_type "{" @body)) @interface
(type_spec name: (_) @name) @type
(type_alias name: (_) @name) @type
(interface_type (method_elem name: (_) @name) @method)
(interface_type (method_spec name: (_) @name) @method)

(source_file (const_declaration (const_spec name: (_) @name) @constant))
(source_file (var_declaration (var_spec name: (_) @name) @variable))
(source_file (var_declaration (var_spec_list (var_spec name: (_) @name) @variable)))
(source_file (const_declaration (const_spec (identifier) . (identifier) @name @constant) @head))
(source_file (var_declaration (var_spec (identifier) . (identifier) @name @variable) @head))
(source_file (var_declaration (var_spec_list (var_spec (identifier) . (identifier) @name @variable) @head)))

(type_declaration . [(type_spec) (type_alias)] @inner .) @wrap
(const_declaration . (const_spec) @inner .) @wrap
(var_declaration . (var_spec) @inner .) @wrap

(call_expression function: (selector_expression field: (_) @callee) arguments: (argument_list
  . (interpreted_string_literal) @name (func_literal body: (_) @body))) @definition

(import_spec) @import

(call_expression function: (identifier) @call)
(call_expression function: (selector_expression field: (_) @call))
(type_identifier) @ref

(composite_literal type: (type_identifier) @call)
(composite_literal type: (qualified_type name: (_) @call))
(field_declaration !name type: (type_identifier) @base)
(field_declaration !name type: (pointer_type (type_identifier) @base))
(field_declaration !name type: (qualified_type name: (_) @base))
(interface_type (type_elem (type_identifier) @base))
(interface_type (constraint_elem (type_identifier) @base))

(if_statement) @branch
(for_statement) @branch
(expression_case) @branch
(type_case) @branch
(communication_case) @branch
["&&"] @branch
["||"] @branch

(go_statement) @spawns
(defer_statement) @defers

(short_var_declaration) @typed
(parameter_declaration name: (_)) @typed
(var_spec type: (_)) @typed
(field_declaration name: (_) type: [(type_identifier) (pointer_type) (qualified_type)]) @typed
