-- Statusline text: the status of the index.

local client = require('promptls.client')
local notify = require('promptls.notify')

local M = {}

--- Return the index status in a few words.
---@param status? promptls.Status
---@return string
function M.short_status(status)
  if not status then
    return 'promptls …'
  end
  local files = 0
  for _, root in ipairs(status.roots) do
    files = files + root.files
  end
  if status.state == 'ready' then
    return ('promptls %s files'):format(notify.number(files))
  elseif status.state == 'degraded' then
    return 'promptls !'
  end
  local percentage = status.complete == 1 and '' or (' %d%%'):format(math.floor((status.complete or 0) * 100))
  return 'promptls ' .. status.state .. percentage
end

--- Return the index status of a buffer's server; empty without a server.
---@param bufnr? integer
---@return string
function M.text(bufnr)
  bufnr = bufnr and bufnr ~= 0 and bufnr or vim.api.nvim_get_current_buf()
  local attached = vim.lsp.get_clients({ name = client.NAME, bufnr = bufnr })[1]
  if not attached then
    return ''
  end
  return M.short_status(client.states[attached.id]) .. (client.busy() and ' …' or '')
end

return M
