" Prompt documents where the tree-sitter parser of Markdown is missing: Markdown's colours.
runtime! syntax/markdown.vim
let b:current_syntax = 'promptls'
