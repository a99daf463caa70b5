-- Rendering: converts responses of the server to lines, highlights, folds and locations. Pure functions; no windows.

local M = {}

---@class promptls.Highlight
---@field row integer 0-based.
---@field from integer First byte.
---@field to integer End byte, exclusive.
---@field group string

---@class promptls.QuotedFile
---@field first integer Row of the opening fence.
---@field last integer Row of the closing fence.
---@field path string

---@class promptls.RenderedPrompt
---@field lines string[]
---@field highlights promptls.Highlight[]
---@field fold_levels string[] Value of 'foldexpr' for each line.
---@field closed_folds integer[] Rows whose folds are initially closed.
---@field locations table<integer, promptls.Location> Row → location it refers to.
---@field prompt_row integer Row at which the prompt begins.
---@field text string The prompt without the statistics.
---@field quoted_files promptls.QuotedFile[]

---@class promptls.TextSpan
---@field [1] string Text.
---@field [2]? string Highlight group.

local Canvas = {}
Canvas.__index = Canvas

--- Append a line and return its row.
---@param spans string|promptls.TextSpan[]
---@param fold_level? string
---@return integer row
function Canvas:line(spans, fold_level)
  local text, row = '', #self.lines
  for _, span in ipairs(type(spans) == 'string' and { { spans } } or spans) do
    local span_text = (span[1]:gsub('[\r\n]+', ' '))
    if span[2] and span_text ~= '' then
      table.insert(self.highlights, { row = row, from = #text, to = #text + #span_text, group = span[2] })
    end
    text = text .. span_text
  end
  self.lines[row + 1] = text
  self.fold_levels[row + 1] = fold_level or '='
  return row
end

--- Format a number with thousands separators.
---@param number number
---@return string
function M.number(number)
  local digits = tostring(math.floor(number))
  local grouped = digits:reverse():gsub('(%d%d%d)', '%1,'):reverse()
  return (grouped:gsub('^,', ''))
end

---@param text string
---@param width integer
local function pad_right(text, width)
  return text .. (' '):rep(width - vim.fn.strdisplaywidth(text))
end

---@param text string
---@param width integer
local function pad_left(text, width)
  return (' '):rep(width - vim.fn.strdisplaywidth(text)) .. text
end

--- Truncate a text at its start to a display width: the end of a path is the most specific part.
---@param text string
---@param width integer
local function truncate_start(text, width)
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

---@type table<string, string> Section → highlight group.
local section_groups = {
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

--- Sort sections by descending tokens. "frame" (headings and delimiters) comes last.
---@param sections table<string, integer>
---@return {name: string, tokens: integer, group: string}[]
local function sort_sections(sections)
  local out = {}
  for name, tokens in pairs(sections) do
    out[#out + 1] = { name = name, tokens = tokens, group = section_groups[name] or 'PromptlsOther' }
  end
  table.sort(out, function(a, b)
    if (a.name == 'frame') ~= (b.name == 'frame') then
      return b.name == 'frame'
    end
    return a.tokens == b.tokens and a.name < b.name or a.tokens > b.tokens
  end)
  return out
end

--- Render the number of tokens, the trace line, and the token bar with its legend.
---@param tokens {budget: integer, used: integer, counter: string, exact: boolean, sections: table<string, integer>}
local function render_header(canvas, tokens, trace, width)
  local over = tokens.used > tokens.budget
  canvas:line({
    { ' ' },
    { M.number(tokens.used), over and 'DiagnosticError' or 'PromptlsTitle' },
    { (' of %s tokens (%s%s)'):format(M.number(tokens.budget), tokens.counter, tokens.exact and ', exact' or '') },
  })
  if trace and trace ~= '' then
    canvas:line({ { ' ' .. trace, 'PromptlsDim' } })
  end
  local cells = math.max(10, width - 2)
  local bar, legend, filled = { { ' ' } }, { { ' ' } }, 0
  for _, section in ipairs(sort_sections(tokens.sections)) do
    local share = math.floor(section.tokens / math.max(tokens.budget, tokens.used, 1) * cells + 0.5)
    if section.tokens > 0 then
      share = math.min(math.max(share, 1), cells - filled)
      filled = filled + share
      bar[#bar + 1] = { ('█'):rep(share), section.group }
      legend[#legend + 1] = { '■ ', section.group }
      legend[#legend + 1] = { ('%s %s  '):format(section.name, M.number(section.tokens)) }
    end
  end
  bar[#bar + 1] = { ('░'):rep(cells - filled), 'PromptlsDim' }
  legend[#legend + 1] = { '□ ', 'PromptlsDim' }
  legend[#legend + 1] = { 'free ' .. M.number(math.max(0, tokens.budget - tokens.used)) }
  canvas:line(bar)
  -- Wrap a legend that is wider than the window between entries.
  local row, used = {}, 0
  for i = 1, #legend do
    local span = legend[i]
    local starts_entry = span[2] ~= nil
    local entry_width = vim.fn.strdisplaywidth(span[1] .. (starts_entry and legend[i + 1] and legend[i + 1][1] or ''))
    if starts_entry and used + entry_width > cells and used > 1 then
      canvas:line(row)
      row, used = { { ' ' } }, 1
    end
    row[#row + 1] = span
    used = used + vim.fn.strdisplaywidth(span[1])
  end
  canvas:line(row)
end

--- Format a path with its line numbers.
---@param path string
---@param range? promptls.Range Whole lines.
---@return string
function M.path_with_lines(path, range)
  if not range then
    return path
  end
  local first, last = range.start.line + 1, math.max(range.start.line + 1, range['end'].line)
  return first == last and ('%s:%d'):format(path, first) or ('%s:%d-%d'):format(path, first, last)
end

--- Return the display path of a file: relative to its workspace folder if known.
---@param uri string
---@param paths table<string, string> URI → path.
---@param roots string[] URIs of the workspace folders.
local function display_path(uri, paths, roots)
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

--- Append the heading of a list, which starts a fold.
local function render_heading(canvas, title, count)
  canvas:line('', '0')
  return canvas:line({ { (' %s: %d'):format(title, count), 'PromptlsTitle' } }, '>1')
end

--- Return the location of the start of an item.
---@param item table An item with a URI and lines, which for a notebook has a different location in the editor.
local function start_location(item)
  local shown = item.location or item
  local start = shown.range and shown.range.start or { line = 0, character = 0 }
  return { uri = shown.uri, range = { start = start, ['end'] = start } }
end

---@type table<string, promptls.TextSpan> Outcome of a mention → its sign.
local outcome_signs = {
  included = { '✓', 'DiagnosticOk' },
  partial = { '◐', 'DiagnosticWarn' },
  omitted = { '○', 'DiagnosticWarn' },
  ambiguous = { '?', 'DiagnosticWarn' },
  unresolved = { '✗', 'DiagnosticError' },
  refused = { '⊘', 'DiagnosticError' },
}

local function render_items(canvas, result, width)
  if #result.items == 0 then
    return
  end
  render_heading(canvas, 'In the prompt', #result.items)
  local left_width = math.max(20, width - 41)
  for _, item in ipairs(result.items) do
    local path = M.path_with_lines(item.path, item.range)
    local symbols = item.symbol and { item.symbol } or {}
    for _, joined in ipairs(item.joined or {}) do
      if not item.symbol and joined.symbol ~= '' then
        table.insert(symbols, joined.symbol)
      end
    end
    local symbol = #symbols > 0 and '  ' .. table.concat(symbols, ', ') or ''
    local left, path_end = path .. symbol, #path
    if vim.fn.strdisplaywidth(left) > left_width then
      symbol = vim.fn.strcharpart(symbol, 0, math.max(0, left_width - vim.fn.strdisplaywidth(path) - 1)) .. '…'
      left = truncate_start(#symbol > 5 and path .. symbol or path, left_width)
      path_end = #symbol > 5 and #path or #left
    end
    local origin = pad_right(item.form, 9) .. ' ' .. pad_right(item.why, 16)
    local row = canvas:line({
      { ' ' .. pad_right(item.citation or '', 4), 'PromptlsDim' },
      { left:sub(1, path_end), 'PromptlsPath' },
      { left:sub(path_end + 1), 'PromptlsSymbol' },
      { (' '):rep(left_width - vim.fn.strdisplaywidth(left)) },
      { ' ' .. origin, 'PromptlsDim' },
      { pad_left(M.number(item.tokens), 7), 'PromptlsNumber' },
    }, '1')
    canvas.locations[row] = start_location(item)
  end
end

local function render_omitted(canvas, result, paths, roots)
  if #result.omitted == 0 then
    return
  end
  table.insert(canvas.closed_folds, render_heading(canvas, 'Left out', #result.omitted))
  for _, item in ipairs(result.omitted) do
    local row = canvas:line({
      { '     ' },
      { M.path_with_lines(display_path(item.uri, paths, roots), item.range), 'PromptlsPath' },
      { '  ' .. item.reason, 'PromptlsDim' },
      { item.tokens > 0 and ('  %s tokens'):format(M.number(item.tokens)) or '', 'PromptlsNumber' },
    }, '1')
    canvas.locations[row] = start_location(item)
  end
end

local function render_mentions(canvas, result)
  if #result.mentions == 0 then
    return
  end
  render_heading(canvas, 'Mentions', #result.mentions)
  for _, mention in ipairs(result.mentions) do
    local sign = outcome_signs[mention.status] or { '·', 'PromptlsDim' }
    local row = canvas:line({
      { ' ' .. sign[1] .. '   ', sign[2] },
      { mention.text, 'PromptlsMention' },
      { mention.tokens > 0 and ('  %s tokens'):format(M.number(mention.tokens)) or '', 'PromptlsNumber' },
      { mention.status ~= 'included' and '  ' .. mention.status or '', sign[2] },
      { mention.anchor and '  ' .. mention.anchor or '', 'DiagnosticWarn' },
      { mention.reason ~= '' and '  ' .. mention.reason or '', 'PromptlsDim' },
      { mention.suggestion and '  Did you mean ' .. mention.suggestion .. '?' or '' },
    }, '1')
    local target = mention.targets[1]
    if target then
      canvas.locations[row] = start_location(target)
    end
    for _, candidate in ipairs(mention.candidates or {}) do
      canvas:line({ { '       ' .. candidate, 'PromptlsDim' } }, '1')
    end
  end
end

local function render_warnings(canvas, result)
  local warnings = vim.list_slice(result.warnings or {})
  if vim.tbl_get(result, 'index', 'complete') ~= 1 then
    table.insert(warnings, math.min(2, #warnings + 1), 'The prompt is built again when the index is complete.')
  end
  if #warnings == 0 then
    return
  end
  render_heading(canvas, 'Warnings', #warnings)
  for _, warning in ipairs(warnings) do
    canvas:line({ { ' !   ', 'DiagnosticWarn' }, { warning } }, '1')
  end
end

--- Render the text of a prompt with folds for headings and for quoted files.
--- A fence must be closed by the same name, so that the content of a quoted file cannot imitate a fence.
---@param text string
---@param quoted_files promptls.QuotedFile[] Extended with the quoted files of the text.
local function render_text(canvas, text, quoted_files)
  local lines = vim.split(text, '\n', { plain = true })
  local closing_line = {} ---@type table<integer, integer> Line of an opening fence → line of its closing fence.
  local i = 1
  while i <= #lines do
    local name = lines[i]:match('^<context%-(%w+)[ >]')
    if name and not lines[i]:find('/>$') then
      for j = i + 1, #lines do
        if lines[j] == ('</context-%s>'):format(name) then
          closing_line[i], i = j, j
          break
        end
      end
    end
    i = i + 1
  end
  local last = 0
  for n, line in ipairs(lines) do
    if closing_line[n] then
      last = closing_line[n]
      local row = canvas:line({ { line, 'PromptlsFence' } }, '>2')
      quoted_files[#quoted_files + 1] = {
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

--- Return the text of a prompt, for both output formats ("text" and "messages").
---@param result table Result of `promptls/buildPrompt`.
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

--- Render the preview of a prompt.
---@param result table Result of `promptls/buildPrompt`.
---@param opts? {width?: integer, roots?: string[]}
---@return promptls.RenderedPrompt
function M.prompt(result, opts)
  opts = opts or {}
  local width = opts.width or 80
  local canvas =
    setmetatable({ lines = {}, highlights = {}, fold_levels = {}, locations = {}, closed_folds = {} }, Canvas)
  local paths = {}
  for _, item in ipairs(result.items) do
    paths[item.uri] = item.path
  end
  render_header(canvas, result.tokens, result.trace and result.trace.line, width)
  render_mentions(canvas, result)
  render_items(canvas, result, width)
  render_omitted(canvas, result, paths, opts.roots or {})
  render_warnings(canvas, result)
  canvas:line('', '0')
  canvas:line({ { ('─'):rep(width), 'PromptlsDim' } }, '0')
  local quoted_files, prompt_row = {}, #canvas.lines
  if result.prompt then
    render_text(canvas, result.prompt, quoted_files)
  else
    for _, message in ipairs(result.messages or {}) do
      canvas:line({ { ('── %s '):format(message.role), 'PromptlsTitle' } }, '0')
      render_text(canvas, message.content, quoted_files)
    end
  end
  return {
    lines = canvas.lines,
    highlights = canvas.highlights,
    fold_levels = canvas.fold_levels,
    closed_folds = canvas.closed_folds,
    locations = canvas.locations,
    prompt_row = prompt_row,
    text = M.text(result),
    quoted_files = quoted_files,
  }
end

--- Render a search result as one line: kind, symbol and why it was found.
---@param hit table
---@return string
function M.hit(hit)
  local symbol = hit.symbol and ' ' .. hit.symbol or ''
  return ('%s%s (%s)'):format(hit.kind, symbol, hit.why)
end

--- Convert search results to entries of the quickfix list.
---@param hits table[]
---@return vim.quickfix.entry[]
function M.quickfix(hits)
  local out = {}
  for _, hit in ipairs(hits) do
    local shown = hit.location or hit -- a notebook is shown as JSON
    out[#out + 1] = {
      filename = vim.uri_to_fname(shown.uri),
      lnum = shown.range.start.line + 1,
      end_lnum = math.max(shown.range.start.line + 1, shown.range['end'].line),
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

--- Render the index status as Markdown lines.
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
      ('- %s files, %s symbols, %s chunks, %s vectors'):format(
        M.number(root.files),
        M.number(root.symbols),
        M.number(root.chunks),
        M.number(root.vectors)
      ),
    })
    if root.pending > 0 then
      table.insert(lines, ('- %s files pending'):format(M.number(root.pending)))
    end
    if root.skipped > 0 then
      table.insert(lines, ('- %s files skipped'):format(M.number(root.skipped)))
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
    ('- disk: %s, memory: %s'):format(megabytes(status.disk.bytes), megabytes(status.memoryBytes)),
  })
  return lines
end

--- Render the index status in a few words, for a statusline.
---@param status? promptls.Status
---@return string
function M.short_status(status)
  if not status then
    return 'promptls …'
  end
  local files = 0
  for _, root in ipairs(status.roots) do
    files = files + root.files
  end
  if status.state == 'ready' then
    return ('promptls %s files'):format(M.number(files))
  elseif status.state == 'degraded' then
    return 'promptls !'
  end
  local percentage = status.complete == 1 and '' or (' %d%%'):format(math.floor((status.complete or 0) * 100))
  return 'promptls ' .. status.state .. percentage
end

--- Render memory entries as Markdown lines.
---@param entries table[]
---@return string[] lines
---@return table<integer, table> entry_at Row → entry.
function M.memory(entries)
  local lines, entry_at = { '# Memory', '' }, {}
  if #entries == 0 then
    table.insert(lines, 'No memory entries. Press a to add one.')
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
      entry_at[row] = entry
    end
  end
  return lines, entry_at
end

--- Render the mention kinds as Markdown lines.
---@param kinds {name: string, syntax: string[], help: string}[]
---@return string[]
function M.mention_kinds(kinds)
  local lines = { '# Mentions', '' }
  for _, kind in ipairs(kinds) do
    local syntax = '`' .. table.concat(kind.syntax, '` `') .. '`'
    vim.list_extend(lines, { '## ' .. kind.name, '', syntax, '', kind.help, '' })
  end
  return lines
end

return M
