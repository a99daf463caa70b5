; Ada.

(package_declaration name: (_) @name "is" @body) @module
(package_body name: (_) @name "is" @body) @module
(generic_package_declaration (package_declaration name: (_) @name)) @module
(subprogram_body (function_specification name: (_) @name) "is" @body) @function
(subprogram_body (procedure_specification name: (_) @name) "is" @body) @function
(subprogram_declaration (function_specification name: (_) @name)) @function
(subprogram_declaration (procedure_specification name: (_) @name)) @function
(expression_function_declaration (function_specification name: (_) @name)) @function
(full_type_declaration . (identifier) @name) @type
(private_type_declaration . (identifier) @name) @type
(subtype_declaration . (identifier) @name) @type
(task_body . (identifier) @name) @function
(package_declaration (object_declaration name: (identifier) @name "constant") @constant)
(package_body (non_empty_declarative_part (object_declaration name: (identifier) @name "constant") @constant))
(function_call name: (_) @call)
(procedure_call_statement name: (_) @call)
