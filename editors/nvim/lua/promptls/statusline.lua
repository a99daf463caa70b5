-- The state of the index for a statusline.

local client = require('promptls.client')
local render = require('promptls.render')

local M = {}

--- A few words about the server of a buffer; empty where there is none.
---@param bufnr? integer
---@return string
function M.text(bufnr)
  bufnr = bufnr and bufnr ~= 0 and bufnr or vim.api.nvim_get_current_buf()
  local found = vim.lsp.get_clients({ name = client.NAME, bufnr = bufnr })[1]
  if not found then
    return ''
  end
  return render.brief(client.states[found.id]) .. (client.busy() and ' …' or '')
end

return M
