-- A minimal configuration: nvim -u server/examples/nvim-minimal/init.lua
-- It adds the plugin of this repository to the runtime path and starts `promptls serve` for prompt documents.
local here = vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, 'S').source:sub(2)))
vim.opt.runtimepath:append(vim.fs.normalize(here .. '/../../../editors/nvim'))
vim.lsp.enable('promptls')
