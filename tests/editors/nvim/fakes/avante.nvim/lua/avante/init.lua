-- Fake avante.nvim (interface of commit a9334315): a sidebar with slash commands and messages.

local M = { slash_commands = {} }

local Sidebar = {}
Sidebar.__index = Sidebar
local sidebar = setmetatable({ chat_history = { messages = {} } }, Sidebar)

function Sidebar:add_history_messages(messages)
  vim.list_extend(self.chat_history.messages, messages)
end

function Sidebar:handle_submit(request)
  self:add_history_messages({ { message = { role = 'user', content = request } } })
end

function M.open_sidebar(_) end

function M.get()
  return sidebar
end

function M.setup(opts)
  M.slash_commands = opts.slash_commands
end

return M
