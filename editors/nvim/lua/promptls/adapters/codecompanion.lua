-- Adapter for codecompanion.nvim: replaces a message with mentions by the prompt that promptls builds for it, and adds
-- the tool group `promptls`. The chat shows the message as typed. Load it as an extension:
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
  return consumers.text(result)
end

--- Open a chat with a prompt and its question. The prompt is added as context, which codecompanion sends unchanged.
---@param text string
---@param _ table
---@param question string
---@return false? failed
local function send_to_chat(text, _, question)
  local chat = require('codecompanion').chat({})
  if not chat then
    notify.error('CodeCompanion did not open a chat. See its log.')
    return false
  end
  chat:add_context({ role = 'user', content = text }, 'promptls', '<prompt>promptls</prompt>')
  sent_questions[vim.trim(question)] = true
  chat:add_buf_message({ role = 'user', content = question })
end

--- Return a tool for codecompanion, which resolves it for each call.
---@param tool promptls.Tool
local function chat_tool(tool)
  local chat, text
  local function add_output(self)
    local subject = self.args and self.args[tool.parameters.required[1]]
    subject = type(subject) == 'table' and table.concat(subject, ', ') or tostring(subject)
    chat:add_tool_output(self, text, ('%s: %s'):format(tool.title, subject))
  end
  return {
    name = tool.name,
    cmds = {
      function(tools, arguments, run)
        chat = tools.chat
        client.request('promptls/callTool', { name = tool.name, arguments = arguments }, {
          bufnr = chat.bufnr,
          on_result = function(result)
            text = result.text
            run.output_cb({ status = 'success', data = text })
          end,
          on_error = function(message)
            text = message
            run.output_cb({ status = 'error', data = text })
          end,
        })
      end,
    },
    schema = {
      type = 'function',
      ['function'] = { name = tool.name, description = tool.description, parameters = tool.parameters },
    },
    output = { success = add_output, error = add_output },
  }
end

--- Add the tools of the server as a group.
---@param config table The tools of codecompanion's configuration.
local function add_tools(config)
  local names = {}
  for _, tool in ipairs(require('promptls.tools')) do
    names[#names + 1] = tool.name
    config[tool.name] = {
      description = tool.title,
      callback = function()
        return chat_tool(tool)
      end,
    }
  end
  config.groups = config.groups or {}
  config.groups.promptls = { description = 'Search, read and explain the code', tools = names }
end

--- Install the prompt decorator, the tools, the 'completefunc' of chat buffers and the consumer.
---@param opts? promptls.CodeCompanionOptions
function M.setup(opts)
  options = opts or {}
  local chat = require('codecompanion.config').interactions.chat
  chat.opts = chat.opts or {}
  local previous = chat.opts.prompt_decorator
  chat.opts.prompt_decorator = function(message, ...)
    return M.decorate(previous and previous(message, ...) or message)
  end
  chat.tools = chat.tools or {}
  add_tools(chat.tools)
  require('promptls.completefunc').enable('codecompanion')
  consumers.register('codecompanion', { title = 'a CodeCompanion chat', send = send_to_chat })
end

return M
