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

(call method: (identifier) @ref)
(call receiver: (constant) @ref)
(superclass (constant) @ref)
(superclass (scope_resolution name: (_) @ref))
(call method: (identifier) arguments: (argument_list . (constant) @ref))
(scope_resolution name: (constant) @ref)
