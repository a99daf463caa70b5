; Shading languages: global variables. The rest comes from the queries of C.

(translation_unit (declaration declarator: (identifier) @name) @struct . (compound_statement) @tail)
(translation_unit (declaration declarator: (identifier) @name) @variable)
(cbuffer_specifier name: (_) @name body: (_)? @body) @struct
