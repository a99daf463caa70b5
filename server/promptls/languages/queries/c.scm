; C. Declarators nest; signature.py finds the innermost one. Prototypes are not captured as definitions.

(function_definition declarator: (_) @declarator body: (_) @body) @function
(struct_specifier name: (_) @name body: (_) @body) @struct
(union_specifier name: (_) @name body: (_) @body) @union
(enum_specifier name: (_) @name body: (_) @body) @enum
(type_definition type: (struct_specifier body: (_) @body) declarator: (type_identifier) @name) @struct
(type_definition type: (union_specifier body: (_) @body) declarator: (type_identifier) @name) @union
(type_definition type: (enum_specifier body: (_) @body) declarator: (type_identifier) @name) @enum
(type_definition declarator: (_) @declarator) @type
(preproc_def name: (_) @name value: (_)) @constant
(preproc_function_def name: (_) @name value: (_)? @body) @macro
(translation_unit (declaration declarator: (init_declarator declarator: (_) @declarator)) @variable)
(declaration_list (declaration declarator: (init_declarator declarator: (_) @declarator)) @variable)
(translation_unit (declaration (init_declarator declarator: (_) @declarator) @variable) @head)
(translation_unit (declaration declarator: [
  (identifier)
  (array_declarator declarator: (identifier))
  (pointer_declarator declarator: [(identifier) (pointer_declarator declarator: (identifier))])
] @declarator @variable) @head)

(preproc_include) @import

(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (field_identifier) @call))
(type_identifier) @ref

(if_statement) @branch
(for_statement) @branch
(while_statement) @branch
(do_statement) @branch
(case_statement) @branch
(conditional_expression) @branch
["&&"] @branch
["||"] @branch
