; Makefiles.

(rule (targets . (word) @name) (recipe)? @body) @target
(variable_assignment name: (word) @name) @variable
(define_directive name: (word) @name) @macro

(include_directive) @import

(prerequisites (word) @ref)
