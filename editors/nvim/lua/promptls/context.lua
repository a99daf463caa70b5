-- What the editor knows, as the server's `context`: a little with every request, the rest only when asked.

local config = require('promptls.config')
local documents = require('promptls.documents')

local M = {}

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

--- A table that is an object on the wire even when it is empty.
---@param values table
---@return table
function M.object(values)
  return next(values) and values or vim.empty_dict()
end

--- A place in a buffer as the server counts; lines and columns from 0, columns in bytes.
---@param bufnr integer
---@param line integer
---@param column integer
---@param encoding string
---@return promptls.Position
function M.position(bufnr, line, column, encoding)
  local text = vim.api.nvim_buf_get_lines(bufnr, line, line + 1, false)[1] or ''
  column = math.max(0, math.min(column, #text))
  return { line = line, character = vim.str_utfindex(text, encoding, column, false) }
end

---@param bufnr integer
---@param first integer From 0.
---@param last integer From 0, inclusive.
---@param encoding string
---@return promptls.Location
function M.lines(bufnr, first, last, encoding)
  return {
    uri = vim.uri_from_bufnr(bufnr),
    range = { start = { line = first, character = 0 }, ['end'] = M.position(bufnr, last, math.huge, encoding) },
  }
end

local selected = vim.api.nvim_create_namespace('promptls.selected')

--- Hold on to lines of a buffer: they move with what is edited above them.
---@param bufnr integer
---@param first integer From 0.
---@param last integer From 0, inclusive.
---@return {bufnr: integer, mark: integer}
function M.hold(bufnr, first, last)
  local mark = vim.api.nvim_buf_set_extmark(bufnr, selected, first, 0, { end_row = last, end_right_gravity = true })
  return { bufnr = bufnr, mark = mark }
end

--- Where lines that were held are now.
---@param held {bufnr: integer, mark: integer}
---@param encoding string
---@return promptls.Location?
function M.held(held, encoding)
  if not vim.api.nvim_buf_is_loaded(held.bufnr) then
    return nil
  end
  local mark = vim.api.nvim_buf_get_extmark_by_id(held.bufnr, selected, held.mark, { details = true })
  return mark[1] and M.lines(held.bufnr, mark[1], mark[3].end_row, encoding) or nil
end

---@type table<integer, {bufnr: integer, mark: integer}> Prompt → lines that it is about.
M.about = {}

--- What is selected: the lines that the question in front is about, else what is selected now, in Visual mode, or
--- was last, in the file in front.
---@param encoding string
---@param now_only? boolean
---@return promptls.Location?
local function selection(encoding, now_only)
  local held = not now_only and M.about[vim.api.nvim_get_current_buf()]
  if held then
    return M.held(held, encoding)
  end
  local front = documents.front()
  if not front then
    return nil
  end
  if vim.api.nvim_get_current_buf() == front and vim.fn.mode():find('^[vV\22]') then
    local a, b = vim.fn.line('v') - 1, vim.fn.line('.') - 1
    return M.lines(front, math.min(a, b), math.max(a, b), encoding)
  end
  if now_only then
    return nil
  end
  local first = vim.api.nvim_buf_get_mark(front, '<')[1]
  local last = vim.api.nvim_buf_get_mark(front, '>')[1]
  return first > 0 and last >= first and M.lines(front, first - 1, last - 1, encoding) or nil
end

---@param bufnrs integer[]
local function uris(bufnrs)
  return vim.tbl_map(vim.uri_from_bufnr, bufnrs)
end

---@return integer[]
local function visible()
  local found, seen = {}, {}
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local bufnr = vim.api.nvim_win_get_buf(window)
    if not seen[bufnr] and documents.is_file(bufnr) and not documents.is_prompt(bufnr) then
      seen[bufnr] = true
      found[#found + 1] = bufnr
    end
  end
  return found
end

---@param encoding string
local function diagnostics(encoding)
  local out = {}
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    local found = {}
    if vim.api.nvim_buf_is_loaded(bufnr) and documents.is_file(bufnr) then
      for _, one in ipairs(vim.diagnostic.get(bufnr)) do
        if one.source ~= 'promptls' then
          local last, behind = one.end_lnum or one.lnum, one.end_col or one.col
          found[#found + 1] = {
            range = {
              start = M.position(bufnr, one.lnum, one.col, encoding),
              ['end'] = M.position(bufnr, last, behind, encoding),
            },
            message = one.message,
            severity = one.severity,
            code = one.code,
            source = one.source,
          }
        end
      end
    end
    if #found > 0 then
      out[#out + 1] = { uri = vim.uri_from_bufnr(bufnr), diagnostics = found }
    end
  end
  return out
end

--- The last lines of the terminal used last.
local function terminal()
  local newest = documents.recent(function(bufnr)
    return vim.bo[bufnr].buftype == 'terminal'
  end)[1]
  if not newest then
    return nil
  end
  local lines = vim.api.nvim_buf_get_lines(newest, 0, -1, false)
  while #lines > 0 and lines[#lines]:find('^%s*$') do
    lines[#lines] = nil
  end
  return table.concat(lines, '\n', math.max(1, #lines - config.get().terminal_lines + 1))
end

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
      local place = { uri = vim.uri_from_bufnr(item.bufnr) }
      if vim.api.nvim_buf_is_loaded(item.bufnr) then
        place = M.lines(item.bufnr, first, last, encoding)
      else -- its text is not at hand: up to the beginning of the next line
        place.range = { start = { line = first, character = 0 }, ['end'] = { line = last + 1, character = 0 } }
      end
      out[#out + 1] = place
    end
  end
  return out
end

--- What goes with every request.
---@param encoding string
---@param held? {bufnr: integer, mark: integer} Lines that the question is about.
---@return promptls.Context
function M.base(encoding, held)
  local open = documents.open()
  local out = { openDocuments = uris(open), visibleDocuments = uris(visible()) }
  out.activeDocument = open[1] and vim.uri_from_bufnr(open[1]) or nil
  out.selection = held and M.held(held, encoding) or selection(encoding, true)
  return out
end

---@type fun(): {role: string, content: string}[]?
M.history = function() end

--- What the server asks for by name (`promptls/clientContext`).
---@type table<string, {field: string, get: fun(encoding: string): any}>
local kinds = {
  diagnostics = { field = 'diagnostics', get = diagnostics },
  terminal = { field = 'terminal', get = terminal },
  clipboard = { field = 'clipboard', get = clipboard },
  quickfix = { field = 'quickfix', get = quickfix },
  selection = { field = 'selection', get = selection },
  history = {
    field = 'history',
    get = function()
      return M.history()
    end,
  },
  activeDocument = {
    field = 'activeDocument',
    get = function()
      local front = documents.front()
      return front and vim.uri_from_bufnr(front)
    end,
  },
  openDocuments = {
    field = 'openDocuments',
    get = function()
      return uris(documents.open())
    end,
  },
  visibleDocuments = {
    field = 'visibleDocuments',
    get = function()
      return uris(visible())
    end,
  },
}
kinds.problems, kinds.active, kinds.open, kinds.visible =
  kinds.diagnostics, kinds.activeDocument, kinds.openDocuments, kinds.visibleDocuments

--- The answer to `promptls/clientContext`.
---@param wanted string[]
---@param encoding string
---@return promptls.Context
function M.answer(wanted, encoding)
  local out = {}
  for _, name in ipairs(wanted) do
    local kind = kinds[name]
    if kind then
      out[kind.field] = kind.get(encoding)
    end
  end
  return M.object(out)
end

return M
