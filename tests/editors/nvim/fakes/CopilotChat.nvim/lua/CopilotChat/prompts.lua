-- A stand-in for CopilotChat.nvim: calls the functions that a message names as #name:`input`.

local M = {}

function M.resolve_functions(text)
  local resources = {}
  local functions = require('CopilotChat').config.functions
  local rest = text:gsub('#([^%s:]+):`([^`]+)`', function(name, input)
    local one = functions[name]
    local field = one.schema.required[1]
    local found = one.resolve({ [field] = input }, {})
    vim.list_extend(resources, found)
    return '##' .. found[1].uri
  end)
  return resources, {}, rest
end

return M
