-- Fake codecompanion.nvim, with the names and arguments of version 19.22.0: chats, extensions, the prompt decorator.

local config = require('codecompanion.config')
local Tools = require('codecompanion.interactions.chat.tools')

local M = {}

local Chat = {}
Chat.__index = Chat

function Chat:add_buf_message(message, _)
  vim.api.nvim_buf_set_lines(self.bufnr, -1, -1, false, vim.split(message.content, '\n'))
end

function Chat:add_context(message, source, id, _)
  local meta = { tag = source }
  table.insert(self.messages, { role = message.role, content = message.content, context = { id = id }, _meta = meta })
end

function Chat:add_tool_output(tool, for_llm, for_user)
  table.insert(self.messages, { role = 'tool', content = for_llm, tools = { call_id = tool.function_call.id } })
  self:add_buf_message({ content = for_user or for_llm })
end

function Chat:submit()
  local text = vim.trim(table.concat(vim.api.nvim_buf_get_lines(self.bufnr, 0, -1, false), '\n'))
  local decorate = config.interactions.chat.opts.prompt_decorator
  table.insert(self.messages, { role = 'user', content = decorate and decorate(text, {}, {}) or text })
  self:_submit_http({ messages = self.messages })
end

local last

function M.chat(_)
  last = setmetatable({ bufnr = vim.api.nvim_create_buf(false, true), messages = {} }, Chat)
  last.tools = Tools.new({ bufnr = last.bufnr })
  vim.api.nvim_set_current_buf(last.bufnr)
  vim.bo[last.bufnr].filetype = 'codecompanion'
  return last
end

function M.last_chat()
  return last
end

function M.setup(opts)
  for _, extension in pairs(opts.extensions) do
    require(extension.callback).setup(extension.opts)
  end
end

return M
