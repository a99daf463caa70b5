-- Question windows and scratch prompts: prompt documents without a file.

local client = require('promptls.client')
local config = require('promptls.config')
local context = require('promptls.context')
local documents = require('promptls.documents')
local prompt = require('promptls.prompt')
local window = require('promptls.window')

local M = {}

---@class promptls.AskOptions
---@field text? string Initial text of the question.
---@field opts? promptls.BuildOptions
---@field lines? {[1]: integer, [2]: integer} First and last line that the question is about; 1-based, inclusive.
---@field again? boolean Open the last question again, even if its prompt was copied, sent or opened.

local labels = { title = 'Ask', hints = { '⏎ or ^S build', 'gd go there', 'q close' } }

local buffer_count = 0
---@type table<integer, integer> Question buffer → its window.
local windows = {}

---@param lines string[]
---@return integer bufnr
local function create_prompt_buffer(lines)
  buffer_count = buffer_count + 1
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(bufnr, ('%s%d.promptls.md'):format(documents.SCHEME, buffer_count))
  vim.bo[bufnr].bufhidden = 'hide'
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  return bufnr
end

--- Return whether a question has text and was neither copied, sent nor opened.
---@param bufnr integer
local function is_unfinished(bufnr)
  return not vim.b[bufnr].promptls_finished and vim.trim(prompt.text(bufnr)) ~= ''
end

--- Delete the hidden question buffers that are finished or empty, except the newest.
local function delete_old_questions()
  local hidden = {}
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.b[bufnr].promptls_ask and #vim.fn.win_findbuf(bufnr) == 0 and not is_unfinished(bufnr) then
      hidden[#hidden + 1] = bufnr
    end
  end
  hidden[#hidden] = nil
  for _, bufnr in ipairs(hidden) do
    vim.api.nvim_buf_delete(bufnr, { force = true })
  end
end

---@param bufnr integer
local function attach(bufnr)
  if vim.bo[bufnr].filetype ~= 'promptls' then
    vim.bo[bufnr].filetype = 'promptls'
  end
  client.ensure(bufnr, function() end, true)
end

--- Show in the titles of the question windows whether the server is starting or indexing.
local function update_titles()
  for bufnr, question_window in pairs(windows) do
    if vim.api.nvim_win_is_valid(question_window) then
      local progress = require('promptls.statusline').progress(bufnr)
      labels.title = progress == '' and 'Ask' or 'Ask · ' .. progress
      window.label(question_window, labels)
    end
  end
end

for event, pattern in pairs({ LspAttach = '*', User = 'PromptlsStatus' }) do
  local group = vim.api.nvim_create_augroup('promptls.ask.' .. event, {})
  vim.api.nvim_create_autocmd(event, { group = group, pattern = pattern, callback = update_titles })
end

---@param bufnr integer
local function open_window(bufnr)
  windows[bufnr] = window.open(bufnr, config.get().ask, labels)
  vim.wo[windows[bufnr]].signcolumn = 'auto'
  attach(bufnr)
  update_titles()
end

---@param bufnr integer
local function insert_at_end(bufnr)
  local last = vim.api.nvim_buf_line_count(bufnr)
  local line = vim.api.nvim_buf_get_lines(bufnr, last - 1, last, false)[1]
  vim.api.nvim_win_set_cursor(0, { last, #line })
  vim.cmd.startinsert({ bang = true })
end

--- Return the newest question of the workspace that is not empty and, without `again`, not finished.
---@param again? boolean
---@return integer? bufnr
local function last_question(again)
  local root = documents.root(vim.api.nvim_get_current_buf())
  return vim.iter(vim.api.nvim_list_bufs()):rfind(function(bufnr)
    local is_question = vim.b[bufnr].promptls_ask == true and vim.b[bufnr].promptls_root == root
    return is_question and (is_unfinished(bufnr) or again and vim.trim(prompt.text(bufnr)) ~= '')
  end)
end

--- Mark a question as finished: `M.open` does not open it again.
---@param bufnr integer
function M.finish(bufnr)
  if vim.api.nvim_buf_is_valid(bufnr) then
    vim.b[bufnr].promptls_finished = true
  end
end

--- Create a question without a window, for `M.reopen`.
---@param opts promptls.AskOptions
---@return integer bufnr
function M.create(opts)
  local source = vim.api.nvim_get_current_buf()
  local text, tracked = opts.text or '', nil
  if opts.lines then
    tracked = context.track_lines(source, opts.lines[1] - 1, opts.lines[2] - 1)
    text = '@selection ' .. text
  end
  delete_old_questions()
  local bufnr = create_prompt_buffer(vim.split(text, '\n', { plain = true }))
  vim.b[bufnr].promptls_ask, vim.b[bufnr].promptls_root = true, documents.root(source)
  prompt.options[bufnr], context.tracked_lines[bufnr] = opts.opts, tracked
  vim.keymap.set('n', 'q', function()
    M.hide(bufnr)
  end, { buffer = bufnr, nowait = true, desc = 'promptls: close' })
  return bufnr
end

--- Open a question window. Without options, a question that was not sent is opened again.
---@param opts? promptls.AskOptions
---@return integer bufnr
function M.open(opts)
  opts = opts or {}
  local is_new = (opts.text or '') ~= '' or opts.lines ~= nil or next(opts.opts or {}) ~= nil
  local last = not is_new and last_question(opts.again)
  if last then
    M.reopen(last)
    insert_at_end(last)
    return last
  end
  local bufnr = M.create(opts)
  open_window(bufnr)
  insert_at_end(bufnr)
  return bufnr
end

--- Close the window of a question. Its buffer is kept for `M.reopen`.
---@param bufnr integer
function M.hide(bufnr)
  local question_window = windows[bufnr]
  windows[bufnr] = nil
  if question_window and vim.api.nvim_win_is_valid(question_window) then
    vim.cmd.stopinsert()
    window.close(question_window)
  end
end

--- Return to a question: its question window, or the window of its document.
---@param bufnr integer
function M.reopen(bufnr)
  if not vim.api.nvim_buf_is_valid(bufnr) then
    return
  end
  local visible = vim.fn.win_findbuf(bufnr)[1]
  if visible then
    vim.api.nvim_set_current_win(visible)
  elseif vim.startswith(vim.api.nvim_buf_get_name(bufnr), documents.SCHEME) then
    open_window(bufnr)
  else
    vim.api.nvim_win_set_buf(window.non_floating(), bufnr)
  end
end

--- Open a prompt document without a file in the current window.
---@param text? string
---@return integer bufnr
function M.scratch(text)
  vim.api.nvim_set_current_win(window.non_floating())
  local bufnr = create_prompt_buffer(vim.split(text or '', '\n', { plain = true }))
  vim.bo[bufnr].buflisted = true
  vim.api.nvim_win_set_buf(0, bufnr)
  attach(bufnr)
  insert_at_end(bufnr)
  return bufnr
end

return M
