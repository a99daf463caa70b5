; JSON: the keys of the outermost object and of the objects directly in it.

(document (object (pair key: (string) @name) @key))
(document (object (pair value: (object (pair key: (string) @name value: [(object) (array)]) @key))))
