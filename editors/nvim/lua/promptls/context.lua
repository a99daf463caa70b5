-- Client context: the state of the editor sent to the server. A part accompanies every request; the rest is sent only
-- when the server requests it.

local documents = require('promptls.documents')

local M = {}

local MAX_TERMINAL_LINES = 200 -- a failing test run fits; the server shortens it to the budget

---@class promptls.Position
---@field line integer
---@field character integer

---@class promptls.Range
---@field start promptls.Position
---@field end promptls.Position

---@class promptls.Location
---@field uri string
---@field range promptls.Range

---@class promptls.Context
---@field activeDocument? string
---@field selection? promptls.Location
---@field openDocuments? string[]
---@field visibleDocuments? string[]
---@field diagnostics? {uri: string, diagnostics: table[]}[]
---@field terminal? string
---@field clipboard? string
---@field quickfix? promptls.Location[]
---@field history? {role: string, content: string}[]

---@class promptls.TrackedLines
---@field bufnr integer
---@field mark integer Extmark that follows edits.

--- Return a table that is encoded as a JSON object even when it is empty.
---@param values table
---@return table
function M.as_object(values)
  return next(values) and values or vim.empty_dict()
end

--- Convert a position in a buffer to an LSP position.
---@param bufnr integer
---@param line integer 0-based.
---@param column integer 0-based, in bytes.
---@param encoding string
---@return promptls.Position
function M.position(bufnr, line, column, encoding)
  local text = vim.api.nvim_buf_get_lines(bufnr, line, line + 1, false)[1] or ''
  column = math.max(0, math.min(column, #text))
  return { line = line, character = vim.str_utfindex(text, encoding, column, false) }
end

--- Return the location of lines in a buffer.
---@param bufnr integer
---@param first integer 0-based.
---@param last integer 0-based, inclusive.
---@param encoding string
---@return promptls.Location
function M.lines_location(bufnr, first, last, encoding)
  return {
    uri = vim.uri_from_bufnr(bufnr),
    range = { start = { line = first, character = 0 }, ['end'] = M.position(bufnr, last, math.huge, encoding) },
  }
end

local namespace = vim.api.nvim_create_namespace('promptls.selected')

--- Track lines of a buffer with an extmark, so that they follow edits.
---@param bufnr integer
---@param first integer 0-based.
---@param last integer 0-based, inclusive.
---@return promptls.TrackedLines
function M.track_lines(bufnr, first, last)
  local mark = vim.api.nvim_buf_set_extmark(bufnr, namespace, first, 0, { end_row = last, end_right_gravity = true })
  return { bufnr = bufnr, mark = mark }
end

--- Return the current location of tracked lines; nil if the buffer is gone.
---@param tracked promptls.TrackedLines
---@param encoding string
---@return promptls.Location?
function M.tracked_location(tracked, encoding)
  if not vim.api.nvim_buf_is_loaded(tracked.bufnr) then
    return nil
  end
  local mark = vim.api.nvim_buf_get_extmark_by_id(tracked.bufnr, namespace, tracked.mark, { details = true })
  return mark[1] and M.lines_location(tracked.bufnr, mark[1], mark[3].end_row, encoding) or nil
end

---@type table<integer, promptls.TrackedLines> Prompt document → lines that the question is about.
M.tracked_lines = {}

--- Return the selection: the lines that the current question is about, else the Visual selection of the active file,
--- else its last Visual selection.
---@param encoding string
---@param current_only? boolean Return only an active Visual selection.
---@return promptls.Location?
local function selection(encoding, current_only)
  local tracked = not current_only and M.tracked_lines[vim.api.nvim_get_current_buf()]
  if tracked then
    return M.tracked_location(tracked, encoding)
  end
  local file = documents.active_file()
  if not file then
    return nil
  end
  if vim.api.nvim_get_current_buf() == file and vim.fn.mode():find('^[vV\22]') then
    local a, b = vim.fn.line('v') - 1, vim.fn.line('.') - 1
    return M.lines_location(file, math.min(a, b), math.max(a, b), encoding)
  end
  if current_only then
    return nil
  end
  local first = vim.api.nvim_buf_get_mark(file, '<')[1]
  local last = vim.api.nvim_buf_get_mark(file, '>')[1]
  return first > 0 and last >= first and M.lines_location(file, first - 1, last - 1, encoding) or nil
end

---@param bufnrs integer[]
local function uris(bufnrs)
  return vim.tbl_map(vim.uri_from_bufnr, bufnrs)
end

---@return integer[]
local function visible_files()
  local files, seen = {}, {}
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local bufnr = vim.api.nvim_win_get_buf(window)
    if not seen[bufnr] and documents.is_file(bufnr) and not documents.is_prompt(bufnr) then
      seen[bufnr] = true
      files[#files + 1] = bufnr
    end
  end
  return files
end

--- Return the diagnostics of other language servers and linters, by file.
---@param encoding string
local function diagnostics(encoding)
  local out = {}
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    local converted = {}
    if vim.api.nvim_buf_is_loaded(bufnr) and documents.is_file(bufnr) then
      for _, diagnostic in ipairs(vim.diagnostic.get(bufnr)) do
        if diagnostic.source ~= 'promptls' then
          local end_line, end_column = diagnostic.end_lnum or diagnostic.lnum, diagnostic.end_col or diagnostic.col
          converted[#converted + 1] = {
            range = {
              start = M.position(bufnr, diagnostic.lnum, diagnostic.col, encoding),
              ['end'] = M.position(bufnr, end_line, end_column, encoding),
            },
            message = diagnostic.message,
            severity = diagnostic.severity,
            code = diagnostic.code,
            source = diagnostic.source,
          }
        end
      end
    end
    if #converted > 0 then
      out[#out + 1] = { uri = vim.uri_from_bufnr(bufnr), diagnostics = converted }
    end
  end
  return out
end

--- Return the last lines of the most recently used terminal.
local function terminal()
  local newest = documents.most_recent(function(bufnr)
    return vim.bo[bufnr].buftype == 'terminal'
  end)[1]
  if not newest then
    return nil
  end
  local lines = vim.api.nvim_buf_get_lines(newest, 0, -1, false)
  while #lines > 0 and lines[#lines]:find('^%s*$') do
    lines[#lines] = nil
  end
  return table.concat(lines, '\n', math.max(1, #lines - MAX_TERMINAL_LINES + 1))
end

--- Return the clipboard, or the unnamed register without a clipboard.
local function clipboard()
  local text = vim.fn.has('clipboard') == 1 and vim.fn.getreg('+') or ''
  return text ~= '' and text or vim.fn.getreg('"')
end

---@param encoding string
local function quickfix(encoding)
  local out = {}
  for _, item in ipairs(vim.fn.getqflist()) do
    if item.valid == 1 and item.bufnr > 0 and vim.api.nvim_buf_get_name(item.bufnr) ~= '' then
      local first = math.max(0, item.lnum - 1)
      local last = math.max(first, item.end_lnum - 1)
      local location = { uri = vim.uri_from_bufnr(item.bufnr) }
      if vim.api.nvim_buf_is_loaded(item.bufnr) then
        location = M.lines_location(item.bufnr, first, last, encoding)
      else -- the text is not loaded: the range ends at the start of the next line
        location.range = { start = { line = first, character = 0 }, ['end'] = { line = last + 1, character = 0 } }
      end
      out[#out + 1] = location
    end
  end
  return out
end

--- Return the context sent with every request.
---@param encoding string
---@param tracked? promptls.TrackedLines Lines that the question is about.
---@return promptls.Context
function M.request_context(encoding, tracked)
  local open = documents.open_files()
  local out = { openDocuments = uris(open), visibleDocuments = uris(visible_files()) }
  out.activeDocument = open[1] and vim.uri_from_bufnr(open[1]) or nil
  out.selection = tracked and M.tracked_location(tracked, encoding) or selection(encoding, true)
  return out
end

---@type fun(): {role: string, content: string}[]? Conversation history; replaceable by chat plugins.
M.history = function() end

--- Fields of the context that the server can request.
---@type table<string, fun(encoding: string): any>
local fields = {
  diagnostics = diagnostics,
  terminal = terminal,
  clipboard = clipboard,
  quickfix = quickfix,
  selection = selection,
  history = function()
    return M.history()
  end,
  activeDocument = function()
    local file = documents.active_file()
    return file and vim.uri_from_bufnr(file)
  end,
  openDocuments = function()
    return uris(documents.open_files())
  end,
  visibleDocuments = function()
    return uris(visible_files())
  end,
}

--- Return the response to a `promptls/clientContext` request.
---@param names string[] Requested fields; unknown names are ignored.
---@param encoding string
---@return promptls.Context
function M.client_context(names, encoding)
  local out = {}
  for _, name in ipairs(names) do
    out[name] = fields[name] and fields[name](encoding)
  end
  return M.as_object(out)
end

return M
