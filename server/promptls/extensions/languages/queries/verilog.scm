; Verilog and SystemVerilog.

(module_declaration (module_header (simple_identifier) @name)) @module
(interface_declaration (interface_ansi_header (interface_identifier (simple_identifier) @name))) @interface
(interface_declaration (interface_nonansi_header (interface_identifier (simple_identifier) @name))) @interface
(package_declaration (package_identifier (simple_identifier) @name)) @namespace
(program_declaration (program_ansi_header (program_identifier (simple_identifier) @name))) @module
(class_declaration (class_identifier (simple_identifier) @name) (class_item)? @body) @class
(class_constructor_declaration "new" @name (function_statement_or_null)? @body) @constructor
(function_declaration (function_body_declaration (function_identifier (function_identifier (simple_identifier) @name)) (function_statement_or_null)? @body)) @function
(task_declaration (task_body_declaration (task_identifier (task_identifier (simple_identifier) @name)) (statement_or_null)? @body)) @function
(type_declaration (data_type) (simple_identifier) @name) @type
(parameter_declaration (list_of_param_assignments (param_assignment (parameter_identifier (simple_identifier) @name)))) @constant
(local_parameter_declaration (list_of_param_assignments (param_assignment (parameter_identifier (simple_identifier) @name)))) @constant
(text_macro_definition (text_macro_name (text_macro_identifier (simple_identifier) @name))) @constant
(module_instantiation . (simple_identifier) @call)
(tf_call (simple_identifier) @call)
