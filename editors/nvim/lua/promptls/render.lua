-- A prompt as lines, colours, folds and places to jump to.  Pure: from the server's answer to data, no windows.

local tell = require('promptls.tell')

local M = {}

---@class promptls.Mark
---@field row integer From 0.
---@field from integer Byte.
---@field to integer Byte, -1 for the end of the line.
---@field group string

---@class promptls.Block
---@field first integer Row of the opening fence.
---@field last integer Row of the closing fence.
---@field path string

---@class promptls.Rendered
---@field lines string[]
---@field marks promptls.Mark[]
---@field levels string[] Value of 'foldexpr' for each line.
---@field closed integer[] Rows whose folds are closed at first.
---@field jumps table<integer, promptls.Location> Row → place.
---@field prompt integer Row at which the prompt begins.
---@field text string The prompt alone.
---@field blocks promptls.Block[] Quoted files.

local Canvas = {}
Canvas.__index = Canvas

---@param level? string
function Canvas:line(chunks, level)
  local text, row = '', #self.lines
  for _, chunk in ipairs(type(chunks) == 'string' and { { chunks } } or chunks) do
    local piece = (chunk[1]:gsub('[\r\n]+', ' '))
    if chunk[2] and piece ~= '' then
      table.insert(self.marks, { row = row, from = #text, to = #text + #piece, group = chunk[2] })
    end
    text = text .. piece
  end
  self.lines[row + 1] = text
  self.levels[row + 1] = level or '='
  return row
end

---@param text string
---@param width integer
local function pad(text, width)
  return text .. (' '):rep(width - vim.fn.strdisplaywidth(text))
end

---@param text string
---@param width integer
local function right(text, width)
  return (' '):rep(width - vim.fn.strdisplaywidth(text)) .. text
end

--- A text cut to a width, its end kept: of a path the end says most.
---@param text string
---@param width integer
local function fit(text, width)
  if vim.fn.strdisplaywidth(text) <= width then
    return text
  end
  for skip = 1, vim.fn.strchars(text) do
    local cut = '…' .. vim.fn.strcharpart(text, skip)
    if vim.fn.strdisplaywidth(cut) <= width then
      return cut
    end
  end
  return ''
end

local groups = {
  context = 'PromptlsContext',
  instructions = 'PromptlsInstructions',
  question = 'PromptlsQuestion',
  task = 'PromptlsTask',
  history = 'PromptlsHistory',
  rules = 'PromptlsRules',
  memory = 'PromptlsMemory',
  architecture = 'PromptlsArchitecture',
  team = 'PromptlsTeam',
  frame = 'PromptlsFrame',
}

--- Sections by what they cost, the dearest first; "frame" is what holds them together and comes last.
---@param sections table<string, integer>
---@return {name: string, tokens: integer, group: string}[]
local function ordered(sections)
  local out = {}
  for name, tokens in pairs(sections) do
    out[#out + 1] = { name = name, tokens = tokens, group = groups[name] or 'PromptlsOther' }
  end
  table.sort(out, function(a, b)
    if (a.name == 'frame') ~= (b.name == 'frame') then
      return b.name == 'frame'
    end
    return a.tokens == b.tokens and a.name < b.name or a.tokens > b.tokens
  end)
  return out
end

---@param tokens {budget: integer, used: integer, counter: string, exact: boolean, sections: table<string, integer>}
local function header(canvas, tokens, trace, width)
  local over = tokens.used > tokens.budget
  canvas:line({
    { ' ' },
    { tell.number(tokens.used), over and 'DiagnosticError' or 'PromptlsTitle' },
    { (' of %s tokens (%s%s)'):format(tell.number(tokens.budget), tokens.counter, tokens.exact and ', exact' or '') },
  })
  if trace and trace ~= '' then
    canvas:line({ { ' ' .. trace, 'PromptlsDim' } })
  end
  local cells = math.max(10, width - 2)
  local bar, legend, filled = { { ' ' } }, { { ' ' } }, 0
  for _, section in ipairs(ordered(tokens.sections)) do
    local share = math.floor(section.tokens / math.max(tokens.budget, tokens.used, 1) * cells + 0.5)
    if section.tokens > 0 then
      share = math.min(math.max(share, 1), cells - filled)
      filled = filled + share
      bar[#bar + 1] = { ('█'):rep(share), section.group }
      legend[#legend + 1] = { '■ ', section.group }
      legend[#legend + 1] = { ('%s %s  '):format(section.name, tell.number(section.tokens)) }
    end
  end
  bar[#bar + 1] = { ('░'):rep(cells - filled), 'PromptlsDim' }
  legend[#legend + 1] = { '□ ', 'PromptlsDim' }
  legend[#legend + 1] = { 'free ' .. tell.number(math.max(0, tokens.budget - tokens.used)) }
  canvas:line(bar)
  -- A legend that is wider than the window goes on in the next line, whole entries at a time.
  local row, used = {}, 0
  for i = 1, #legend do
    local chunk = legend[i]
    local starts = chunk[2] ~= nil
    local entry = vim.fn.strdisplaywidth(chunk[1] .. (starts and legend[i + 1] and legend[i + 1][1] or ''))
    if starts and used + entry > cells and used > 1 then
      canvas:line(row)
      row, used = { { ' ' } }, 1
    end
    row[#row + 1] = chunk
    used = used + vim.fn.strdisplaywidth(chunk[1])
  end
  canvas:line(row)
end

---@param path string
---@param range? promptls.Range Whole lines.
local function place(path, range)
  if not range then
    return path
  end
  local first, last = range.start.line + 1, math.max(range.start.line + 1, range['end'].line)
  return first == last and ('%s:%d'):format(path, first) or ('%s:%d-%d'):format(path, first, last)
end
M.place = place

--- The path of a file as it is shown: relative to the workspace where the answer says so.
---@param uri string
---@param paths table<string, string> URI → path.
---@param roots string[] URIs of the workspace's folders.
local function shown(uri, paths, roots)
  if paths[uri] then
    return paths[uri]
  end
  for _, root in ipairs(roots) do
    if vim.startswith(uri, root .. '/') then
      return vim.uri_decode(uri:sub(#root + 2))
    end
  end
  return vim.uri_decode((uri:gsub('^file://', ''):gsub('^promptls:', '')))
end

local function section(canvas, title, count)
  canvas:line('', '0')
  return canvas:line({ { (' %s: %d'):format(title, count), 'PromptlsTitle' } }, '>1')
end

---@param range? promptls.Range
---@param uri string
local function location(uri, range)
  local start = range and range.start or { line = 0, character = 0 }
  return { uri = uri, range = { start = start, ['end'] = start } }
end

local signs = {
  included = { '✓', 'DiagnosticOk' },
  partial = { '◐', 'DiagnosticWarn' },
  omitted = { '○', 'DiagnosticWarn' },
  ambiguous = { '?', 'DiagnosticWarn' },
  unresolved = { '✗', 'DiagnosticError' },
  refused = { '⊘', 'DiagnosticError' },
}

local function items(canvas, result, width)
  if #result.items == 0 then
    return
  end
  section(canvas, 'In the prompt', #result.items)
  local room = math.max(20, width - 34)
  for _, item in ipairs(result.items) do
    local where = place(item.path, item.range)
    local symbols = item.symbol and { item.symbol } or {}
    for _, one in ipairs(item.joined or {}) do
      if not item.symbol and one.symbol ~= '' then
        table.insert(symbols, one.symbol)
      end
    end
    local symbol = #symbols > 0 and '  ' .. table.concat(symbols, ', ') or ''
    local left, at = where .. symbol, #where
    if vim.fn.strdisplaywidth(left) > room then
      symbol = vim.fn.strcharpart(symbol, 0, math.max(0, room - vim.fn.strdisplaywidth(where) - 1)) .. '…'
      left = fit(#symbol > 5 and where .. symbol or where, room)
      at = #symbol > 5 and #where or #left
    end
    local row = canvas:line({
      { ' ' .. pad(item.citation or '', 4), 'PromptlsDim' },
      { left:sub(1, at), 'PromptlsPath' },
      { left:sub(at + 1), 'PromptlsSymbol' },
      { (' '):rep(room - vim.fn.strdisplaywidth(left)) },
      { ' ' .. pad(item.form, 9) .. ' ' .. pad(item.origin, 9), 'PromptlsDim' },
      { right(tell.number(item.tokens), 7), 'PromptlsNumber' },
    }, '1')
    canvas.jumps[row] = location(item.uri, item.range)
  end
end

local function omitted(canvas, result, paths, roots)
  if #result.omitted == 0 then
    return
  end
  table.insert(canvas.closed, section(canvas, 'Left out', #result.omitted))
  for _, one in ipairs(result.omitted) do
    local row = canvas:line({
      { '     ' },
      { place(shown(one.uri, paths, roots), one.range), 'PromptlsPath' },
      { '  ' .. one.reason, 'PromptlsDim' },
      { one.tokens > 0 and ('  %s tokens'):format(tell.number(one.tokens)) or '', 'PromptlsNumber' },
    }, '1')
    canvas.jumps[row] = location(one.uri, one.range)
  end
end

local function mentions(canvas, result)
  if #result.mentions == 0 then
    return
  end
  section(canvas, 'Mentions', #result.mentions)
  for _, one in ipairs(result.mentions) do
    local sign = signs[one.status] or { '·', 'PromptlsDim' }
    local row = canvas:line({
      { ' ' .. sign[1] .. '   ', sign[2] },
      { one.text, 'PromptlsMention' },
      { one.tokens > 0 and ('  %s tokens'):format(tell.number(one.tokens)) or '', 'PromptlsNumber' },
      { one.status ~= 'included' and '  ' .. one.status or '', sign[2] },
      { one.anchor and '  ' .. one.anchor or '', 'DiagnosticWarn' },
      { one.reason ~= '' and '  ' .. one.reason or '', 'PromptlsDim' },
      { one.suggestion and '  Did you mean ' .. one.suggestion .. '?' or '' },
    }, '1')
    local target = one.targets[1]
    if target then
      canvas.jumps[row] = location(target.uri, target.range)
    end
    for _, candidate in ipairs(one.candidates or {}) do
      canvas:line({ { '       ' .. candidate, 'PromptlsDim' } }, '1')
    end
  end
end

local function warnings(canvas, result)
  local index = result.index
  local notes = vim.list_slice(result.warnings or {})
  if index and index.state ~= 'ready' then
    table.insert(notes, 1, ('The index is %s (%d %%): %s'):format(index.state, index.complete * 100, index.message))
  end
  if #notes == 0 then
    return
  end
  section(canvas, 'Warnings', #notes)
  for _, note in ipairs(notes) do
    canvas:line({ { ' !   ', 'DiagnosticWarn' }, { note } }, '1')
  end
end

--- The lines of a prompt with their folds: headings, and below them quoted files.  Only a fence that is closed
--- by the same name counts, so that nothing in a quoted file can pass for one.
local function prompt_lines(canvas, text, blocks)
  local lines = vim.split(text, '\n', { plain = true })
  local closing = {} ---@type table<integer, integer>
  local i = 1
  while i <= #lines do
    local name = lines[i]:match('^<context%-(%w+)[ >]')
    if name and not lines[i]:find('/>$') then
      for j = i + 1, #lines do
        if lines[j] == ('</context-%s>'):format(name) then
          closing[i], i = j, j
          break
        end
      end
    end
    i = i + 1
  end
  local last = 0
  for n, line in ipairs(lines) do
    if closing[n] then
      last = closing[n]
      local row = canvas:line({ { line, 'PromptlsFence' } }, '>2')
      blocks[#blocks + 1] = {
        first = row,
        last = row + last - n,
        path = line:match(' path="([^"]*)"') or '',
      }
    elseif n == last then
      canvas:line({ { line, 'PromptlsFence' } }, '<2')
    elseif n < last then
      canvas:line(line, '2')
    elseif line:find('^# ') then
      canvas:line({ { line, 'PromptlsTitle' } }, '>1')
    elseif line:find('^Boundary: %w+$') then
      canvas:line({ { line, 'PromptlsFence' } }, '1')
    else
      canvas:line(line, n == 1 and '>1' or '1')
    end
  end
end

--- The text of a prompt, whichever form it was asked for in.
---@param result table
---@return string
function M.text(result)
  if result.prompt then
    return result.prompt
  end
  return table.concat(
    vim.tbl_map(function(message)
      return message.content
    end, result.messages or {}),
    '\n\n'
  )
end

--- A prompt as it is shown.
---@param result table The answer to `promptls/buildPrompt`.
---@param opts? {width?: integer, roots?: string[]}
---@return promptls.Rendered
function M.prompt(result, opts)
  opts = opts or {}
  local width = opts.width or 80
  local canvas = setmetatable({ lines = {}, marks = {}, levels = {}, jumps = {}, closed = {} }, Canvas)
  local paths = {}
  for _, item in ipairs(result.items) do
    paths[item.uri] = item.path
  end
  header(canvas, result.tokens, result.trace and result.trace.line, width)
  mentions(canvas, result)
  items(canvas, result, width)
  omitted(canvas, result, paths, opts.roots or {})
  warnings(canvas, result)
  canvas:line('', '0')
  canvas:line({ { ('─'):rep(width), 'PromptlsDim' } }, '0')
  local blocks, first = {}, #canvas.lines
  if result.prompt then
    prompt_lines(canvas, result.prompt, blocks)
  else
    for _, message in ipairs(result.messages or {}) do
      canvas:line({ { ('── %s '):format(message.role), 'PromptlsTitle' } }, '0')
      prompt_lines(canvas, message.content, blocks)
    end
  end
  return {
    lines = canvas.lines,
    marks = canvas.marks,
    levels = canvas.levels,
    closed = canvas.closed,
    jumps = canvas.jumps,
    prompt = first,
    text = M.text(result),
    blocks = blocks,
  }
end

--- A hit of a search as one line.
---@param hit table
---@return string
function M.hit(hit)
  local why = {}
  for name, value in pairs(hit.reasons or {}) do
    why[#why + 1] = { name, value }
  end
  table.sort(why, function(a, b)
    return a[2] == b[2] and a[1] < b[1] or a[2] > b[2]
  end)
  local reasons = table.concat(
    vim.tbl_map(function(one)
      return ('%s %.2f'):format(one[1], one[2])
    end, why),
    ', '
  )
  local symbol = hit.symbol and ' ' .. hit.symbol or ''
  return ('%.2f %s%s%s'):format(hit.score, hit.kind, symbol, reasons ~= '' and ' (' .. reasons .. ')' or '')
end

--- Hits as entries of a quickfix list.
---@param hits table[]
---@return vim.quickfix.entry[]
function M.quickfix(hits)
  local out = {}
  for _, hit in ipairs(hits) do
    out[#out + 1] = {
      filename = vim.uri_to_fname(hit.uri),
      lnum = hit.range.start.line + 1,
      end_lnum = math.max(hit.range.start.line + 1, hit.range['end'].line),
      col = 1,
      text = M.hit(hit),
    }
  end
  return out
end

---@param bytes integer
local function megabytes(bytes)
  return ('%.1f MB'):format(bytes / 1e6)
end

--- The state of the index as Markdown lines.
---@param status promptls.Status
---@return string[]
function M.status(status)
  local lines = { '# promptls: ' .. status.state, '', status.message, '' }
  for _, root in ipairs(status.roots) do
    vim.list_extend(lines, {
      '## ' .. root.name,
      '',
      vim.uri_decode((root.uri:gsub('^file://', ''))),
      '',
      ('- %s files, %s definitions, %s passages, %s vectors'):format(
        tell.number(root.files),
        tell.number(root.symbols),
        tell.number(root.chunks),
        tell.number(root.vectors)
      ),
    })
    if root.pending > 0 then
      table.insert(lines, ('- %s files are waiting'):format(tell.number(root.pending)))
    end
    if root.skipped > 0 then
      table.insert(lines, ('- %s files are left out'):format(tell.number(root.skipped)))
    end
    if root.lastError ~= '' then
      table.insert(lines, '- last error: ' .. root.lastError)
    end
    table.insert(lines, '')
  end
  local embedder = status.embedder
  vim.list_extend(lines, {
    ('- embedding: %s, %d dimensions%s'):format(
      embedder.model,
      embedder.dimension,
      embedder.problem ~= '' and '; ' .. embedder.problem or ''
    ),
    ('- on disk %s, in memory %s'):format(megabytes(status.disk.bytes), megabytes(status.memoryBytes)),
  })
  return lines
end

--- The state of the index in a few words, for a statusline.
---@param status? promptls.Status
---@return string
function M.brief(status)
  if not status then
    return 'promptls …'
  end
  local files = 0
  for _, root in ipairs(status.roots) do
    files = files + root.files
  end
  if status.state == 'ready' then
    return ('promptls %s files'):format(tell.number(files))
  elseif status.state == 'degraded' then
    return 'promptls !'
  end
  return ('promptls %s %d%%'):format(status.state, math.floor((status.complete or 0) * 100))
end

--- What is remembered, as lines; which line is which entry.
---@param entries table[]
---@return string[] lines
---@return table<integer, table> entries Row → entry.
function M.memory(entries)
  local lines, at = { '# Memory', '' }, {}
  if #entries == 0 then
    table.insert(lines, 'Nothing is remembered yet; press a to add something.')
  end
  for _, entry in ipairs(entries) do
    local tags = #entry.tags > 0 and '  #' .. table.concat(entry.tags, ' #') or ''
    local paths = #entry.paths > 0 and '  ' .. table.concat(entry.paths, ' ') or ''
    local first = #lines
    table.insert(lines, ('## %s'):format(entry.title))
    table.insert(lines, ('%s, %s%s%s'):format(entry.category, entry.scope, tags, paths))
    vim.list_extend(lines, vim.split(entry.content, '\n', { plain = true }))
    table.insert(lines, '')
    for row = first, #lines - 1 do
      at[row] = entry
    end
  end
  return lines, at
end

--- The kinds of mentions as Markdown lines.
---@param kinds {name: string, syntax: string[], help: string}[]
---@return string[]
function M.kinds(kinds)
  local lines = { '# Mentions', '' }
  for _, kind in ipairs(kinds) do
    local written = '`' .. table.concat(kind.syntax, '` `') .. '`'
    vim.list_extend(lines, { '## ' .. kind.name, '', written, '', kind.help, '' })
  end
  return lines
end

return M
