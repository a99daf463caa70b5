; Python. Assignments in classes and modules have two shapes: newer grammars lack expression_statement.

(function_definition name: (identifier) @name body: (_) @body) @function
(class_definition name: (identifier) @name body: (_) @body) @class
(decorated_definition definition: (_) @inner) @wrap

(module (assignment left: (identifier) @name) @variable)
(module (expression_statement (assignment left: (identifier) @name) @variable))
(module (assignment left: [(pattern_list (identifier) @name @variable) (tuple_pattern (identifier) @name @variable)]) @head)
(module (expression_statement (assignment left: [
  (pattern_list (identifier) @name @variable)
  (tuple_pattern (identifier) @name @variable)
]) @head))
(class_definition body: (block (assignment left: (pattern_list (identifier) @name @field)) @head))
(class_definition body: (block (expression_statement (assignment left: (pattern_list (identifier) @name @field)) @head)))
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

(if_statement) @branch
(elif_clause) @branch
(for_statement) @branch
(while_statement) @branch
(except_clause) @branch
(except_group_clause) @branch
(case_clause) @branch
(conditional_expression) @branch
(boolean_operator) @branch
(for_in_clause) @branch
(if_clause) @branch

(yield) @yields

(assignment right: (call)) @typed
(assignment right: (await (call))) @typed
(assignment type: (_)) @typed
(typed_parameter) @typed
(typed_default_parameter) @typed
(with_item value: (as_pattern (call)) @typed)
