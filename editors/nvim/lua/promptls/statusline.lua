-- Statusline text: the status of the index.

local client = require('promptls.client')
local render = require('promptls.render')

local M = {}

--- Return the index status of a buffer's server; empty without a server.
---@param bufnr? integer
---@return string
function M.text(bufnr)
  bufnr = bufnr and bufnr ~= 0 and bufnr or vim.api.nvim_get_current_buf()
  local attached = vim.lsp.get_clients({ name = client.NAME, bufnr = bufnr })[1]
  if not attached then
    return ''
  end
  return render.short_status(client.states[attached.id]) .. (client.busy() and ' …' or '')
end

return M
