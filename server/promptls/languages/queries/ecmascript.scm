; Syntax that JavaScript and TypeScript share.

(function_declaration name: (identifier) @name body: (_) @body) @function
(generator_function_declaration name: (identifier) @name body: (_) @body) @function
(class_declaration name: (_) @name body: (_) @body) @class
(method_definition name: (_) @name body: (_) @body) @method

; Named function values. The older grammar calls a function expression "function".
(variable_declarator name: (identifier) @name value: [
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)
  (generator_function body: (_) @body)
]) @function
(variable_declarator name: (identifier) @name value: [
  (arrow_function body: (_) @body)
  (function body: (_) @body)
  (generator_function body: (_) @body)
]) @function
(variable_declarator name: (identifier) @name value: (class body: (_) @body)) @class

(assignment_expression left: [(member_expression) (identifier)] @name right: [
  (arrow_function body: (_) @body)
  (function_expression !name body: (_) @body)
  (generator_function !name body: (_) @body)
]) @function
(assignment_expression left: [(member_expression) (identifier)] @name right: [
  (arrow_function body: (_) @body)
  (function !name body: (_) @body)
  (generator_function !name body: (_) @body)
]) @function
(assignment_expression left: (_) @owner right: (function_expression name: (_) @name body: (_) @body)) @function
(assignment_expression left: (_) @owner right: (function name: (_) @name body: (_) @body)) @function
(assignment_expression left: (member_expression) @name right: (class !name body: (_) @body)) @class
(assignment_expression left: (_) @owner right: (class name: (_) @name body: (_) @body)) @class

(pair key: (property_identifier) @name value: [
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)
  (generator_function body: (_) @body)
]) @method
(pair key: (property_identifier) @name value: [
  (arrow_function body: (_) @body)
  (function body: (_) @body)
  (generator_function body: (_) @body)
]) @method

(function_expression name: (identifier) @name body: (_) @body) @function
(function name: (identifier) @name body: (_) @body) @function

(export_statement "default" @name value: (arrow_function body: (_) @body)) @function
(export_statement "default" @name value: (function_expression !name body: (_) @body)) @function
(export_statement "default" @name value: (function !name body: (_) @body)) @function
(export_statement "default" @name value: (class !name body: (_) @body)) @class

(call_expression function: [(identifier) @callee (member_expression object: (identifier) @callee)] arguments: (arguments
  . [(string) (template_string)] @name [(arrow_function body: (_) @body) (function_expression body: (_) @body)])) @definition
(call_expression function: [(identifier) @callee (member_expression object: (identifier) @callee)] arguments: (arguments
  . [(string) (template_string)] @name [(arrow_function body: (_) @body) (function body: (_) @body)])) @definition

(program (lexical_declaration (variable_declarator name: (identifier) @name) @variable))
(program (variable_declaration (variable_declarator name: (identifier) @name) @variable))
(program (export_statement declaration: (lexical_declaration (variable_declarator name: (identifier) @name) @variable)))
(program (lexical_declaration (variable_declarator name: [
  (object_pattern (shorthand_property_identifier_pattern) @name @variable)
  (object_pattern (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name @variable))
  (object_pattern (pair_pattern value: (identifier) @name @variable))
  (object_pattern (rest_pattern (identifier) @name @variable))
  (array_pattern (identifier) @name @variable)
])) @head)
(program (export_statement declaration: (lexical_declaration (variable_declarator name: [
  (object_pattern (shorthand_property_identifier_pattern) @name @variable)
  (object_pattern (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name @variable))
  (object_pattern (pair_pattern value: (identifier) @name @variable))
  (object_pattern (rest_pattern (identifier) @name @variable))
  (array_pattern (identifier) @name @variable)
]))) @head)

; CommonJS: "exports.a = …", "module.exports.a = …" and the entries of "module.exports = {…}".
(program (expression_statement (assignment_expression
  left: (member_expression object: [(identifier) @callee (member_expression property: (_) @callee)] property: (_) @name)) @definition))
(program (expression_statement (assignment_expression left: (member_expression property: (_) @callee)
  right: (object (pair key: (property_identifier) @name value: [
    (call_expression) (new_expression) (number) (string) (template_string) (array) (object) (member_expression) (regex)
    (true) (false) (null) (unary_expression) (binary_expression) (await_expression) (ternary_expression)
  ]) @member))))

; Titles of parameterized tests: "it.each(table)("title", …)", and of "test.describe.only("title", …)".
(call_expression function: [
    (call_expression function: (member_expression object: [(identifier) @callee (member_expression object: (identifier) @callee)]))
    (member_expression object: (member_expression object: (identifier) @callee))
  ] arguments: (arguments
  . [(string) (template_string)] @name [(arrow_function body: (_) @body) (function_expression body: (_) @body)])) @definition

(export_statement declaration: (_) @inner) @wrap
(program (lexical_declaration . (variable_declarator) @inner .) @wrap)
(program (variable_declaration . (variable_declarator) @inner .) @wrap)
(export_statement declaration: (lexical_declaration . (variable_declarator) @inner .) @wrap)
(lexical_declaration . (variable_declarator value: [(arrow_function) (function_expression)]) @inner .) @wrap
(lexical_declaration . (variable_declarator value: [(arrow_function) (function)]) @inner .) @wrap
(variable_declaration . (variable_declarator value: [(arrow_function) (function_expression)]) @inner .) @wrap
(variable_declaration . (variable_declarator value: [(arrow_function) (function)]) @inner .) @wrap

(import_statement) @import
(export_statement source: (_)) @import
(variable_declarator value: (call_expression function: (identifier) @callee arguments: (arguments . (string) .))) @import
(variable_declarator value: (member_expression object:
  (call_expression function: (identifier) @callee arguments: (arguments . (string) .)))) @import
(variable_declarator value: (await_expression (call_expression function: (import) arguments: (arguments . (string) .)))) @import
(call_expression function: (identifier) @callee arguments: (arguments . (string) .)) @import
(call_expression function: (import) arguments: (arguments . (string) .)) @import

(call_expression function: (identifier) @call)
(call_expression function: (member_expression property: (_) @call))
(new_expression constructor: (identifier) @call)
(new_expression constructor: (member_expression property: (_) @call))
(decorator (identifier) @ref)
(jsx_opening_element name: (identifier) @call)
(jsx_opening_element name: (member_expression property: (_) @call))
(jsx_self_closing_element name: (identifier) @call)
(jsx_self_closing_element name: (member_expression property: (_) @call))

(if_statement) @branch
(for_statement) @branch
(for_in_statement) @branch
(while_statement) @branch
(do_statement) @branch
(switch_case) @branch
(catch_clause) @branch
(ternary_expression) @branch
["&&"] @branch
["||"] @branch
["??"] @branch

(yield_expression) @yields

(variable_declarator value: [(new_expression) (call_expression) (await_expression) (member_expression)]) @typed
(variable_declarator name: (object_pattern) value: [(identifier) (this)]) @typed
(assignment_expression left: (member_expression) right: [(new_expression) (call_expression) (member_expression)]) @typed
(call_expression arguments: (arguments (arrow_function))) @typed
(call_expression arguments: (arguments (function_expression))) @typed
(call_expression arguments: (arguments (function))) @typed
(new_expression arguments: (arguments (arrow_function))) @typed
(new_expression arguments: (arguments (function_expression))) @typed
(new_expression arguments: (arguments (function))) @typed
