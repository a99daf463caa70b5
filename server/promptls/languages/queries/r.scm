; R. One grammar parses assignments as binary operators, the other as separate nodes.

(binary_operator lhs: (identifier) @name operator: ["<-" "=" "<<-"] rhs: (function_definition body: (_) @body)) @function
(left_assignment name: (identifier) @name value: (function_definition (brace_list) @body)) @function
(left_assignment name: (identifier) @name value: (function_definition)) @function
(equals_assignment name: (identifier) @name value: (function_definition (brace_list) @body)) @function
(equals_assignment name: (identifier) @name value: (function_definition)) @function
(program (binary_operator lhs: (identifier) @name operator: ["<-" "="]) @variable)
(program (left_assignment name: (identifier) @name) @variable)
(call function: (identifier) @callee arguments: (arguments . argument: (argument value: (string) @name))) @definition
(call function: (identifier) @callee arguments: (arguments . (string) @name)) @definition

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
