-- A question typed into a chat of codecompanion.nvim, sent to a local server. Arguments: the folder with the chat
-- plugins, as for adapters.lua, and the base URL of the server.

local folder, url = arg[1], arg[2]
for name in vim.fs.dir(folder) do
  vim.opt.runtimepath:append(vim.fs.joinpath(folder, name))
end

local function wait(expectation, condition)
  if not vim.wait(20000, condition, 20) then
    io.stderr:write(expectation, '\n', table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n'), '\n')
    os.exit(1)
  end
end

vim.cmd.runtime('plugin/promptls.lua')
vim.lsp.enable('promptls')
vim.api.nvim_exec_autocmds('VimEnter', {})
vim.cmd.edit('shop/cart.py')
require('promptls.client').ensure(0, function() end)
wait('the index is ready', function()
  local client = vim.lsp.get_clients({ name = 'promptls' })[1]
  local status = client and require('promptls.client').states[client.id]
  return status and status.state == 'ready'
end)

local adapter = require('codecompanion.adapters').extend('openai_compatible', {
  env = { url = url, api_key = 'none', chat_url = '/chat/completions' },
  schema = { model = { default = 'test' } },
})
require('codecompanion').setup({
  adapters = { http = { test = adapter } },
  interactions = { chat = { adapter = 'test' } },
  extensions = { promptls = { callback = 'promptls.adapters.codecompanion', opts = {} } },
})
local chat = require('codecompanion').chat({})
chat:add_buf_message({ role = 'user', content = 'How is it rounded? @#rounded' })
chat:submit()
wait('the answer is shown', function()
  local text = table.concat(vim.api.nvim_buf_get_lines(chat.bufnr, 0, -1, false), '\n')
  return text:find('Half up.', 1, true)
end)
print('sending passed')
vim.cmd('qall!')
