-- avante.nvim: a slash command `/promptls <question>`, which asks with the prompt that promptls builds for it.

local consumers = require('promptls.consumers')
local prompt = require('promptls.prompt')
local render = require('promptls.render')

local M = {}

---@class promptls.AvanteOptions
---@field build? promptls.BuildOptions How prompts are built, such as their budget.

---@param text string
local function ask(text)
  require('avante.api').ask({ question = text })
end

--- For `slash_commands` of avante's `setup()`.
---@param opts? promptls.AvanteOptions
---@return table
function M.slash_command(opts)
  opts = opts or {}
  consumers.register('avante', {
    title = 'avante',
    send = function(text)
      ask(text)
    end,
  })
  return {
    name = 'promptls',
    description = '/promptls <question>',
    details = 'Ask with the code that promptls chooses for the question, @-mentions included',
    callback = function(_, question, done)
      prompt.request({ message = question, opts = opts.build }, function(result)
        ask(render.text(result))
        if done then
          done(question)
        end
      end)
    end,
  }
end

return M
