-- Pages: Markdown documents that the server renders for prompts, explanations, the graph, the status and mention kinds.
-- A page has a window, folds, links, and keys that change its prompt.

local client = require('promptls.client')
local config = require('promptls.config')
local consumers = require('promptls.consumers')
local context = require('promptls.context')
local notify = require('promptls.notify')
local window = require('promptls.window')

local M = {}

local namespace = vim.api.nvim_create_namespace('promptls.page')
local MAX_SYNTAX_FILES = 8 -- syntax files loaded per page; each one delays the page
local highlights = { PromptlsButton = 'Special', PromptlsPlace = 'Directory', PromptlsFence = 'NonText' }

---@class promptls.PageSource Where the prompt of a page comes from.
---@field question fun(): string
---@field edit fun() Returns to the question.
---@field finish fun() The prompt was copied, sent or opened.

---@class promptls.PageLink A range of a line in bytes.
---@field row integer
---@field from integer
---@field to integer Exclusive.
---@field action? string Action of a button; nil: the link of a place.

---@class promptls.Page
---@field uri string
---@field kind string
---@field client_id integer
---@field encoding string
---@field source? promptls.PageSource
---@field window? integer
---@field loads integer Number of requests for the content.
---@field folds? lsp.FoldingRange[] nil: the content is not shown yet.
---@field fold_levels? string[]
---@field links promptls.PageLink[]

---@type table<integer, promptls.Page> Buffer → its page.
local pages = {}

--- Return the page of the current buffer.
---@return promptls.Page
local function current()
  return pages[vim.api.nvim_get_current_buf()]
end

---@param page promptls.Page
---@param method string
---@param params table
---@param on_result fun(result: any)
local function request(page, method, params, on_result)
  client.request(method, params, { client_id = page.client_id, on_result = on_result })
end

-- ---- content

--- Return the fold level of the current line: 'foldexpr' of pages.
---@return string
function M.foldexpr()
  local page = current()
  return page and page.fold_levels and page.fold_levels[vim.v.lnum] or '0'
end

--- Return the text of a closed fold: 'foldtext' of pages.
---@return string
function M.foldtext()
  return ('%s  … %d lines'):format(vim.fn.getline(vim.v.foldstart), vim.v.foldend - vim.v.foldstart)
end

---@param folds lsp.FoldingRange[]
---@param count integer Number of lines.
---@return string[]
local function fold_levels(folds, count)
  local depths, starts, levels = {}, {}, {}
  for _, fold in ipairs(folds) do
    starts[fold.startLine + 1] = true
    for line = fold.startLine + 1, fold.endLine + 1 do
      depths[line] = (depths[line] or 0) + 1
    end
  end
  for line = 1, count do
    levels[line] = (starts[line] and '>' or '') .. (depths[line] or 0)
  end
  return levels
end

--- Return what a fold is recognized by after a change of the page: its section or its file.
---@param line string First line of the fold.
local function fold_name(line)
  return line:match('^## [^:]+') or line:match(' path="[^"]*"') or line
end

--- Highlight quoted files with the syntax files of their languages. A parser of Markdown would take their comments for
--- headings.
---@param lines string[]
---@param fences lsp.FoldingRange[]
local function highlight_quoted_files(lines, fences)
  vim.treesitter.stop()
  vim.bo.syntax = 'markdown'
  vim.cmd('silent! syntax clear markdownError markdownBold markdownLinkText') -- of "__init__" and "[pin] [drop]"
  local clusters, count = {}, 0
  for _, fence in ipairs(fences) do
    local path = lines[fence.startLine + 1]:match(' path="([^"]+)"')
    local filetype = path and vim.filetype.match({ filename = path }) or ''
    if clusters[filetype] == nil and count < MAX_SYNTAX_FILES and filetype:find('^%w+$') then
      count, clusters[filetype] = count + 1, '@promptlsIn' .. filetype
      vim.b.current_syntax = nil
      pcall(vim.cmd, ('syntax include %s syntax/%s.vim'):format(clusters[filetype], filetype))
    end
    local region = [[syntax region promptlsQuoted start=/\%%%dl^/ end=/\%%%dl$/ keepend contains=%s]]
    vim.cmd(region:format(fence.startLine + 2, fence.endLine, clusters[filetype] or 'NONE'))
  end
  vim.cmd('syntax sync fromstart')
end

--- Read the links of a page and highlight them.
---@param bufnr integer
---@param lines string[]
---@param links lsp.DocumentLink[]
---@param encoding string
---@return promptls.PageLink[]
local function read_links(bufnr, lines, links, encoding)
  return vim.tbl_map(function(link)
    local row = link.range.start.line
    local line = lines[row + 1] or ''
    local from = vim.str_byteindex(line, encoding, link.range.start.character, false)
    local to = vim.str_byteindex(line, encoding, link.range['end'].character, false)
    local arguments = link.target:match('^command:promptls%.pageAction%?(.*)$')
    local group = arguments and 'PromptlsButton' or 'PromptlsPlace'
    vim.api.nvim_buf_set_extmark(bufnr, namespace, row, from, { end_col = to, hl_group = group })
    local action = arguments and vim.json.decode(vim.uri_decode(arguments))[1].action
    return { row = row, from = from, to = to, action = action }
  end, links)
end

--- Request the text, the folds and the links of a page.
---@param page promptls.Page
---@param on_loaded fun(lines: string[], folds: lsp.FoldingRange[], links: lsp.DocumentLink[])
local function load(page, on_loaded)
  page.loads = page.loads + 1
  local number, missing, results = page.loads, 3, {}
  local document = { textDocument = { uri = page.uri } }
  for method, params in pairs({
    ['workspace/textDocumentContent'] = { uri = page.uri },
    ['textDocument/foldingRange'] = document,
    ['textDocument/documentLink'] = document,
  }) do
    request(page, method, params, function(result)
      results[method], missing = result or {}, missing - 1
      if missing == 0 and number == page.loads then
        local text = results['workspace/textDocumentContent'].text:gsub('\n$', '')
        local lines = vim.split(text, '\n', { plain = true })
        on_loaded(lines, results['textDocument/foldingRange'], results['textDocument/documentLink'])
      end
    end)
  end
end

--- Show the content of a page in its window. The cursor keeps its line, and closed folds stay closed.
---@param bufnr integer
---@param lines string[]
---@param folds lsp.FoldingRange[]
---@param links lsp.DocumentLink[]
local function write(bufnr, lines, folds, links)
  local page = pages[bufnr]
  vim.api.nvim_win_call(page.window --[[@as integer]], function()
    local view, closed = vim.fn.winsaveview(), { ['## Left out'] = page.folds == nil or nil }
    for _, fold in ipairs(page.folds or {}) do
      if vim.fn.foldclosed(fold.startLine + 1) == fold.startLine + 1 then
        closed[fold_name(vim.fn.getline(fold.startLine + 1))] = true
      end
    end
    page.folds, page.fold_levels = folds, fold_levels(folds, #lines)
    vim.bo.modifiable = true
    vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
    vim.bo.modifiable = false
    vim.api.nvim_buf_clear_namespace(bufnr, namespace, 0, -1)
    page.links = read_links(bufnr, lines, links, page.encoding)
    local fences = vim.tbl_filter(function(fold)
      return fold.kind == 'region'
    end, folds)
    for _, fence in ipairs(fences) do
      for _, row in ipairs({ fence.startLine, fence.endLine }) do
        local opts = { end_row = row + 1, hl_group = 'PromptlsFence' }
        vim.api.nvim_buf_set_extmark(bufnr, namespace, row, 0, vim.tbl_extend('force', opts, { strict = false }))
      end
    end
    if #fences > 0 then
      highlight_quoted_files(lines, fences)
    end
    vim.cmd('normal! zX')
    for _, fold in ipairs(folds) do
      if closed[fold_name(lines[fold.startLine + 1])] then
        pcall(vim.cmd, ('%dfoldclose'):format(fold.startLine + 1))
      end
    end
    vim.fn.winrestview(view)
  end)
end

--- Read a page again: the handler of `workspace/textDocumentContent/refresh`.
---@param uri string
---@param client_id integer
function M.refresh(uri, client_id)
  for bufnr, page in pairs(pages) do
    if page.uri == uri and page.client_id == client_id then
      load(page, function(...)
        if pages[bufnr] == page then
          write(bufnr, ...)
        end
      end)
    end
  end
end

-- ---- keys

--- Close the page of the current buffer.
local function close()
  window.close(current().window)
end

--- Pass the text of the page to a function: the prompt, or the whole page of another kind.
---@param page promptls.Page
---@param use fun(text: string, result?: table)
local function with_text(page, use)
  if page.kind ~= 'prompt' then
    return use(table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n'))
  end
  request(page, 'promptls/pageResult', { uri = page.uri }, function(current_page)
    use(consumers.text(current_page.result), current_page.result)
  end)
end

local function yank()
  local page = current()
  with_text(page, function(text, result)
    if result then
      consumers.copy(result)
      return page.source.finish()
    end
    consumers.yank(text)
    notify.info('Copied the page to the registers.')
  end)
end

--- Open the text in a new buffer that can be edited and saved.
local function open_as_document()
  local page = current()
  with_text(page, function(text)
    if page.source then
      page.source.finish()
    end
    window.close(page.window)
    vim.api.nvim_set_current_win(window.non_floating())
    vim.cmd('hide enew')
    vim.bo.buftype, vim.bo.bufhidden, vim.bo.swapfile = 'nofile', 'hide', false
    vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(text, '\n', { plain = true }))
    vim.bo.filetype = 'markdown'
    vim.bo.modeline = false -- the buffer quotes files, and could be saved and read again
  end)
end

local function send()
  local page = current()
  with_text(page, function(text, result)
    consumers.send(text, result --[[@as table]], page.source.question(), nil, function()
      window.close(page.window)
    end, page.source.finish)
  end)
end

--- Return to the question.
local function edit()
  local source = current().source
  close()
  source.edit()
end

--- Change the prompt of the page; the server refreshes the page.
---@param action 'pin'|'drop'|'add'|'more'|'budget'|'rebuild'|string
---@param row? integer Default: the row of the cursor.
---@param tokens? integer
local function act(action, row, tokens)
  local page = current()
  row = row or vim.api.nvim_win_get_cursor(0)[1] - 1
  local params = { uri = page.uri, action = action, line = row, tokens = tokens }
  request(page, 'promptls/pageAction', params, function(done)
    if not done.changed then
      notify.info(('This line has nothing to %s.'):format(action == 'more' and 'list' or action))
    end
  end)
end

--- Ask for the budget of the prompt.
local function ask_budget()
  local page, page_window = current(), vim.api.nvim_get_current_win()
  request(page, 'promptls/pageResult', { uri = page.uri }, function(current_page)
    local default = tostring(current_page.result.tokens.budget)
    vim.ui.input({ prompt = 'Budget in tokens: ', default = default }, function(answer)
      local tokens = tonumber(answer)
      if answer and (not tokens or tokens % 1 ~= 0) then
        notify.error('The budget must be an integer number of tokens.')
      elseif answer and vim.api.nvim_win_is_valid(page_window) then
        vim.api.nvim_win_call(page_window, function()
          act('budget', nil, tokens)
        end)
      end
    end)
  end)
end

local function toggle_fold()
  pcall(vim.cmd, 'normal! za')
end

--- Go to the place that a line leads to, or toggle its fold.
---@param row integer
local function go_there(row)
  local page = current()
  local params = { textDocument = { uri = page.uri }, position = { line = row, character = 0 } }
  request(page, 'textDocument/definition', params, function(locations)
    local location = locations and locations[1]
    if not location then
      return pcall(vim.api.nvim_win_call, page.window, toggle_fold)
    end
    if vim.startswith(location.uri, 'file:') then
      window.close(page.window)
    end
    window.jump(location, page.encoding)
  end)
end

---@param row integer
---@param column integer
---@return promptls.PageLink?
local function link_at(row, column)
  return vim.iter(current().links):find(function(link)
    return link.row == row and link.from <= column and column < link.to
  end)
end

--- Run the button under the cursor, else go to the place of the line.
local function enter()
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local link = link_at(row - 1, column)
  if link and link.action then
    return act(link.action, row - 1)
  end
  go_there(row - 1)
end

--- Run the button or go to the place under the mouse, whose position counts because the cursor stops at the end of the
--- line, where the buttons are.
local function click()
  local mouse = vim.fn.getmousepos()
  local link = mouse.winid == current().window and link_at(mouse.line - 1, mouse.column - 1)
  if link and link.action then
    act(link.action, link.row)
  elseif link then
    go_there(link.row)
  elseif vim.fn.foldclosed('.') > 0 then
    toggle_fold()
  end
end

---@param kind string
---@return table<string, {[1]: fun(), desc: string}> keys
---@return string[] hints
local function keys_of(kind)
  local keys = {
    y = { yank, desc = 'yank the page' },
    o = { open_as_document, desc = 'open the page in a buffer' },
    q = { close, desc = 'close' },
    ['<CR>'] = { enter, desc = 'go to the place on the line, or run the button under the cursor' },
    ['<Tab>'] = { toggle_fold, desc = 'open or close the fold' },
    ['<LeftRelease>'] = { click, desc = 'go to the place or run the button under the mouse' },
  }
  if kind ~= 'prompt' then
    return keys, { 'y yank', 'o open', '⏎ go', '⇥ fold', 'q close' }
  end
  local function action(name)
    return function()
      act(name)
    end
  end
  keys.s = { send, desc = 'send the prompt to a chat plugin or a terminal' }
  keys.p = { action('pin'), desc = 'pin or unpin the item' }
  keys.x = { action('drop'), desc = 'drop or restore the item' }
  keys.m = { action('more'), desc = 'list the callers, callees and tests of the item' }
  keys.a = { action('add'), desc = 'add the item that was left out' }
  keys.b = { ask_budget, desc = 'change the budget' }
  keys.R = { action('rebuild'), desc = 'build the prompt again' }
  keys.e = { edit, desc = 'edit the question' }
  local hints = { 'y yank', 's send', 'p pin', 'x drop', 'a add', 'b budget', '⏎ go', '⇥ fold' }
  return keys, vim.list_extend(hints, { 'R rebuild', 'o open', 'e edit', 'q close' })
end

-- ---- windows

---@param uri string
---@return integer? bufnr
local function buffer_of(uri)
  for bufnr, page in pairs(pages) do
    if page.uri == uri then
      return bufnr
    end
  end
end

---@param page promptls.Page
---@param title string
---@return integer bufnr
local function open_window(page, title)
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(bufnr, page.uri)
  vim.bo[bufnr].bufhidden = 'wipe'
  pages[bufnr] = page
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = bufnr,
    callback = function()
      pages[bufnr] = nil
    end,
  })
  for group, target in pairs(highlights) do
    vim.api.nvim_set_hl(0, group, { default = true, link = target })
  end
  local keys, hints = keys_of(page.kind)
  page.window = window.open(bufnr, config.get().preview, { title = title, hints = hints })
  vim.bo[bufnr].filetype = 'markdown'
  pcall(vim.treesitter.start, bufnr, 'markdown')
  window.map_keys(bufnr, keys)
  local win = vim.wo[page.window][0]
  win.foldmethod, win.foldexpr = 'expr', "v:lua.require'promptls.page'.foldexpr()"
  win.foldtext, win.foldlevel, win.foldenable = "v:lua.require'promptls.page'.foldtext()", 99, true
  win.fillchars, win.cursorline, win.conceallevel = 'fold: ,eob: ', true, 0
  win.breakindent, win.breakindentopt = true, 'shift:2'
  return bufnr
end

---@class promptls.PageOptions
---@field bufnr? integer Buffer that determines the workspace; default: the current one.
---@field follows_document? boolean Whether rebuilds use the current text of the prompt document.
---@field source? promptls.PageSource
---@field on_open? fun(result: table) Called before the page is shown.
---@field on_error? fun(message: string)

--- Open a page. The page of a prompt replaces that of another prompt.
---@param kind 'prompt'|'explain'|'graph'|'status'|'mentionKinds'
---@param params table|fun(client: vim.lsp.Client): table
---@param opts? promptls.PageOptions
---@return promptls.Handle
function M.open(kind, params, opts)
  opts = opts or {}
  return client.request('promptls/openPage', function(lsp_client)
    local replaced = vim.iter(vim.tbl_values(pages)):find(function(page)
      return kind == 'prompt' and page.kind == kind and page.client_id == lsp_client.id
    end)
    local page_params = type(params) == 'function' and params(lsp_client) or params --[[@as table]]
    return {
      kind = kind,
      params = context.as_object(page_params),
      uri = replaced and replaced.uri,
      followsDocument = opts.follows_document,
    }
  end, {
    bufnr = opts.bufnr,
    on_error = opts.on_error,
    on_result = function(opened, lsp_client)
      local page = { uri = opened.uri, kind = kind, source = opts.source, loads = 0 }
      page.client_id, page.encoding = lsp_client.id, lsp_client.offset_encoding
      load(page, function(...)
        if opts.on_open then
          opts.on_open(opened.result)
        end
        local bufnr = buffer_of(page.uri)
        if bufnr then
          page.window = pages[bufnr].window
          pages[bufnr] = page
          vim.api.nvim_set_current_win(page.window)
          vim.api.nvim_win_set_cursor(page.window, { 1, 0 })
        else
          bufnr = open_window(page, kind == 'prompt' and 'Prompt' or opened.title)
        end
        write(bufnr, ...)
      end)
    end,
  })
end

return M
