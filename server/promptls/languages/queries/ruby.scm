; Ruby.

(module name: (_) @name body: (_)? @body) @module
(class name: (_) @name body: (_)? @body) @class
(method name: (_) @name body: (_)? @body) @method
(singleton_method name: (_) @name body: (_)? @body) @method
(program (assignment left: (constant) @name) @constant)
(body_statement (assignment left: (constant) @name) @constant)
(call method: (identifier) @verb arguments: (argument_list . [(string) (constant) (scope_resolution)] @name)
  block: (_ body: (_)? @body)) @definition
(call method: (identifier) arguments: (argument_list . [(method) (singleton_method)] @inner .)) @wrap

(call method: (identifier) @verb arguments: (argument_list . (string))) @import

(call method: (identifier) @call)
(call receiver: (constant) @ref)
(superclass (constant) @base)
(superclass (scope_resolution name: (_) @base))
(call method: (identifier) arguments: (argument_list . (constant) @iface))
(call method: (identifier) arguments: (argument_list . (scope_resolution name: (constant) @iface)))
(scope_resolution name: (constant) @ref)

(if) @fork
(elsif) @fork
(unless) @fork
(while) @fork
(until) @fork
(for) @fork
(when) @fork
(in_clause) @fork
(rescue) @fork
(conditional) @fork
(if_modifier) @fork
(unless_modifier) @fork
(while_modifier) @fork
(until_modifier) @fork
(rescue_modifier) @fork
["&&"] @fork
["||"] @fork

(yield) @yields

(assignment right: (call method: (identifier))) @typed
