; Scheme and Racket.

(list . (symbol) @callee . (list . (symbol) @name) . (_)? @body) @definition
(list . (symbol) @callee . (list . (list . (symbol) @name)) . (_)? @body) @definition
(list . (symbol) @callee . (symbol) @name . (list)? @body) @definition
(list . (symbol) @callee . (symbol) @name) @definition
(list . (symbol) @call)
