; YAML: the keys of the outermost mapping and of the mappings directly in it.

(document (block_node (block_mapping (block_mapping_pair key: (_) @name) @key)))
(document (block_node (block_mapping (block_mapping_pair value: (block_node
  (block_mapping (block_mapping_pair key: (_) @name value: (block_node)) @key))))))

; Mappings that a sequence lists by name, the first of their keys.
(block_mapping_pair key: (_) @callee value: (block_node (block_sequence (block_sequence_item
  (block_node (block_mapping . (block_mapping_pair value: (_) @name)))) @member)))
