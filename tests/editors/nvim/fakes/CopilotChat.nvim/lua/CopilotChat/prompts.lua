-- Fake CopilotChat.nvim: resolves the functions in a message, written as #name:`input`.

local M = {}

function M.resolve_functions(text)
  local resources = {}
  local functions = require('CopilotChat').config.functions
  local rest = text:gsub('#([^%s:]+):`([^`]+)`', function(name, input)
    local func = functions[name]
    local field = func.schema.required[1]
    local resolved = func.resolve({ [field] = input }, {})
    vim.list_extend(resources, resolved)
    return '##' .. resolved[1].uri
  end)
  return resources, {}, rest
end

return M
