; C++ syntax that C lacks. The patterns of c.scm follow.

(class_specifier name: (_) @name body: (_) @body) @class
(namespace_definition name: (_) @name body: (_) @body) @namespace
(alias_declaration name: (_) @name) @type
(concept_definition name: (_) @name) @type
(function_definition declarator: (_) @declarator body: (try_statement) @body) @function
(function_definition declarator: (_) @declarator (default_method_clause)) @function
(field_declaration declarator: (function_declarator declarator: (_) @declarator) default_value: (_)) @method

(template_declaration [
  (function_definition) (class_specifier) (struct_specifier) (alias_declaration) (concept_definition)
] @inner) @wrap

(using_declaration) @import

(call_expression function: (qualified_identifier name: (identifier) @call))
(call_expression function: (qualified_identifier name: (qualified_identifier name: (identifier) @call)))
(call_expression function: (template_function name: (identifier) @call))
(call_expression function: (qualified_identifier name: (template_function name: (identifier) @call)))
(call_expression function: (field_expression field: (template_method name: (_) @call)))

(base_class_clause (type_identifier) @base)
(base_class_clause (qualified_identifier name: (type_identifier) @base))
(base_class_clause (template_type name: (type_identifier) @base))
(new_expression type: (type_identifier) @call)

(for_range_loop) @branch
(catch_clause) @branch

(co_yield_statement) @yields

(declaration type: [(type_identifier) (qualified_identifier) (placeholder_type_specifier)]) @typed
(parameter_declaration type: [(type_identifier) (qualified_identifier)]) @typed
(field_declaration type: [(type_identifier) (qualified_identifier)]) @typed
