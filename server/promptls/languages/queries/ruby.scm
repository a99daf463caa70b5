; Ruby.

(module name: (_) @name body: (_)? @body) @module
(class name: (_) @name body: (_)? @body) @class
(method name: (_) @name body: (_)? @body) @method
(singleton_method name: (_) @name body: (_)? @body) @method
(alias name: (_) @name) @method

; Classes and constants. "Point = Struct.new(:x) do … end" is a class with fields.
(assignment left: [(constant) (scope_resolution)] @name
  right: (call receiver: (constant) @callee method: (identifier) block: (_ body: (_)? @body)?)) @definition
(call receiver: (constant) @callee method: (identifier) arguments: (argument_list (simple_symbol) @name @member)) @head
(program (assignment left: (constant) @name) @constant)
(body_statement (assignment left: (constant) @name) @constant)

; Calls that define something. The module of the language lists them.
(call receiver: [(constant) (scope_resolution)] @owner method: (identifier) @callee block: (_ body: (_)? @body)) @definition
(call method: (identifier) @callee arguments: (argument_list . [(string) (constant) (scope_resolution)] @name)
  block: (_ body: (_)? @body)) @definition
(call method: (identifier) @callee arguments: (argument_list . (simple_symbol) @name)
  block: (_ body: (_)? @body)?) @definition
(call method: (identifier) @callee arguments: (argument_list
  . (pair key: (_) @name)) block: (_ body: (_)? @body)) @definition
(call method: (identifier) @callee arguments: (argument_list . (pair key: (_) @name))) @definition
(call !arguments method: (identifier) @callee @name block: (_ body: (_)? @body)) @definition
(call !receiver method: (identifier) @callee arguments: (argument_list (simple_symbol) @name @member)) @head
(call method: (identifier) arguments: (argument_list . [(method) (singleton_method)] @inner .)) @wrap

(call method: (identifier) @callee arguments: (argument_list . (string))) @import

(call method: (identifier) @call)
(call receiver: (constant) @ref)
(superclass (constant) @base)
(superclass (scope_resolution name: (_) @base))
(call method: (identifier) arguments: (argument_list . (constant) @implements))
(call method: (identifier) arguments: (argument_list . (scope_resolution name: (constant) @implements)))
(scope_resolution name: (constant) @ref)

(if) @branch
(elsif) @branch
(unless) @branch
(while) @branch
(until) @branch
(for) @branch
(when) @branch
(in_clause) @branch
(rescue) @branch
(conditional) @branch
(if_modifier) @branch
(unless_modifier) @branch
(while_modifier) @branch
(until_modifier) @branch
(rescue_modifier) @branch
["&&"] @branch
["||"] @branch

(yield) @yields

(assignment right: (call method: (identifier))) @typed
