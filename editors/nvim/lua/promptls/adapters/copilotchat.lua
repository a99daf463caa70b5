-- Adapter for CopilotChat.nvim: the function `#promptls` returns the prompt for its question as a resource.
-- CopilotChat sends resources unchanged; in chat text it would expand `#…` and `@…` inside the quoted code.

local consumers = require('promptls.consumers')
local prompt = require('promptls.prompt')

local M = {}

---@class promptls.CopilotChatOptions
---@field build? promptls.BuildOptions Options of the build request, such as the budget.
---@field timeout? integer Timeout of the build request in milliseconds.

local built_count = 0
---@type table<string, string> Name → prompt sent from its page.
local built_prompts = {}

---@param question string
---@param opts promptls.CopilotChatOptions
---@return string
local function prompt_for(question, opts)
  if built_prompts[question] then
    return built_prompts[question]
  end
  local result, problem = prompt.request_sync({ message = question, opts = opts.build }, opts.timeout)
  if not result then
    error(problem, 0)
  end
  return consumers.text(result)
end

--- Return entries for `functions` in CopilotChat's `setup()`.
---@param opts? promptls.CopilotChatOptions
---@return table<string, table>
function M.functions(opts)
  opts = opts or {}
  require('promptls.completefunc').enable('copilot-chat')
  consumers.register('copilotchat', {
    title = 'CopilotChat',
    send = function(text, _, question)
      built_count = built_count + 1
      local name = ('built-%d'):format(built_count)
      built_prompts = { [name] = text }
      require('CopilotChat').ask(('#promptls:`%s`\n\n%s'):format(name, question))
    end,
  })
  return {
    promptls = {
      uri = 'promptls://{question}',
      description = 'Workspace code relevant to a question, selected by promptls within a token budget.',
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
