-- Fake codecompanion.nvim, with the names and arguments of version 19.22.0: runs the tools that a model calls.

local config = require('codecompanion.config')

local Tools = {}
Tools.__index = Tools

function Tools.new(args)
  return setmetatable({ bufnr = args.bufnr, tools_config = config.interactions.chat.tools, stderr = {} }, Tools)
end

function Tools.resolve(tool)
  return type(tool.callback) == 'function' and tool.callback() or tool
end

--- Run the calls of a model. A tool gets its arguments and the function for its output, and writes it into the chat.
function Tools:execute(chat, calls)
  self.chat = chat
  for _, call in ipairs(calls) do
    local name = call['function'].name
    local tool = vim.deepcopy(Tools.resolve(self.tools_config[name]))
    tool.name, tool.function_call, tool.args = name, call, vim.json.decode(call['function'].arguments)
    local function output_cb(message)
      local meta = { cmd = tool.cmds[1], tools = self }
      tool.output[message.status](tool, { message.data }, meta)
    end
    local output = tool.cmds[1](self, tool.args, { output_cb = output_cb, register_job = function() end })
    if output then
      output_cb(output)
    end
  end
end

return Tools
