; TypeScript syntax that JavaScript lacks. The patterns of ecmascript.scm follow.

(abstract_class_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @interface
(type_alias_declaration name: (_) @name) @type
(enum_declaration name: (_) @name body: (_) @body) @enum
(internal_module name: (_) @name body: (_) @body) @namespace
(module name: (_) @name body: (_) @body) @namespace
(function_signature name: (_) @name) @function
(method_signature name: (_) @name) @method
(abstract_method_signature name: (_) @name) @method
(public_field_definition name: (_) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @method
(public_field_definition name: (_) @name value: [(arrow_function body: (_) @body) (function body: (_) @body)]) @method
(class_body (public_field_definition name: (_) @name) @field)

; After a syntax error anywhere in the file, "<A>(x: A) => x" may be parsed as a type assertion of a function.
(variable_declarator name: (identifier) @name value: (type_assertion (arrow_function body: (_) @body))) @function
(lexical_declaration . (variable_declarator value: (type_assertion (arrow_function))) @inner .) @wrap

(ambient_declaration [
  (function_signature) (class_declaration) (abstract_class_declaration) (interface_declaration)
  (module) (internal_module) (enum_declaration) (type_alias_declaration) (lexical_declaration) (variable_declaration)
] @inner) @wrap
(expression_statement (internal_module) @inner) @wrap
(class_body (decorator) @attribute)

(type_identifier) @ref
(extends_clause value: (identifier) @base)
(extends_clause value: (member_expression property: (_) @base))

(extends_type_clause type: (type_identifier) @base)
(extends_type_clause type: (nested_type_identifier name: (_) @base))
(extends_type_clause type: (generic_type name: (type_identifier) @base))
(implements_clause (type_identifier) @implements)
(implements_clause (nested_type_identifier name: (_) @implements))
(implements_clause (generic_type name: (type_identifier) @implements))

(required_parameter type: (_)) @typed
(optional_parameter type: (_)) @typed
(variable_declarator type: (_)) @typed
(public_field_definition type: (_)) @typed
(public_field_definition value: (new_expression)) @typed
