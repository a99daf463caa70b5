-- Registers the file type, the command, the mappings and the LSP commands. Other modules are loaded on first use.

if vim.g.loaded_promptls then
  return
end
vim.g.loaded_promptls = true

if vim.fn.has('nvim-0.11') == 0 then
  vim.notify('promptls requires Neovim 0.11 or newer.', vim.log.levels.ERROR)
  return
end

local function prompt_filetype(path)
  return require('promptls.documents').is_prompt_name(path) and 'promptls' or nil
end
vim.filetype.add({
  pattern = {
    ['.*%.promptls%.md'] = { prompt_filetype, { priority = 10 } },
    ['.*%.prompt%.md'] = { prompt_filetype, { priority = 10 } },
  },
})
-- Instruction files without a file type: a server is attached only to files that have one.
local filenames = { '.cursorrules', '.windsurfrules', '.clinerules', '.codebuddyrules' }
for _, filename in ipairs({ 'a.mdc', unpack(filenames) }) do
  if not vim.filetype.match({ filename = filename }) then
    local key = filename == 'a.mdc' and 'extension' or 'filename'
    vim.filetype.add({ [key] = { [filename == 'a.mdc' and 'mdc' or filename] = 'markdown' } })
  end
end
vim.treesitter.language.register('markdown', 'promptls')
require('promptls.documents').track_usage()

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

-- Commands of code lenses and code actions. They run in the editor, to open a page instead of a file.
for command, action in pairs({ openPrompt = 'build', copyPrompt = 'copy', answer = 'answer' }) do
  vim.lsp.commands['promptls.' .. command] = function(lsp_command)
    require('promptls.prompt').run_command(lsp_command, action)
  end
end
-- After a command that it sends itself, Neovim shows the lenses a second time, at the end of the line.
vim.lsp.commands['promptls.setBudget'] = function(command, ctx)
  local params = { command = command.command, arguments = command.arguments }
  local opts = { client_id = ctx.client_id, on_result = function() end }
  require('promptls.client').request('workspace/executeCommand', params, opts)
end

local function plug(name, modes, action, desc)
  vim.keymap.set(modes, '<Plug>(promptls-' .. name .. ')', action, { desc = 'promptls: ' .. desc })
end

plug('ask', 'n', '<Cmd>Promptls ask<CR>', 'ask a question')
plug('ask', 'x', ':Promptls ask<CR>', 'ask about the selection')
plug('build', { 'n', 'i' }, function()
  vim.cmd.stopinsert()
  vim.cmd('Promptls build')
end, 'build the prompt of this document')
plug('answer', 'n', '<Cmd>Promptls answer<CR>', 'write the answer of the language model below the question')
plug('copy', 'n', '<Cmd>Promptls copy<CR>', 'copy the prompt of this document')
plug('search', 'n', '<Cmd>Promptls search<CR>', 'search for the word under the cursor')
plug('explain', 'n', '<Cmd>Promptls explain<CR>', 'explain the definition under the cursor')
plug('recipes', 'n', '<Cmd>Promptls recipes<CR>', 'pick a recipe')
plug('recipes', 'x', ':Promptls recipes<CR>', 'pick a recipe for the selection')
plug('scratch', 'n', '<Cmd>Promptls scratch<CR>', 'open a prompt document without a file')
plug('cancel', 'n', '<Cmd>Promptls cancel<CR>', 'cancel pending requests')
plug('goto', 'n', function()
  require('promptls.definition').jump()
end, 'go to the target of the mention')
