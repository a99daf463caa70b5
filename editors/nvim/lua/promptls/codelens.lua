-- Code lenses of prompt documents, refreshed with a debounce.

local client = require('promptls.client')

local M = {}

local DEBOUNCE = 100 -- milliseconds

---@type table<integer, uv.uv_timer_t> Buffer → debounce timer.
local timers = {}

--- Refresh the code lenses after the debounce interval.
---@param bufnr integer
local function schedule_refresh(bufnr)
  if not vim.api.nvim_buf_is_loaded(bufnr) then
    return -- BufUnload has passed, so that the timer would never be closed
  end
  timers[bufnr] = timers[bufnr] or assert(vim.uv.new_timer())
  timers[bufnr]:start(
    DEBOUNCE,
    0,
    vim.schedule_wrap(function()
      if vim.api.nvim_buf_is_loaded(bufnr) and #vim.lsp.get_clients({ bufnr = bufnr, name = client.NAME }) > 0 then
        vim.lsp.codelens.refresh({ bufnr = bufnr })
      end
    end)
  )
end

--- Show code lenses in a prompt document and refresh them on changes.
---@param bufnr integer
---@param group integer Autocommand group of the document.
function M.attach(bufnr, group)
  vim.api.nvim_create_autocmd({ 'BufEnter', 'InsertLeave', 'TextChanged', 'TextChangedI', 'DiagnosticChanged' }, {
    group = group,
    buffer = bufnr,
    callback = function()
      schedule_refresh(bufnr)
    end,
  })
  vim.api.nvim_create_autocmd('User', {
    group = group,
    pattern = 'PromptlsStatus',
    callback = function()
      schedule_refresh(bufnr)
    end,
  })
  vim.api.nvim_create_autocmd({ 'BufWipeout', 'BufUnload' }, {
    group = group,
    buffer = bufnr,
    callback = function()
      if timers[bufnr] then
        timers[bufnr]:close()
        timers[bufnr] = nil
      end
    end,
  })
  schedule_refresh(bufnr)
end

return M
