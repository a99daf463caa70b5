; Rego.

(module (package) (ref) @name) @package
(rule (rule_head . (var) @name (if)) (rule_body . (open_curly)) @body) @function @clause
(rule (rule_head . (var) @name (open_paren))) @function @clause
(rule (rule_head . (var) @name)) @constant
