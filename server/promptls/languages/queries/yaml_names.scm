; YAML: the named mappings in sequences.

(block_sequence_item (block_node (block_mapping (block_mapping_pair key: (_) @callee value: (_) @name)))) @definition
