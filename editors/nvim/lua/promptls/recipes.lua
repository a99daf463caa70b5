-- Recipes: selection of a named task and input of its arguments.

local client = require('promptls.client')

local M = {}

--- Ask for the required arguments of a recipe, one after the other.
---@param recipe table
---@param on_complete fun(arguments: table<string, string>)
local function ask_arguments(recipe, on_complete)
  local arguments = {} ---@type table<string, string>
  local required = vim.tbl_filter(function(argument)
    return argument.required
  end, recipe.arguments)
  local function ask_from(i)
    local argument = required[i]
    if not argument then
      return on_complete(arguments)
    end
    local function on_value(value)
      if value and value ~= '' then
        arguments[argument.name] = value
        ask_from(i + 1)
      end
    end
    if #(argument.choices or {}) > 0 then
      vim.ui.select(argument.choices, { prompt = argument.description }, on_value)
    else
      vim.ui.input({ prompt = argument.description .. ': ', default = argument.default }, on_value)
    end
  end
  ask_from(1)
end

--- Select a recipe and open a question window with it.
---@param lines? {[1]: integer, [2]: integer} Lines that the question is about; 1-based, inclusive.
function M.select(lines)
  local source_window = vim.api.nvim_get_current_win()
  client.request('promptls/recipes', {}, {
    on_result = function(result)
      vim.ui.select(result.recipes, {
        prompt = 'Recipe',
        format_item = function(recipe)
          return ('%s: %s'):format(recipe.name, recipe.description)
        end,
      }, function(recipe)
        if not recipe then
          return
        end
        ask_arguments(recipe, function(arguments)
          if vim.api.nvim_win_is_valid(source_window) then
            vim.api.nvim_set_current_win(source_window)
          end
          require('promptls.ask').open({ opts = { recipe = recipe.name, arguments = arguments }, lines = lines })
        end)
      end)
    end,
  })
end

return M
