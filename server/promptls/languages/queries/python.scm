; Python. The class-level and module-level assignments have two shapes: newer grammars have no expression_statement.

(function_definition name: (identifier) @name body: (_) @body) @function
(class_definition name: (identifier) @name body: (_) @body) @class
(decorated_definition definition: (_) @inner) @wrap

(module (assignment left: (identifier) @name) @variable)
(module (expression_statement (assignment left: (identifier) @name) @variable))
(class_definition body: (block (assignment left: (identifier) @name) @field))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @field)))
(type_alias_statement left: (type (identifier) @name)) @type
(type_alias_statement left: (type (generic_type (identifier) @name))) @type

(import_statement) @import
(import_from_statement) @import
(future_import_statement) @import

(call function: (identifier) @call)
(call function: (attribute attribute: (identifier) @call))
(decorator (identifier) @ref)
(decorator (attribute attribute: (identifier) @ref))
(class_definition superclasses: (argument_list (identifier) @base))
(class_definition superclasses: (argument_list (attribute attribute: (identifier) @base)))
(class_definition superclasses: (argument_list (subscript value: (identifier) @base)))
(class_definition superclasses: (argument_list (keyword_argument value: (identifier) @ref)))
(type (identifier) @ref)
(type (attribute attribute: (identifier) @ref))
(type (subscript value: (identifier) @ref))
(type (generic_type (identifier) @ref))
(type (binary_operator (identifier) @ref))

(if_statement) @fork
(elif_clause) @fork
(for_statement) @fork
(while_statement) @fork
(except_clause) @fork
(except_group_clause) @fork
(case_clause) @fork
(conditional_expression) @fork
(boolean_operator) @fork
(for_in_clause) @fork
(if_clause) @fork

(yield) @yields

(assignment right: (call)) @typed
(assignment right: (await (call))) @typed
(assignment type: (_)) @typed
(typed_parameter) @typed
(typed_default_parameter) @typed
(with_item value: (as_pattern (call)) @typed)
