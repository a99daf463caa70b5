-- Client configuration used by `vim.lsp.enable('promptls')`. Override any field with
-- `vim.lsp.config('promptls', { … })`.
return require('promptls.client').config()
