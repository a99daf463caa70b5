; SQL. The second half is for the older grammar.

(create_table . (keyword_create) (object_reference) @name) @table
(create_view (object_reference) @name) @view
(create_materialized_view (object_reference) @name) @view
(create_function (object_reference) @name (function_body) @body) @function
(create_procedure (object_reference) @name) @function
(create_trigger (object_reference) @name) @function
(create_type (object_reference) @name) @type
(create_index column: (identifier) @name) @constant

(create_table_statement . [(identifier) (dotted_name)] @name) @table
(create_view_statement . [(identifier) (dotted_name)] @name) @view
(create_materialized_view_statement . [(identifier) (dotted_name)] @name) @view
(create_function_statement . [(identifier) (dotted_name)] @name (function_body) @body) @function
(create_type_statement type_name: (_) @name) @type
(create_index_statement name: (_) @name) @constant

(relation (object_reference name: (identifier) @ref))
(column_definition (object_reference name: (identifier) @ref))
(invocation (object_reference name: (identifier) @call))
(insert (object_reference name: (identifier) @ref))
(update (relation (object_reference name: (identifier) @ref)))
(references_constraint . (identifier) @ref)
(function_call function: (identifier) @call)
(from_clause (alias . (identifier) @ref))
(from_clause (identifier) @ref)
(join_clause (alias . (identifier) @ref))
(insert_statement . (identifier) @ref)
