; TOML: the commands of a package manifest.

(table . (_) @callee (pair . (_) @name) @member)
