-- The configuration that `vim.lsp.enable('promptls')` uses.  Everything in it can be replaced by
-- `vim.lsp.config('promptls', { … })`.
return require('promptls.client').config()
