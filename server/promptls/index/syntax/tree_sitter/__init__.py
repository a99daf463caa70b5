"""Tree-sitter: grammars, queries and their captures, guards against pathological input, and the text to parse."""
