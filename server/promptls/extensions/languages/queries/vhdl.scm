; VHDL.

(entity_declaration name: (_) @name (entity_header)? @body) @module
(architecture_body name: (_) @name (declarative_part)? @body) @module
(package_declaration name: (_) @name (declarative_part)? @body) @namespace
(package_body package: (_) @name (declarative_part)? @body) @namespace
(component_declaration name: (_) @name) @interface
(function_declaration designator: (_) @name) @function
(procedure_declaration designator: (_) @name) @function
(function_body designator: (_) @name "is" @body) @function
(procedure_body designator: (_) @name "is" @body) @function
(process_statement (label (identifier) @name) "begin" @body) @function
(full_type_declaration name: (_) @name) @type
(subtype_declaration name: (_) @name) @type
(constant_declaration (identifier_list . (identifier) @name)) @constant
(architecture_body (declarative_part (signal_declaration (identifier_list . (identifier) @name)) @variable))
(component_instantiation component: (simple_name) @call)
(component_instantiation component: (selected_name suffix: (simple_name) @call))
(entity_instantiation entity: (simple_name) @call)
(entity_instantiation entity: (selected_name suffix: (simple_name) @call))
(procedure_call_statement procedure: (simple_name) @call)
(procedure_call_statement procedure: (selected_name suffix: (simple_name) @call))
(ambiguous_name prefix: (simple_name) @call)
(ambiguous_name prefix: (selected_name suffix: (simple_name) @call))
(function_call function: (simple_name) @call)
