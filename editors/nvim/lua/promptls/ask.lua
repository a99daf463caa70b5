-- The small window in which a question is asked, and scratch prompts: prompt documents without a file.

local client = require('promptls.client')
local config = require('promptls.config')
local context = require('promptls.context')
local documents = require('promptls.documents')
local prompt = require('promptls.prompt')
local window = require('promptls.window')

local M = {}

local count = 0
---@type table<integer, integer> Buffer of a question → its window.
local windows = {}

---@param lines string[]
---@return integer bufnr
local function new_prompt(lines)
  count = count + 1
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(bufnr, ('%s%d.prompt.md'):format(documents.SCHEME, count))
  vim.bo[bufnr].bufhidden = 'hide'
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  return bufnr
end

--- Questions asked before the last one are forgotten, unless they can be seen.
local function tidy()
  local old = {}
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.b[bufnr].promptls_ask and #vim.fn.win_findbuf(bufnr) == 0 then
      old[#old + 1] = bufnr
    end
  end
  old[#old] = nil
  for _, bufnr in ipairs(old) do
    vim.api.nvim_buf_delete(bufnr, { force = true })
  end
end

---@param bufnr integer
local function enter(bufnr)
  vim.bo[bufnr].filetype = 'promptls'
  client.ensure(bufnr, function() end, true)
end

local footer = '⏎ or ^S build  gd go there  q close'

---@param bufnr integer
local function open(bufnr)
  windows[bufnr] = window.open(bufnr, config.get().ask, { title = 'Ask', footer = footer })
  vim.wo[windows[bufnr]].signcolumn = 'auto'
end

---@param bufnr integer
local function to_end(bufnr)
  local last = vim.api.nvim_buf_line_count(bufnr)
  local line = vim.api.nvim_buf_get_lines(bufnr, last - 1, last, false)[1]
  vim.api.nvim_win_set_cursor(0, { last, #line })
  vim.cmd.startinsert({ bang = true })
end

--- Ask a question in a small window.
---@param given? {text?: string, opts?: promptls.BuildOptions, lines?: {[1]: integer, [2]: integer}}
---@return integer bufnr
function M.open(given)
  given = given or {}
  local from = vim.api.nvim_get_current_buf()
  local text = given.text or ''
  local held
  if given.lines then
    held = context.hold(from, given.lines[1] - 1, given.lines[2] - 1)
    text = '@selection ' .. text
  end
  tidy()
  local bufnr = new_prompt(vim.split(text, '\n', { plain = true }))
  vim.b[bufnr].promptls_ask = true
  prompt.options[bufnr], context.about[bufnr] = given.opts, held
  open(bufnr)
  enter(bufnr)
  vim.keymap.set('n', 'q', function()
    M.hide(bufnr)
  end, { buffer = bufnr, nowait = true, desc = 'promptls: close' })
  to_end(bufnr)
  return bufnr
end

--- Close the window of a question; the question is kept for the way back.
---@param bufnr integer
function M.hide(bufnr)
  local opened = windows[bufnr]
  windows[bufnr] = nil
  if opened and vim.api.nvim_win_is_valid(opened) then
    vim.cmd.stopinsert()
    window.close(opened)
  end
end

--- Go back to a question: into its own window, or to its document.
---@param bufnr integer
function M.back(bufnr)
  if not vim.api.nvim_buf_is_valid(bufnr) then
    return
  end
  local shown = vim.fn.win_findbuf(bufnr)[1]
  if shown then
    vim.api.nvim_set_current_win(shown)
  elseif vim.startswith(vim.api.nvim_buf_get_name(bufnr), documents.SCHEME) then
    open(bufnr)
  else
    vim.api.nvim_win_set_buf(window.ground(), bufnr)
  end
end

--- A prompt without a file in the current window.
---@param text? string
---@return integer bufnr
function M.scratch(text)
  vim.api.nvim_set_current_win(window.ground())
  local bufnr = new_prompt(vim.split(text or '', '\n', { plain = true }))
  vim.bo[bufnr].buflisted = true
  vim.api.nvim_win_set_buf(0, bufnr)
  enter(bufnr)
  to_end(bufnr)
  return bufnr
end

return M
