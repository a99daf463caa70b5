; TOML: the commands and entry points of a package manifest.

(table . (_) @callee (pair . (_) @name) @member)
(table . (dotted_key . (_) @callee) (pair . (_) @name) @member)
(table (pair . (_) @callee (inline_table (pair . (_) @name) @member)))
