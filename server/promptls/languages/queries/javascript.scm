; Syntax of JavaScript and JSX that TypeScript expresses differently. The patterns of ecmascript.scm follow.

(field_definition property: (_) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @method
(field_definition property: (_) @name value: [(arrow_function body: (_) @body) (function body: (_) @body)]) @method
(class_body member: (field_definition property: (_) @name) @field)

(class_heritage (identifier) @base)
(class_heritage (member_expression property: (_) @base))
(class_heritage (call_expression arguments: (arguments (identifier) @base)))

(field_definition value: (new_expression)) @typed
