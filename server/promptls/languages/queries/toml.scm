; TOML: tables, and the keys before the first one.

(table . (_) @name) @section
(table_array_element . (_) @name) @section
(document (pair . (_) @name) @key)
