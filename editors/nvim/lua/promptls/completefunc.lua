-- 'completefunc' for mentions in buffers that are not prompt documents, such as the input windows of chat plugins.

local client = require('promptls.client')

local M = {}

local TIMEOUT = 1000 -- milliseconds; completion blocks the editor

---@type {start: integer, items: table[]} Result of the last call with `findstart` 1.
local last = { start = -3, items = {} }

--- Set the 'completefunc' of all buffers with a file type.
---@param filetype string
function M.enable(filetype)
  vim.api.nvim_create_autocmd('FileType', {
    group = vim.api.nvim_create_augroup('promptls.completefunc.' .. filetype, {}),
    pattern = filetype,
    callback = function(event)
      vim.bo[event.buf].completefunc = "v:lua.require'promptls'.completefunc"
      vim.schedule(function() -- after the plugin has set its options
        if vim.api.nvim_buf_is_valid(event.buf) then
          local own = vim.bo[event.buf].completeopt
          vim.bo[event.buf].completeopt = (own ~= '' and own or vim.go.completeopt) .. ',menuone' -- for the cost of one
        end
      end)
    end,
  })
end

---@param findstart 0|1
---@param base string
---@return integer|table
function M.complete(findstart, base)
  if findstart == 0 then
    return vim.tbl_map(function(item)
      local cost = item.tokens and ('~%d tokens'):format(item.tokens) or ''
      local shown = require('promptls.completion').columns(item.label, item.detail, cost, base)
      return vim.tbl_extend('error', shown, { word = item.insertText, info = item.documentation })
    end, last.items)
  end
  local column = vim.api.nvim_win_get_cursor(0)[2]
  local text = vim.api.nvim_get_current_line():sub(1, column)
  local result = client.request_sync('promptls/completeMention', {
    text = text,
    offset = vim.str_utfindex(text, 'utf-16'),
    limit = 50,
  }, TIMEOUT)
  if not result or #result.items == 0 then
    return -3
  end
  last = { start = vim.str_byteindex(text, 'utf-16', result.replace.start), items = result.items }
  return last.start
end

return M
