; R. One grammar parses assignments as binary operators, the other as separate nodes.

(binary_operator lhs: (identifier) @name operator: ["<-" "=" "<<-"] rhs: (function_definition body: (_) @body)) @function
(left_assignment name: (identifier) @name value: (function_definition (brace_list) @body)) @function
(left_assignment name: (identifier) @name value: (function_definition)) @function
(equals_assignment name: (identifier) @name value: (function_definition (brace_list) @body)) @function
(equals_assignment name: (identifier) @name value: (function_definition)) @function

; Classes, generic functions and tests. `Cart <- R6Class("Cart", …)` is one definition.
(binary_operator lhs: (identifier) operator: ["<-" "="] rhs: (call
  function: [(identifier) @callee (namespace_operator rhs: (identifier) @callee)]
  arguments: (arguments . argument: (argument value: (string) @name)))) @definition
(left_assignment name: (identifier) value: (call
  function: [(identifier) @callee (namespace_get function: (identifier) @callee)]
  arguments: (arguments . (string) @name))) @definition
(program (call function: (identifier) @callee
  arguments: (arguments . argument: (argument value: (string) @name))) @definition)
(braced_expression (call function: (identifier) @callee
  arguments: (arguments . argument: (argument value: (string) @name))) @definition)
(program (call function: (identifier) @callee arguments: (arguments . (string) @name)) @definition)
(brace_list (call function: (identifier) @callee arguments: (arguments . (string) @name)) @definition)

; Methods: R6Class("A", public = list(f = function() …)) and setRefClass("B", methods = list(…)).
(call function: [(identifier) @callee (namespace_operator rhs: (identifier) @callee)]
  arguments: (arguments argument: (argument value: (call arguments: (arguments
    argument: (argument name: (identifier) @name value: (function_definition body: (_) @body)) @member)))))
(call function: [(identifier) @callee (namespace_get function: (identifier) @callee)]
  arguments: (arguments (default_argument value: (call arguments: (arguments
    (default_argument name: (identifier) @name value: (function_definition (brace_list) @body)) @member)))))
(call function: [(identifier) @callee (namespace_get function: (identifier) @callee)]
  arguments: (arguments (default_argument value: (call arguments: (arguments
    (default_argument name: (identifier) @name value: (function_definition)) @member)))))

(program (binary_operator lhs: (identifier) @name operator: ["<-" "="]) @variable)
(program (left_assignment name: (identifier) @name) @variable)

(call function: (identifier) arguments: (arguments . argument: (argument value: [(identifier) (string)]))) @import
(call function: (identifier) arguments: (arguments . [(identifier) (string)])) @import

(call function: (identifier) @call)
(call function: (namespace_operator rhs: (identifier) @call))
(call function: (namespace_get function: (identifier) @call))

(if_statement) @branch
(for_statement) @branch
(while_statement) @branch
(repeat_statement) @branch
["&&"] @branch
["||"] @branch
