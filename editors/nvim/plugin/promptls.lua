-- Declares what the plugin adds to Neovim; nothing else of it is loaded until it is used.

if vim.g.loaded_promptls then
  return
end
vim.g.loaded_promptls = true

if vim.fn.has('nvim-0.11') == 0 then
  vim.notify('promptls: Neovim 0.11 or newer is needed.', vim.log.levels.ERROR)
  return
end

vim.filetype.add({ pattern = { ['.*%.prompt%.md'] = { 'promptls', { priority = 10 } } } })
vim.treesitter.language.register('markdown', 'promptls')
require('promptls.documents').track()

vim.api.nvim_create_user_command('Promptls', function(command)
  require('promptls.usercmd').run(command)
end, {
  nargs = '*',
  range = true,
  bang = true,
  desc = 'promptls: ask, build, search, explain, …',
  complete = function(...)
    return require('promptls.usercmd').complete(...)
  end,
})

-- Code lenses and code actions carry these; here they lead to the preview instead of a file.
vim.lsp.commands['promptls.openPrompt'] = function(command)
  require('promptls.prompt').run(command, function(bufnr)
    require('promptls.prompt').build(bufnr)
  end)
end
vim.lsp.commands['promptls.copyPrompt'] = function(command)
  require('promptls.prompt').run(command, function(bufnr)
    require('promptls.prompt').copy(bufnr)
  end)
end

local function plug(name, modes, run, desc)
  vim.keymap.set(modes, '<Plug>(promptls-' .. name .. ')', run, { desc = 'promptls: ' .. desc })
end

plug('ask', 'n', '<Cmd>Promptls ask<CR>', 'ask a question')
plug('ask', 'x', ':Promptls ask<CR>', 'ask about the selection')
plug('build', { 'n', 'i' }, function()
  vim.cmd.stopinsert()
  vim.cmd('Promptls build')
end, 'build the prompt of this document')
plug('copy', 'n', '<Cmd>Promptls copy<CR>', 'copy the prompt of this document')
plug('search', 'n', '<Cmd>Promptls search<CR>', 'look for the word under the cursor')
plug('explain', 'n', '<Cmd>Promptls explain<CR>', 'explain the definition under the cursor')
plug('recipes', 'n', '<Cmd>Promptls recipes<CR>', 'pick a recipe')
plug('recipes', 'x', ':Promptls recipes<CR>', 'pick a recipe for the selection')
plug('scratch', 'n', '<Cmd>Promptls scratch<CR>', 'a prompt without a file')
plug('cancel', 'n', '<Cmd>Promptls cancel<CR>', 'cancel what is under way')
plug('goto', 'n', function()
  require('promptls.go').definition()
end, 'go to what the mention names')
