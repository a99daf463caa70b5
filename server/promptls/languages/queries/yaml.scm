; YAML: the keys of the outermost mapping and of the mappings directly in it.

(document (block_node (block_mapping (block_mapping_pair key: (_) @name) @key)))
(document (block_node (block_mapping (block_mapping_pair value: (block_node
  (block_mapping (block_mapping_pair key: (_) @name value: (block_node)) @key))))))
