-- The way from a mention to what it names.

local client = require('promptls.client')
local context = require('promptls.context')
local tell = require('promptls.tell')
local window = require('promptls.window')

local M = {}

--- Go to what the mention under the cursor names, in a window that is no float.
function M.definition()
  local bufnr = vim.api.nvim_get_current_buf()
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  client.request('textDocument/definition', function(asked)
    return {
      textDocument = { uri = vim.uri_from_bufnr(bufnr) },
      position = context.position(bufnr, row - 1, column, asked.offset_encoding),
    }
  end, {
    bufnr = bufnr,
    on_result = function(result, asked)
      local places = result and (vim.islist(result) and result or { result }) or {}
      if #places == 0 then
        return tell.info('There is no mention under the cursor that leads anywhere.')
      end
      if #places == 1 then
        return window.jump(places[1], asked.offset_encoding)
      end
      vim.ui.select(places, {
        prompt = 'Go to',
        format_item = function(place)
          local path = vim.fn.fnamemodify(vim.uri_to_fname(place.uri), ':~:.')
          return ('%s:%d'):format(path, place.range.start.line + 1)
        end,
      }, function(place)
        if place then
          window.jump(place, asked.offset_encoding)
        end
      end)
    end,
  })
end

return M
