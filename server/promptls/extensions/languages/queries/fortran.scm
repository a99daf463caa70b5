; Fortran.

(module (module_statement (name) @name)) @module
(submodule (submodule_statement (name) @name)) @module
(program (program_statement (name) @name)) @module
(subroutine (subroutine_statement name: (name) @name) . (_) @body) @function
(subroutine (subroutine_statement name: (name) @name)) @function
(function (function_statement name: (name) @name) . (_) @body) @function
(function (function_statement name: (name) @name)) @function
(derived_type_definition (derived_type_statement (type_name) @name) . (_) @body) @struct
(derived_type_definition (derived_type_statement (type_name) @name)) @struct
(interface (interface_statement (name) @name)) @interface
(module (variable_declaration attribute: (type_qualifier) declarator: (init_declarator left: (identifier) @name)) @constant)
(subroutine_call subroutine: (identifier) @call)
(call_expression . (identifier) @call)
(use_statement (module_name) @ref)
