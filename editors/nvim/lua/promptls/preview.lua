-- The preview: a prompt with what it costs, what is in it, what was left out, and the keys that go with it.

local config = require('promptls.config')
local consumers = require('promptls.consumers')
local render = require('promptls.render')
local tell = require('promptls.tell')
local window = require('promptls.window')

local M = {}

local namespace = vim.api.nvim_create_namespace('promptls.preview')
local LANGUAGES = 8 -- syntax files that one preview loads at most

---@class promptls.PreviewSource
---@field question string
---@field encoding string
---@field roots string[] URIs of the workspace's folders.
---@field again? fun() Build once more.
---@field edit? fun() Go back to the question.

---@type {bufnr: integer, window: integer, rendered: promptls.Rendered, result: table, source: promptls.PreviewSource}?
local current

---@type table<integer, string[]> Buffer → fold levels.
local levels = {}

--- 'foldexpr' of previews.
---@return string
function M.level()
  return (levels[vim.api.nvim_get_current_buf()] or {})[vim.v.lnum] or '0'
end

--- 'foldtext' of previews.
---@return string
function M.foldtext()
  local first = vim.fn.getline(vim.v.foldstart)
  return ('%s  … %d lines'):format(first, vim.v.foldend - vim.v.foldstart)
end

--- Colour quoted files by the syntax of their languages.
---@param bufnr integer
---@param rendered promptls.Rendered
local function colour(bufnr, rendered)
  local clusters, count = {}, 0
  vim.api.nvim_buf_call(bufnr, function()
    for _, block in ipairs(rendered.blocks) do
      local filetype = block.path ~= '' and vim.filetype.match({ filename = block.path }) or nil
      if filetype and clusters[filetype] == nil then
        clusters[filetype] = false
        local files = vim.api.nvim_get_runtime_file(('syntax/%s.vim'):format(filetype), false)
        if #files > 0 and count < LANGUAGES and filetype:find('^%w+$') then
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
            block.first + 2,
            block.last + 1,
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
---@param rendered promptls.Rendered
local function draw(bufnr, rendered)
  vim.bo[bufnr].modifiable = true
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, rendered.lines)
  vim.bo[bufnr].modifiable = false
  vim.api.nvim_buf_clear_namespace(bufnr, namespace, 0, -1)
  for _, mark in ipairs(rendered.marks) do
    vim.api.nvim_buf_set_extmark(bufnr, namespace, mark.row, mark.from, { end_col = mark.to, hl_group = mark.group })
  end
  levels[bufnr] = rendered.levels
end

function M.close()
  if current then
    window.close(current.window)
  end
end

--- The preview that is open, for tests and for other plugins.
---@return {bufnr: integer, window: integer, rendered: promptls.Rendered, result: table}?
function M.current()
  return current
end

function M.yank()
  if not current then
    return
  end
  consumers.yank(current.rendered.text)
  local tokens = current.result.tokens
  tell.info(('The prompt (%s tokens) is in the register %s.'):format(
    tell.number(tokens.used),
    vim.fn.has('clipboard') == 1 and '+' or '"'
  ))
end

--- The prompt as a buffer that can be edited and saved.
function M.open()
  if not current then
    return
  end
  local text = current.rendered.text
  M.close()
  vim.api.nvim_set_current_win(window.ground())
  vim.cmd('hide enew')
  local bufnr = vim.api.nvim_get_current_buf()
  vim.bo[bufnr].buftype = 'nofile'
  vim.bo[bufnr].bufhidden = 'hide'
  vim.bo[bufnr].swapfile = false
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, vim.split(text, '\n', { plain = true }))
  vim.bo[bufnr].filetype = 'markdown'
end

---@param consumer? string
function M.send(consumer)
  if current then
    consumers.send(current.rendered.text, current.result, current.source.question, consumer, M.close)
  end
end

--- Go to what the line under the cursor names; else close or open the fold.
function M.jump()
  if not current then
    return
  end
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local target = current.rendered.jumps[row]
  if not target then
    for _, block in ipairs(current.rendered.blocks) do
      if block.first <= row and row <= block.last then
        target = M.target_of(block, row)
      end
    end
  end
  if not target then
    pcall(vim.cmd, 'normal! za')
    return
  end
  local encoding = current.source.encoding
  if vim.startswith(target.uri, 'file:') then
    M.close()
  end
  window.jump(target, encoding)
end

--- The place in a file that a line of a quoted part stands for, as far as its fence tells.
---@param block promptls.Block
---@param row integer
---@return promptls.Location?
function M.target_of(block, row)
  if not current then
    return nil
  end
  for _, item in ipairs(current.result.items) do
    if item.path == block.path then
      local first = tonumber(current.rendered.lines[block.first + 1]:match(' lines="(%d+)'))
      local line = first and math.max(first - 1, first - 1 + row - block.first - 1) or item.range.start.line
      local whole = block.last - block.first - 1 == item.range['end'].line - item.range.start.line
      local at = { line = whole and line or (first or 1) - 1, character = 0 }
      return { uri = item.uri, range = { start = at, ['end'] = at } }
    end
  end
end

local footer = 'y yank  o open  s send  ⏎ go there  ⇥ fold  R again  e edit  q close'

---@param bufnr integer
local function keys(bufnr)
  local function fold()
    pcall(vim.cmd, 'normal! za')
  end
  local function again()
    if current and current.source.again then
      current.source.again()
    end
  end
  local function edit()
    local source = current and current.source
    M.close()
    if source and source.edit then
      source.edit()
    end
  end
  window.keys(bufnr, {
    y = { M.yank, desc = 'yank the prompt' },
    o = { M.open, desc = 'open the prompt as a buffer' },
    s = { M.send, desc = 'send the prompt on' },
    q = { M.close, desc = 'close' },
    R = { again, desc = 'build again' },
    e = { edit, desc = 'edit the question' },
    ['<CR>'] = { M.jump, desc = 'go to what the line names' },
    ['<Tab>'] = { fold, desc = 'open or close the fold' },
  })
end

--- Show a prompt.
---@param result table The answer to `promptls/buildPrompt`.
---@param source promptls.PreviewSource
function M.show(result, source)
  local opts = config.get().preview
  require('promptls.highlights').define()
  local known = current and vim.api.nvim_win_is_valid(current.window) and current or nil
  local bufnr = known and known.bufnr or vim.api.nvim_create_buf(false, true)
  local opened = known and known.window
  if not opened then
    vim.bo[bufnr].bufhidden = 'wipe'
    opened = window.open(bufnr, opts, { title = 'Prompt', footer = footer })
    keys(bufnr)
    vim.api.nvim_create_autocmd('BufWipeout', {
      buffer = bufnr,
      callback = function()
        levels[bufnr] = nil
        if current and current.bufnr == bufnr then
          current = nil
        end
      end,
    })
  end
  vim.api.nvim_set_current_win(opened)
  local rendered = render.prompt(result, { width = vim.api.nvim_win_get_width(opened), roots = source.roots })
  current = { bufnr = bufnr, window = opened, rendered = rendered, result = result, source = source }
  vim.bo[bufnr].filetype = 'promptls-preview'
  draw(bufnr, rendered)
  colour(bufnr, rendered)
  local win = vim.wo[opened][0]
  win.foldmethod, win.foldexpr = 'expr', "v:lua.require'promptls.preview'.level()"
  win.foldtext, win.foldlevel, win.foldenable = "v:lua.require'promptls.preview'.foldtext()", 99, true
  win.fillchars, win.cursorline, win.wrap = 'fold: ,eob: ', true, true
  vim.api.nvim_win_set_cursor(opened, { 1, 0 })
  vim.cmd('normal! zx')
  for _, row in ipairs(rendered.closed) do
    pcall(vim.cmd, ('%dfoldclose'):format(row + 1))
  end
end

return M
