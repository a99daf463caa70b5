; OCaml: implementations and interfaces.

(value_definition (let_binding pattern: (value_name) @name (parameter) body: (_) @body) @function)
(value_definition (let_binding pattern: (value_name) @name body: [(fun_expression) (function_expression)] @body) @function)
(compilation_unit (value_definition (let_binding pattern: (value_name) @name body: (_) @body) @variable))
(structure (value_definition (let_binding pattern: (value_name) @name body: (_) @body) @variable))
(value_definition . (let_binding) @inner .) @wrap
(value_specification (value_name) @name) @function
(external (value_name) @name) @function
(type_definition (type_binding name: (_) @name) @type)
(type_definition . (type_binding) @inner .) @wrap
(exception_definition (constructor_declaration (constructor_name) @name)) @type
(module_definition (module_binding (module_name) @name body: (structure) @body) @module)
(module_definition (module_binding (module_name) @name) @module)
(module_definition . (module_binding) @inner .) @wrap
(module_type_definition (module_type_name) @name body: (_)? @body) @interface
(class_definition (class_binding (class_name) @name body: (_)? @body) @class)
(class_definition . (class_binding) @inner .) @wrap
(method_definition (method_name) @name body: (_)? @body) @method

(open_module) @import
(include_module) @import
(local_open_expression . (module_path) @import)

(application_expression function: (value_path (value_name) @call))
(infix_expression right: (value_path (value_name) @call))
(application_expression argument: (value_path (module_path) (value_name) @call))
(labeled_argument expression: (value_path (module_path) (value_name) @call))
(type_constructor) @ref
(inheritance_definition (class_path (class_name) @base))

(if_expression) @branch
(match_case) @branch
(for_expression) @branch
(while_expression) @branch
["&&"] @branch
["||"] @branch
