-- codecompanion.nvim: a message with mentions is sent as the prompt that promptls builds for it; the chat shows
-- what was typed.  Also an extension: `extensions = { promptls = { callback = 'promptls.adapters.codecompanion' } }`.

local client = require('promptls.client')
local consumers = require('promptls.consumers')
local prompt = require('promptls.prompt')
local tell = require('promptls.tell')

local M = {}

---@class promptls.CodeCompanionOptions
---@field always? boolean Build a prompt for every message, not only for those with mentions.
---@field build? promptls.BuildOptions How prompts are built, such as their budget.
---@field timeout? integer Milliseconds that a message waits for its prompt.

---@type promptls.CodeCompanionOptions
local options = {}
---@type table<string, true> Questions whose prompt is in the chat already.
local answered = {}

--- Whether the server finds mentions in a message.
---@param message string
local function has_mentions(message)
  if not message:find('@', 1, true) then
    return false
  end
  local found = client.request_sync('promptls/resolveMentions', { message = message }, options.timeout or 10000)
  return found ~= nil and #found.mentions > 0
end

--- What is sent instead of a message: its prompt, or the message itself where none can be built.
---@param message string
---@return string
function M.decorate(message)
  local asked = vim.trim(message)
  if asked == '' or answered[asked] then
    answered[asked] = nil
    return message
  end
  if not options.always and not has_mentions(message) then
    return message
  end
  local result, problem = prompt.request_sync({ message = message, opts = options.build }, options.timeout or 30000)
  if not result then
    tell.warn(('%s The message is sent as it was typed.'):format(problem))
    return message
  end
  return require('promptls.render').text(result)
end

--- Put a prompt into a new chat: as context, which codecompanion sends as it is, with the question below.
---@param text string
---@param question string
local function send(text, question)
  local chat = require('codecompanion').chat({})
  if not chat then
    return tell.error('CodeCompanion has opened no chat; its log tells why.')
  end
  chat:add_context({ role = 'user', content = text }, 'promptls', '<prompt>promptls</prompt>')
  answered[vim.trim(question)] = true
  chat:add_buf_message({ role = 'user', content = question })
end

---@param opts? promptls.CodeCompanionOptions
function M.setup(opts)
  options = opts or {}
  local chat = require('codecompanion.config').interactions.chat
  chat.opts = chat.opts or {}
  local before = chat.opts.prompt_decorator
  chat.opts.prompt_decorator = function(message, ...)
    return M.decorate(before and before(message, ...) or message)
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
      send(text, question)
    end,
  })
end

return M
