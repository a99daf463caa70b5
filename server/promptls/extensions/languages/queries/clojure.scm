; Clojure.

(source (list_lit . (sym_lit) @callee . (sym_lit name: (sym_name) @name) . (str_lit) @doc @body) @definition)
(source (list_lit . (sym_lit) @callee . (sym_lit name: (sym_name) @name) . (vec_lit) . (_) @body) @definition)
(source (list_lit . (sym_lit) @callee . (sym_lit name: (sym_name) @name) . (list_lit) @body) @definition)
(source (list_lit . (sym_lit) @callee . (sym_lit name: (sym_name) @name)) @definition)
(list_lit . (sym_lit name: (sym_name) @call))
