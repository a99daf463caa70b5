-- Statusline text: the status of the index.

local client = require('promptls.client')
local notify = require('promptls.notify')

local M = {}

--- Return what a server does before its index is complete; empty after that.
---@param status? promptls.Status
---@return string
local function progress(status)
  if not status then
    return 'starting'
  elseif status.state == 'ready' or status.state == 'degraded' then
    return ''
  end
  local percentage = status.complete == 1 and '' or (' %d %%'):format(math.floor((status.complete or 0) * 100))
  return status.state .. percentage
end

--- Return the index status in a few words.
---@param status? promptls.Status
---@return string
function M.short_status(status)
  local text = progress(status)
  if status and text == '' then
    local files = 0
    for _, root in ipairs(status.roots) do
      files = files + root.files
    end
    text = status.state == 'ready' and notify.number(files) .. ' files' or '!'
  end
  return 'promptls ' .. text
end

---@param bufnr? integer
local function attached_to(bufnr)
  bufnr = bufnr and bufnr ~= 0 and bufnr or vim.api.nvim_get_current_buf()
  return vim.lsp.get_clients({ name = client.NAME, bufnr = bufnr })[1]
end

--- Return what the server of a buffer does before it is ready; empty after that, and if none was started.
---@param bufnr? integer
---@return string
function M.progress(bufnr)
  local attached = attached_to(bufnr)
  if not attached and not client.is_starting(bufnr) then
    return ''
  end
  return progress(attached and client.states[attached.id])
end

--- Return the index status of a buffer's server; empty without a server.
---@param bufnr? integer
---@return string
function M.text(bufnr)
  local attached = attached_to(bufnr)
  if not attached then
    return client.is_starting(bufnr) and M.short_status() or ''
  end
  return M.short_status(client.states[attached.id]) .. (client.busy() and ' …' or '')
end

return M
