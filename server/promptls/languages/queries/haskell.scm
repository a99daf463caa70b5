; Haskell. A signature and the equations after it form one symbol (@clause).

(data_type name: (_) @name) @type
(newtype name: (_) @name) @type
(type_synomym name: (_) @name) @type
(class name: (_) @name declarations: (_)? @body) @class
(instance patterns: (_) @owner declarations: (_)? @body) @impl
(signature name: (_) @name @clause) @function
(function name: (_) @name @clause match: (_) @body) @function
(function (infix operator: (_) @name @clause) match: (_) @body) @function
(bind name: (_) @name @clause match: (_) @body) @function

(adt name: (_) @name) @type
(type_alias name: (_) @name) @type
(class (class_head class: (_) @name) (class_body)? @body) @class
(instance (instance_head . (_) . (_) @owner)) @impl
(function name: (_) @name @clause rhs: (_) @body) @function
(function name: (_) @name @clause (guard_equation)) @function
(function infix: (infix (varop) @name @clause) rhs: (_) @body) @function

(import) @import

(apply function: (variable) @call)
(qualified id: (variable) @call)
(exp_apply . (exp_name (variable) @call))
(infix right_operand: (variable) @call)
(infix left_operand: (variable) @call)
(class_name (type) @ref)
(type_name (type) @ref)
(constructor) @ref
(name) @ref

(conditional) @branch
(alternative) @branch
(guards) @branch
(match) @branch
