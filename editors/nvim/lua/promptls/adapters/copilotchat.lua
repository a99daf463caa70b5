-- CopilotChat.nvim: a function `#promptls`, whose resource is the prompt for the question behind it.  A resource is
-- sent as it is; text of the chat would be searched for `#…` and `@…`, and code may hold some.

local consumers = require('promptls.consumers')
local prompt = require('promptls.prompt')
local render = require('promptls.render')

local M = {}

---@class promptls.CopilotChatOptions
---@field build? promptls.BuildOptions How prompts are built, such as their budget.
---@field timeout? integer Milliseconds that a question waits for its prompt.

local count = 0
---@type table<string, string> Name → a prompt that is built already.
local kept = {}

---@param question string
---@param opts promptls.CopilotChatOptions
---@return string
local function prompt_for(question, opts)
  if kept[question] then
    return kept[question]
  end
  local result, problem = prompt.request_sync({ message = question, opts = opts.build }, opts.timeout)
  if not result then
    error(problem, 0)
  end
  return render.text(result)
end

--- For `functions` of CopilotChat's `setup()`.
---@param opts? promptls.CopilotChatOptions
---@return table<string, table>
function M.functions(opts)
  opts = opts or {}
  consumers.register('copilotchat', {
    title = 'CopilotChat',
    send = function(text, _, question)
      count = count + 1
      local name = ('built-%d'):format(count)
      kept = { [name] = text }
      require('CopilotChat').ask(('#promptls:`%s`\n\n%s'):format(name, question))
    end,
  })
  return {
    promptls = {
      uri = 'promptls://{question}',
      description = 'The code of the workspace that a question needs, chosen by promptls within a token budget.',
      schema = {
        type = 'object',
        required = { 'question' },
        properties = {
          question = { type = 'string', description = 'The question, with @-mentions of files and #symbols.' },
        },
      },
      resolve = function(input)
        require('CopilotChat.utils').schedule_main()
        local text = prompt_for(input.question, opts)
        local uri = 'promptls://' .. vim.uri_encode(input.question)
        return { { uri = uri, name = 'promptls', mimetype = 'text/plain', data = text } }
      end,
    },
  }
end

return M
