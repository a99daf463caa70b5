-- Go to definition: from a mention to its target.

local client = require('promptls.client')
local context = require('promptls.context')
local notify = require('promptls.notify')
local window = require('promptls.window')

local M = {}

--- Go to the target of the mention under the cursor, in a window that is not a float.
function M.jump()
  local bufnr = vim.api.nvim_get_current_buf()
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  client.request('textDocument/definition', function(lsp_client)
    return {
      textDocument = { uri = vim.uri_from_bufnr(bufnr) },
      position = context.position(bufnr, row - 1, column, lsp_client.offset_encoding),
    }
  end, {
    bufnr = bufnr,
    on_result = function(result, lsp_client)
      local locations = result and (vim.islist(result) and result or { result }) or {}
      if #locations == 0 then
        return notify.info('No mention with a target under the cursor.')
      end
      if #locations == 1 then
        return window.jump(locations[1], lsp_client.offset_encoding)
      end
      vim.ui.select(locations, {
        prompt = 'Go to',
        format_item = function(location)
          local path = vim.fn.fnamemodify(vim.uri_to_fname(location.uri), ':~:.')
          return ('%s:%d'):format(path, location.range.start.line + 1)
        end,
      }, function(location)
        if location then
          window.jump(location, lsp_client.offset_encoding)
        end
      end)
    end,
  })
end

return M
