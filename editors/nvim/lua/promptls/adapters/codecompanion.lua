-- Adapter for codecompanion.nvim: replaces a message with mentions by the prompt that promptls builds for it.
-- The chat shows the message as typed. Load it as an extension:
-- `extensions = { promptls = { callback = 'promptls.adapters.codecompanion' } }`.

local client = require('promptls.client')
local consumers = require('promptls.consumers')
local notify = require('promptls.notify')
local prompt = require('promptls.prompt')

local M = {}

---@class promptls.CodeCompanionOptions
---@field always? boolean Build a prompt for every message, not only for messages with mentions.
---@field build? promptls.BuildOptions Options of the build request, such as the budget.
---@field timeout? integer Timeout of the build request in milliseconds.

---@type promptls.CodeCompanionOptions
local options = {}
---@type table<string, true> Questions whose prompt is already in the chat.
local sent_questions = {}

--- Return whether the server resolves mentions in a message.
---@param message string
local function has_mentions(message)
  if not message:find('@', 1, true) then
    return false
  end
  local result = client.request_sync('promptls/resolveMentions', { message = message }, options.timeout or 10000)
  return result ~= nil and #result.mentions > 0
end

--- Return the prompt for a message, or the message itself if no prompt can be built.
---@param message string
---@return string
function M.decorate(message)
  local question = vim.trim(message)
  if question == '' or sent_questions[question] then
    sent_questions[question] = nil
    return message
  end
  if not options.always and not has_mentions(message) then
    return message
  end
  local result, problem = prompt.request_sync({ message = message, opts = options.build }, options.timeout or 30000)
  if not result then
    notify.warn(('%s The message was sent unchanged.'):format(problem))
    return message
  end
  return require('promptls.render').text(result)
end

--- Open a chat with a prompt and its question. The prompt is added as context, which codecompanion sends unchanged.
---@param text string
---@param question string
local function send_to_chat(text, question)
  local chat = require('codecompanion').chat({})
  if not chat then
    return notify.error('CodeCompanion did not open a chat. See its log.')
  end
  chat:add_context({ role = 'user', content = text }, 'promptls', '<prompt>promptls</prompt>')
  sent_questions[vim.trim(question)] = true
  chat:add_buf_message({ role = 'user', content = question })
end

--- Install the prompt decorator, the 'completefunc' of chat buffers and the consumer.
---@param opts? promptls.CodeCompanionOptions
function M.setup(opts)
  options = opts or {}
  local chat = require('codecompanion.config').interactions.chat
  chat.opts = chat.opts or {}
  local previous = chat.opts.prompt_decorator
  chat.opts.prompt_decorator = function(message, ...)
    return M.decorate(previous and previous(message, ...) or message)
  end
  vim.api.nvim_create_autocmd('FileType', {
    group = vim.api.nvim_create_augroup('promptls.codecompanion', {}),
    pattern = 'codecompanion',
    callback = function(event)
      vim.bo[event.buf].completefunc = "v:lua.require'promptls'.completefunc"
    end,
  })
  consumers.register('codecompanion', {
    title = 'a CodeCompanion chat',
    send = function(text, _, question)
      send_to_chat(text, question)
    end,
  })
end

return M
