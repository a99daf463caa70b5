; SQL: references only, because definitions come from a scanner. The second half is for the older grammar.

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
