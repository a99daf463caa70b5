; Nim.

(proc_declaration name: [(identifier) (accent_quoted)] @name body: (_)? @body) @function
(proc_declaration name: (exported_symbol . (_) @name) body: (_)? @body) @function
(func_declaration name: [(identifier) (accent_quoted)] @name body: (_)? @body) @function
(func_declaration name: (exported_symbol . (_) @name) body: (_)? @body) @function
(method_declaration name: [(identifier) (accent_quoted)] @name body: (_)? @body) @function
(method_declaration name: (exported_symbol . (_) @name) body: (_)? @body) @function
(iterator_declaration name: [(identifier) (accent_quoted)] @name body: (_)? @body) @function
(iterator_declaration name: (exported_symbol . (_) @name) body: (_)? @body) @function
(converter_declaration name: [(identifier) (accent_quoted)] @name body: (_)? @body) @function
(converter_declaration name: (exported_symbol . (_) @name) body: (_)? @body) @function
(template_declaration name: [(identifier) (accent_quoted)] @name body: (_)? @body) @macro
(template_declaration name: (exported_symbol . (_) @name) body: (_)? @body) @macro
(macro_declaration name: [(identifier) (accent_quoted)] @name body: (_)? @body) @macro
(macro_declaration name: (exported_symbol . (_) @name) body: (_)? @body) @macro
(type_declaration (type_symbol_declaration name: (identifier) @name)) @type
(type_declaration (type_symbol_declaration name: (exported_symbol . (_) @name))) @type
(source_file (const_section (variable_declaration (symbol_declaration_list (symbol_declaration name: (identifier) @name))) @constant))
(source_file (const_section (variable_declaration (symbol_declaration_list (symbol_declaration name: (exported_symbol . (_) @name)))) @constant))
(call function: (identifier) @call)
(call function: (dot_expression right: (identifier) @call))
