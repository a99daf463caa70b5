-- Preview window of a prompt: token statistics, mentions, included and omitted items, the prompt text, and its keys.

local config = require('promptls.config')
local consumers = require('promptls.consumers')
local notify = require('promptls.notify')
local render = require('promptls.render')
local window = require('promptls.window')

local M = {}

local namespace = vim.api.nvim_create_namespace('promptls.preview')
local MAX_SYNTAX_FILES = 8 -- syntax files loaded per preview; each one delays the preview
local FOOTER = 'y yank  o open  s send  ⏎ go there  ⇥ fold  R again  e edit  q close'

---@class promptls.PreviewSource
---@field question string
---@field client_id? integer The client that has built the prompt.
---@field encoding string
---@field roots string[] URIs of the workspace folders.
---@field rebuild? fun(in_background?: boolean) Builds the prompt again.
---@field in_background? boolean Whether the cursor stays in its window.
---@field edit? fun() Returns to the question.

---@class promptls.Preview
---@field bufnr integer
---@field window integer
---@field rendered promptls.RenderedPrompt
---@field result table
---@field source promptls.PreviewSource

---@type promptls.Preview?
local current

---@type table<integer, string[]> Buffer → fold levels.
local fold_levels = {}

--- Return the fold level of the current line: 'foldexpr' of previews.
---@return string
function M.foldexpr()
  return (fold_levels[vim.api.nvim_get_current_buf()] or {})[vim.v.lnum] or '0'
end

--- Return the text of a closed fold: 'foldtext' of previews.
---@return string
function M.foldtext()
  local first = vim.fn.getline(vim.v.foldstart)
  return ('%s  … %d lines'):format(first, vim.v.foldend - vim.v.foldstart)
end

--- Highlight quoted files with the syntax files of their languages.
---@param bufnr integer
---@param rendered promptls.RenderedPrompt
local function highlight_quoted_files(bufnr, rendered)
  local clusters, count = {}, 0
  vim.api.nvim_buf_call(bufnr, function()
    for _, quoted in ipairs(rendered.quoted_files) do
      local filetype = quoted.path ~= '' and vim.filetype.match({ filename = quoted.path }) or nil
      if filetype and clusters[filetype] == nil then
        clusters[filetype] = false
        local files = vim.api.nvim_get_runtime_file(('syntax/%s.vim'):format(filetype), false)
        if #files > 0 and count < MAX_SYNTAX_FILES and filetype:find('^%w+$') then
          count = count + 1
          clusters[filetype] = 'promptlsIn' .. filetype
          vim.b.current_syntax = nil
          pcall(vim.cmd, ('syntax include @%s syntax/%s.vim'):format(clusters[filetype], filetype))
        end
      end
      local cluster = filetype and clusters[filetype]
      if cluster then
        vim.cmd(
          ([[syntax region %sBlock start=/\%%%dl^/ end=/\%%%dl^/ keepend contains=@%s]]):format(
            cluster,
            quoted.first + 2,
            quoted.last + 1,
            cluster
          )
        )
      end
    end
    vim.cmd('syntax sync fromstart')
    vim.b.current_syntax = 'promptls-preview'
  end)
end

---@param bufnr integer
---@param rendered promptls.RenderedPrompt
local function write_buffer(bufnr, rendered)
  vim.bo[bufnr].modifiable = true
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, rendered.lines)
  vim.bo[bufnr].modifiable = false
  vim.api.nvim_buf_clear_namespace(bufnr, namespace, 0, -1)
  for _, highlight in ipairs(rendered.highlights) do
    local opts = { end_col = highlight.to, hl_group = highlight.group }
    vim.api.nvim_buf_set_extmark(bufnr, namespace, highlight.row, highlight.from, opts)
  end
  fold_levels[bufnr] = rendered.fold_levels
end

--- Close the preview.
function M.close()
  if current then
    window.close(current.window)
  end
end

--- Return the open preview, for tests and other plugins.
---@return promptls.Preview?
function M.current()
  return current
end

--- Copy the prompt to the registers.
function M.yank()
  if not current then
    return
  end
  consumers.yank(current.rendered.text)
  local tokens = current.result.tokens
  notify.info(('Copied the prompt (%s tokens) to the register %s.'):format(
    render.number(tokens.used),
    vim.fn.has('clipboard') == 1 and '+' or '"'
  ))
end

--- Open the prompt in a new buffer that can be edited and saved.
function M.open()
  if not current then
    return
  end
  local text = current.rendered.text
  M.close()
  vim.api.nvim_set_current_win(window.non_floating())
  vim.cmd('hide enew')
  local bufnr = vim.api.nvim_get_current_buf()
  vim.bo[bufnr].buftype = 'nofile'
  vim.bo[bufnr].bufhidden = 'hide'
  vim.bo[bufnr].swapfile = false
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, vim.split(text, '\n', { plain = true }))
  vim.bo[bufnr].filetype = 'markdown'
end

--- Send the prompt to a consumer.
---@param consumer? string
function M.send(consumer)
  if current then
    consumers.send(current.rendered.text, current.result, current.source.question, consumer, M.close)
  end
end

--- Go to the location that the line under the cursor refers to, or toggle its fold.
function M.jump()
  if not current then
    return
  end
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local location = current.rendered.locations[row]
  if not location then
    for _, quoted in ipairs(current.rendered.quoted_files) do
      if quoted.first <= row and row <= quoted.last then
        location = M.quoted_location(quoted, row)
      end
    end
  end
  if not location then
    pcall(vim.cmd, 'normal! za')
    return
  end
  local encoding = current.source.encoding
  if vim.startswith(location.uri, 'file:') then
    M.close()
  end
  window.jump(location, encoding)
end

--- Return the location of a line of a quoted file.
--- If lines were omitted inside the quotation, this is its first line.
---@param quoted promptls.QuotedFile
---@param row integer
---@return promptls.Location?
function M.quoted_location(quoted, row)
  if not current then
    return nil
  end
  for _, item in ipairs(current.result.items) do
    if item.path == quoted.path then
      local first = tonumber(current.rendered.lines[quoted.first + 1]:match(' lines="(%d+)'))
      local line = first and math.max(first - 1, first - 1 + row - quoted.first - 1) or item.range.start.line
      local is_complete = quoted.last - quoted.first - 1 == item.range['end'].line - item.range.start.line
      local start = { line = is_complete and line or (first or 1) - 1, character = 0 }
      return { uri = item.uri, range = { start = start, ['end'] = start } }
    end
  end
end

---@param bufnr integer
local function map_keys(bufnr)
  local function toggle_fold()
    pcall(vim.cmd, 'normal! za')
  end
  local function rebuild()
    if current and current.source.rebuild then
      current.source.rebuild()
    end
  end
  local function edit()
    local source = current and current.source
    M.close()
    if source and source.edit then
      source.edit()
    end
  end
  window.map_keys(bufnr, {
    y = { M.yank, desc = 'yank the prompt' },
    o = { M.open, desc = 'open the prompt in a buffer' },
    s = { M.send, desc = 'send the prompt to a consumer' },
    q = { M.close, desc = 'close' },
    R = { rebuild, desc = 'build the prompt again' },
    e = { edit, desc = 'edit the question' },
    ['<CR>'] = { M.jump, desc = 'go to the location on the line' },
    ['<Tab>'] = { toggle_fold, desc = 'open or close the fold' },
  })
end

--- Show a prompt in the preview window; an open preview is replaced.
---@param result table Result of `promptls/buildPrompt`.
---@param source promptls.PreviewSource
function M.show(result, source)
  local previous_window = vim.api.nvim_get_current_win()
  local opts = config.get().preview
  require('promptls.highlights').define()
  local existing = current and vim.api.nvim_win_is_valid(current.window) and current or nil
  local bufnr = existing and existing.bufnr or vim.api.nvim_create_buf(false, true)
  local preview_window = existing and existing.window
  if not preview_window then
    vim.bo[bufnr].bufhidden = 'wipe'
    preview_window = window.open(bufnr, opts, { title = 'Prompt', footer = FOOTER })
    map_keys(bufnr)
    vim.api.nvim_create_autocmd('BufWipeout', {
      buffer = bufnr,
      callback = function()
        fold_levels[bufnr] = nil
        if current and current.bufnr == bufnr then
          current = nil
        end
      end,
    })
  end
  vim.api.nvim_set_current_win(preview_window)
  local rendered = render.prompt(result, { width = vim.api.nvim_win_get_width(preview_window), roots = source.roots })
  current = { bufnr = bufnr, window = preview_window, rendered = rendered, result = result, source = source }
  vim.bo[bufnr].filetype = 'promptls-preview'
  write_buffer(bufnr, rendered)
  highlight_quoted_files(bufnr, rendered)
  local win = vim.wo[preview_window][0]
  win.foldmethod, win.foldexpr = 'expr', "v:lua.require'promptls.preview'.foldexpr()"
  win.foldtext, win.foldlevel, win.foldenable = "v:lua.require'promptls.preview'.foldtext()", 99, true
  win.fillchars, win.cursorline, win.wrap = 'fold: ,eob: ', true, true
  vim.api.nvim_win_set_cursor(preview_window, { 1, 0 })
  vim.cmd('normal! zx')
  for _, row in ipairs(rendered.closed_folds) do
    pcall(vim.cmd, ('%dfoldclose'):format(row + 1))
  end
  if source.in_background then
    vim.api.nvim_set_current_win(previous_window)
  end
end

vim.api.nvim_create_autocmd('User', {
  group = vim.api.nvim_create_augroup('promptls.preview', {}),
  pattern = 'PromptlsStatus',
  desc = 'build the shown prompt again once the index is complete',
  callback = function(event)
    local built = current and current.source.client_id == event.data.client_id and current.result.index
    if current and built and built.complete < 1 and event.data.status.complete == 1 and current.source.rebuild then
      built.complete = 1
      current.source.rebuild(true)
    end
  end,
})

return M
