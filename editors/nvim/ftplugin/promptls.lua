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
vim.bo.suffixesadd = ''
local undo = { 'setlocal commentstring< suffixesadd<' }
for name, value in pairs({ wrap = true, linebreak = true, breakindent = true }) do
  vim.wo[0][0][name] = value
  table.insert(undo, ('setlocal %s<'):format(name))
end

-- A line is not broken after the "@" of a mention. The option is global: it changes only while the cursor is in the
-- document.
local group = vim.api.nvim_create_augroup('promptls.breakat.' .. bufnr, {})
vim.api.nvim_create_autocmd({ 'BufEnter', 'BufLeave' }, {
  group = group,
  buffer = bufnr,
  callback = function(event)
    if event.event == 'BufEnter' and vim.go.breakat:find('@') then
      vim.b[bufnr].promptls_breakat, vim.go.breakat = true, (vim.go.breakat:gsub('@', ''))
    elseif event.event == 'BufLeave' and vim.b[bufnr].promptls_breakat then
      vim.b[bufnr].promptls_breakat, vim.go.breakat = nil, vim.go.breakat .. '@'
    end
  end,
})
if vim.fn.win_gettype() ~= 'autocmd' then
  vim.api.nvim_exec_autocmds('BufEnter', { group = group, buffer = bufnr })
end
table.insert(undo, 'autocmd! promptls.breakat.' .. bufnr)

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
  map({ 'n' }, 'ga', 'answer')
end

vim.b.undo_ftplugin = table.concat(undo, ' | ')
