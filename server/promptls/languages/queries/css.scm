; CSS and SCSS.

(rule_set (selectors) @name (block) @body) @rule
(keyframes_statement (keyframes_name) @name (keyframe_block_list) @body) @rule
(mixin_statement name: (_) @name (block) @body) @function
(function_statement name: (_) @name (block) @body) @function
(stylesheet (declaration (property_name) @name) @variable)
(stylesheet (declaration (variable) @name) @variable)

(import_statement) @import
(use_statement) @import
(forward_statement) @import

(include_statement (identifier) @call)
(call_expression (function_name) @call)
