; Elm.

(module_declaration name: (_) @name) @package
(type_alias_declaration name: (_) @name) @type
(type_declaration name: (_) @name) @type
(port_annotation name: (_) @name) @function
(file (value_declaration functionDeclarationLeft: (function_declaration_left (lower_case_identifier) @name (_)) body: (_) @body) @function)
(file (value_declaration functionDeclarationLeft: (function_declaration_left . (lower_case_identifier) @name .)) @constant)
(function_call_expr target: (value_expr name: (value_qid (lower_case_identifier) @call .)))
(type_ref (upper_case_qid (upper_case_identifier) @ref .))
