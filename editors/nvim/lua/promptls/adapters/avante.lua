-- Adapter for avante.nvim: the slash command `/promptls <question>` sends the prompt that promptls builds for the
-- question.

local consumers = require('promptls.consumers')
local prompt = require('promptls.prompt')

local M = {}

---@class promptls.AvanteOptions
---@field build? promptls.BuildOptions Options of the build request, such as the budget.

---@param text string
local function send_to_avante(text)
  require('avante.api').ask({ question = text })
end

--- Return an entry for `slash_commands` in avante's `setup()`.
---@param opts? promptls.AvanteOptions
---@return table
function M.slash_command(opts)
  opts = opts or {}
  consumers.register('avante', {
    title = 'avante',
    send = function(text)
      send_to_avante(text)
    end,
  })
  return {
    name = 'promptls',
    description = '/promptls <question>',
    details = 'Ask with the code that promptls selects for the question; supports @-mentions',
    callback = function(_, question, done)
      prompt.request({ message = question, opts = opts.build }, function(result)
        send_to_avante(consumers.text(result))
        if done then
          done(question)
        end
      end)
    end,
  }
end

return M
