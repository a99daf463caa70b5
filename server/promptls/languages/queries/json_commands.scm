; JSON: the commands of a package manifest.

(document (object (pair key: (string) @callee value: (object (pair key: (string) @name) @member))))
