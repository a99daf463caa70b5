; Common Lisp.

(list_lit (defun (defun_header keyword: (defun_keyword "defmacro") function_name: (_) @name) . (_) @body)) @macro
(list_lit (defun (defun_header function_name: (_) @name) . (str_lit) @doc @body)) @function
(list_lit (defun (defun_header function_name: (_) @name) . (_)? @body)) @function
(list_lit . (sym_lit) @callee . (sym_lit) @name) @definition
(list_lit . (sym_lit) @callee . (kwd_lit (kwd_symbol) @name)) @definition
(list_lit . (sym_lit) @callee . (list_lit . (sym_lit) @name)) @definition
(list_lit . (sym_lit) @call)
