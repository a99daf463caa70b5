-- Buffer options and keys of prompt documents (Markdown with mentions).

if vim.b.did_ftplugin then
  return
end
vim.b.did_ftplugin = 1

local bufnr = vim.api.nvim_get_current_buf()

-- Without the tree-sitter parser, fall back to the less precise syntax file.
if not pcall(vim.treesitter.start, bufnr, 'markdown') then
  vim.bo.syntax = 'promptls'
end

vim.bo.commentstring = '<!-- %s -->'
vim.bo.completeopt = 'menuone,noselect,fuzzy,popup'
vim.bo.suffixesadd = ''
local undo = { 'setlocal commentstring< completeopt< suffixesadd<' }
for name, value in pairs({ wrap = true, linebreak = true, breakindent = true }) do
  vim.wo[0][0][name] = value
  table.insert(undo, ('setlocal %s<'):format(name))
end

if require('promptls.config').get().keys then
  local function map(modes, key, plug)
    vim.keymap.set(modes, key, '<Plug>(promptls-' .. plug .. ')', { buffer = bufnr })
    for _, mode in ipairs(modes) do
      table.insert(undo, ('silent! %sunmap <buffer> %s'):format(mode, key))
    end
  end
  map({ 'n' }, '<CR>', 'build')
  map({ 'n', 'i' }, '<C-s>', 'build')
  map({ 'n' }, 'gd', 'goto')
  map({ 'n' }, 'gy', 'copy')
end

vim.b.undo_ftplugin = table.concat(undo, ' | ')
