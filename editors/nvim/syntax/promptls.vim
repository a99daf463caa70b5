" Syntax of prompt documents without the tree-sitter parser of Markdown: Vim's Markdown syntax.
runtime! syntax/markdown.vim
let b:current_syntax = 'promptls'
