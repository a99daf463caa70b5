; What JavaScript and JSX have and TypeScript writes another way; the patterns of ecmascript.scm follow these.

(field_definition property: (_) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @method
(field_definition property: (_) @name value: [(arrow_function body: (_) @body) (function body: (_) @body)]) @method
(class_body member: (field_definition property: (_) @name) @field)

(class_heritage (identifier) @ref)
(class_heritage (member_expression property: (_) @ref))
(class_heritage (call_expression arguments: (arguments (identifier) @ref)))
