-- Adapter for avante.nvim: the slash command `/promptls <question>` sends the prompt that promptls builds for the
-- question. The chat shows the question.

local consumers = require('promptls.consumers')
local prompt = require('promptls.prompt')

local M = {}

---@class promptls.AvanteOptions
---@field build? promptls.BuildOptions Options of the build request, such as the budget.

--- Submit a prompt unchanged. In a submitted text, avante replaces words such as `#debug` by instructions and adds its
--- own context for `@codebase`, also inside quoted code. So the prompt is put into the message that avante has made.
---@param text string
---@param _ table?
---@param question string
local function submit(text, _, question)
  local avante = require('avante')
  avante.open_sidebar({})
  local sidebar = avante.get()
  function sidebar:add_history_messages(messages, ...)
    sidebar.add_history_messages = nil -- restores the method of the class
    messages[1].message.content, messages[1].displayed_content = text, question
    return self:add_history_messages(messages, ...)
  end
  sidebar:handle_submit('promptls')
end

--- Return an entry for `slash_commands` in avante's `setup()`.
---@param opts? promptls.AvanteOptions
---@return table
function M.slash_command(opts)
  opts = opts or {}
  require('promptls.completefunc').enable('AvanteInput')
  consumers.register('avante', { title = 'avante', send = submit })
  return {
    name = 'promptls',
    description = '/promptls <question>',
    details = 'Ask with the code that promptls selects for the question; supports @-mentions',
    callback = function(_, question)
      prompt.request({ message = question, opts = opts.build }, function(result)
        submit(consumers.text(result), result, question)
        prompt.report_missing_mentions(result)
      end)
    end,
  }
end

return M
