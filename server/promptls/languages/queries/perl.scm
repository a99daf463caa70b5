; Perl. A package extends from its statement to the next one (symbol_builder.py).

(package_statement name: (_) @name) @package
(package_statement (package_name) @name) @package
(subroutine_declaration_statement name: (_) @name body: (_) @body) @function
(function_definition name: (_) @name body: (_) @body) @function
(source_file (expression_statement (assignment_expression left: (variable_declaration variable: (_) @name))) @variable)

(use_statement) @import
(expression_statement (require_expression)) @import
(use_no_statement) @import
(use_parent_statement) @import
(require_statement) @import

(function_call_expression function: (_) @call)
(ambiguous_function_call_expression function: (_) @call)
(method_call_expression method: (_) @call)
(call_expression function_name: (_) @call)
(method_invocation function_name: (_) @call)

(assignment_expression left: (variable_declaration) right: (method_call_expression)) @typed
(variable_declaration value: (method_invocation)) @typed

(conditional_statement) @branch
(loop_statement) @branch
(for_statement) @branch
(if_statement) @branch
(elsif_clause) @branch
(while_statement) @branch
["&&"] @branch
["||"] @branch
