-- Code lenses of prompt documents, refreshed with a debounce and shown as virtual lines below the first line.
-- Neovim shows them at the end of the line, where a long line hides them, and removes them with each edit of the line.

local client = require('promptls.client')

local M = {}

local DEBOUNCE = 100 -- milliseconds

local SEPARATOR = ' | '
local namespace = vim.api.nvim_create_namespace('promptls.codelens')

---@type table<integer, uv.uv_timer_t> Buffer → debounce timer.
local timers = {}

--- Return the width of the text area of the narrowest window that shows a buffer.
---@param bufnr integer
---@return integer
local function text_width(bufnr)
  local width = vim.o.columns
  for _, window in ipairs(vim.fn.win_findbuf(bufnr)) do
    width = math.min(width, vim.api.nvim_win_get_width(window) - vim.fn.getwininfo(window)[1].textoff)
  end
  return width
end

--- Arrange titles in virtual lines that fit a width.
---@param titles string[]
---@param width integer
---@return [string, string][][]
function M.arrange(titles, width)
  local lines, used = {}, 0
  for _, title in ipairs(titles) do
    local needed = vim.fn.strdisplaywidth(title)
    if #lines > 0 and used + #SEPARATOR + needed <= width then
      vim.list_extend(lines[#lines], { { SEPARATOR, 'LspCodeLensSeparator' }, { title, 'LspCodeLens' } })
      used = used + #SEPARATOR + needed
    else
      lines[#lines + 1], used = { { title, 'LspCodeLens' } }, needed
    end
  end
  return lines
end

---@param bufnr integer
---@param lenses lsp.CodeLens[]
local function display(bufnr, lenses)
  local titles = vim.tbl_map(function(lens)
    return lens.command.title
  end, lenses)
  local lines = M.arrange(titles, text_width(bufnr))
  vim.api.nvim_buf_set_extmark(bufnr, namespace, 0, 0, { id = 1, virt_lines = lines })
end

---@param bufnr integer
local function refresh(bufnr)
  local lsp_client = vim.lsp.get_clients({ bufnr = bufnr, name = client.NAME })[1]
  if not lsp_client then
    return
  end
  local params = { textDocument = { uri = vim.uri_from_bufnr(bufnr) } }
  lsp_client:request('textDocument/codeLens', params, function(err, lenses)
    if not err and vim.api.nvim_buf_is_loaded(bufnr) then
      vim.lsp.codelens.save(lenses or {}, bufnr, lsp_client.id) -- for vim.lsp.codelens.run()
      display(bufnr, lenses or {})
    end
  end, bufnr)
end

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
      if vim.api.nvim_buf_is_loaded(bufnr) then
        refresh(bufnr)
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
  for event, pattern in pairs({ User = 'PromptlsStatus', WinResized = '*' }) do
    vim.api.nvim_create_autocmd(event, {
      group = group,
      pattern = pattern,
      callback = function()
        schedule_refresh(bufnr)
      end,
    })
  end
  vim.api.nvim_create_autocmd('LspDetach', {
    group = group,
    buffer = bufnr,
    callback = function()
      vim.api.nvim_buf_clear_namespace(bufnr, namespace, 0, -1)
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
