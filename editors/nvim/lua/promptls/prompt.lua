-- A prompt document in its buffer: what the server shows beside its text, and the prompt that is built from it.

local client = require('promptls.client')
local config = require('promptls.config')
local context = require('promptls.context')
local documents = require('promptls.documents')
local tell = require('promptls.tell')

local M = {}

local GONE = 'The document of this question is not open any more; :Promptls ask asks it anew.'

---@class promptls.BuildOptions What a request for a prompt may say beside its message; see the server's PROTOCOL.md.
---@field budget? {tokens?: integer, model?: string, counter?: string}
---@field profile? string
---@field variant? string
---@field recipe? string
---@field arguments? table<string, any>
---@field sections? table<string, boolean>
---@field output? 'text'|'messages'

---@type table<integer, promptls.BuildOptions> Prompt → how it is built.
M.options = {}
---@type table<integer, promptls.Handle> Prompt → the build that is under way.
local building = {}

--- The name of what is done for one prompt when something happens.
---@param bufnr integer
local function group_of(bufnr)
  return 'promptls.prompt.' .. bufnr
end

vim.api.nvim_create_autocmd('BufWipeout', {
  group = vim.api.nvim_create_augroup('promptls.prompt', {}),
  callback = function(event)
    M.options[event.buf], context.about[event.buf], building[event.buf] = nil, nil, nil
    pcall(vim.api.nvim_del_augroup_by_name, group_of(event.buf))
  end,
})

---@param bufnr integer
---@return string
function M.text(bufnr)
  return table.concat(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false), '\n')
end

-- ---- completion

--- Whether Neovim's own completion is to be used.
local function completes()
  local wanted = config.get().completion
  if wanted == 'auto' then
    return not package.loaded['blink.cmp'] and not package.loaded['cmp']
  end
  return wanted == true
end

--- Whether a mention may be under way before the cursor; the server knows better, this only saves requests.
local function mentioning()
  local column = vim.api.nvim_win_get_cursor(0)[2]
  local line = vim.api.nvim_get_current_line():sub(1, column)
  return line:find('@%S*$') ~= nil or line:find('@[^%s"]*"[^"]*$') ~= nil
end

--- What stood behind the cursor in the mention that was completed, and is part of it no more.
---@param item lsp.CompletionItem
---@param encoding string
local function drop_rest(item, encoding)
  local range = vim.tbl_get(item, 'textEdit', 'range')
  if not range or not item.filterText or range.start.line ~= range['end'].line then
    return
  end
  local typed = vim.str_utfindex(item.filterText, encoding)
  local rest = range['end'].character - range.start.character - typed
  if rest <= 0 then
    return
  end
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local behind = vim.api.nvim_get_current_line():sub(column + 1)
  local bytes = vim.str_byteindex(behind, encoding, rest, false)
  vim.api.nvim_buf_set_text(0, row - 1, column, row - 1, column + bytes, {})
end

--- Answers that come when the text has changed since, or an item has been taken, are of no use any more; Neovim
--- would put them in the place of what was chosen.
---@param attached vim.lsp.Client
local function only_fresh(attached)
  if rawget(attached, 'promptls_fresh') then
    return
  end
  rawset(attached, 'promptls_fresh', true)
  local request = attached.request
  attached.request = function(self, method, params, handler, bufnr)
    if method == 'textDocument/completion' and handler then
      local line, cursor, inner = vim.api.nvim_get_current_line(), vim.api.nvim_win_get_cursor(0), handler
      handler = function(...)
        if line == vim.api.nvim_get_current_line() and vim.deep_equal(cursor, vim.api.nvim_win_get_cursor(0)) then
          inner(...)
        end
      end
    end
    return request(self, method, params, handler, bufnr)
  end
end

--- Neovim's completion, asked again at every letter: what fits is decided by the server, and Neovim stops asking
--- as soon as its own filter has emptied the list.
---@param attached vim.lsp.Client
---@param bufnr integer
---@param group integer
local function complete(attached, bufnr, group)
  only_fresh(attached)
  vim.lsp.completion.enable(true, attached.id, bufnr, {
    autotrigger = false,
    convert = function(item)
      -- Neovim cuts a word at its first space; a mention may have some.
      return { word = vim.tbl_get(item, 'textEdit', 'newText') or item.label }
    end,
  })
  local typed, length = false, 0
  vim.api.nvim_create_autocmd('InsertCharPre', {
    group = group,
    buffer = bufnr,
    callback = function()
      typed = true
    end,
  })
  vim.api.nvim_create_autocmd({ 'TextChangedI', 'TextChangedP' }, {
    group = group,
    buffer = bufnr,
    callback = function()
      local now = #vim.api.nvim_get_current_line()
      local erased = now < length and vim.fn.complete_info({ 'selected' }).selected == -1
      length = now
      if (typed or erased) and mentioning() then
        local incomplete = vim.lsp.protocol.CompletionTriggerKind.TriggerForIncompleteCompletions
        vim.lsp.completion.get({ ctx = { triggerKind = incomplete } })
      end
      typed = false
    end,
  })
  vim.api.nvim_create_autocmd('LspDetach', {
    group = group,
    buffer = bufnr,
    callback = function(event)
      if event.data.client_id == attached.id then
        -- Neovim would go on waiting for the answers of a client that is gone.
        vim.lsp.completion.enable(false, attached.id, bufnr)
      end
    end,
  })
  vim.api.nvim_create_autocmd('CompleteDone', {
    group = group,
    buffer = bufnr,
    callback = function()
      local item = vim.tbl_get(vim.v.completed_item, 'user_data', 'nvim', 'lsp', 'completion_item')
      if vim.v.event.reason ~= 'accept' or not item then
        return
      end
      drop_rest(item, attached.offset_encoding)
      local word = vim.v.completed_item.word or ''
      if word:find('[/:]$') then -- a folder or a workspace folder: on to what is in it
        vim.schedule(function()
          if vim.api.nvim_get_mode().mode:find('^i') then
            vim.lsp.completion.get()
          end
        end)
      end
    end,
  })
end

-- ---- what stands beside the text

---@type table<integer, uv.uv_timer_t>
local timers = {}

--- Ask for the code lenses when nothing has happened for a moment.
---@param bufnr integer
local function lenses_soon(bufnr)
  if not vim.api.nvim_buf_is_loaded(bufnr) then
    return -- nothing would end its timer
  end
  timers[bufnr] = timers[bufnr] or assert(vim.uv.new_timer())
  timers[bufnr]:start(
    100,
    0,
    vim.schedule_wrap(function()
      if vim.api.nvim_buf_is_loaded(bufnr) and #vim.lsp.get_clients({ bufnr = bufnr, name = client.NAME }) > 0 then
        vim.lsp.codelens.refresh({ bufnr = bufnr })
      end
    end)
  )
end

---@param bufnr integer
---@param group integer
local function lenses(bufnr, group)
  vim.api.nvim_create_autocmd({ 'BufEnter', 'InsertLeave', 'TextChanged', 'TextChangedI', 'DiagnosticChanged' }, {
    group = group,
    buffer = bufnr,
    callback = function()
      lenses_soon(bufnr)
    end,
  })
  vim.api.nvim_create_autocmd('User', {
    group = group,
    pattern = 'PromptlsStatus',
    callback = function()
      lenses_soon(bufnr)
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
  lenses_soon(bufnr)
end

--- The server's client was attached to a prompt.
---@param attached vim.lsp.Client
---@param bufnr integer
function M.attach(attached, bufnr)
  local group = vim.api.nvim_create_augroup(group_of(bufnr), {})
  if completes() then
    complete(attached, bufnr, group)
  end
  if config.get().inlay_hints then
    vim.lsp.inlay_hint.enable(true, { bufnr = bufnr })
  end
  if config.get().code_lens then
    lenses(bufnr, group)
  end
end

-- ---- building

---@param opts promptls.BuildOptions
---@param message string
---@param held? {bufnr: integer, mark: integer}
---@param uri? string
---@return fun(client: vim.lsp.Client): table
local function params_of(opts, message, held, uri)
  return function(asked)
    local params = vim.deepcopy(opts)
    params.message = message
    params.document = uri
    params.context = context.object(context.base(asked.offset_encoding, held))
    if params.arguments then
      params.arguments = context.object(params.arguments)
    end
    return params
  end
end

---@param asked vim.lsp.Client
---@return string[]
local function roots_of(asked)
  return vim.tbl_map(function(folder)
    return (folder.uri:gsub('/$', ''))
  end, asked.workspace_folders or {})
end

---@class promptls.BuildRequest
---@field message string
---@field opts? promptls.BuildOptions
---@field bufnr? integer The prompt document, or the buffer whose workspace is meant.
---@field held? {bufnr: integer, mark: integer}

--- Build a prompt.
---@param request promptls.BuildRequest
---@param on_result fun(result: table, client: vim.lsp.Client)
---@param on_error? fun(message: string, code?: integer)
---@return promptls.Handle
function M.request(request, on_result, on_error)
  local bufnr = request.bufnr or vim.api.nvim_get_current_buf()
  local uri = documents.is_prompt(bufnr) and vim.uri_from_bufnr(bufnr) or nil
  return client.request('promptls/buildPrompt', params_of(request.opts or {}, request.message, request.held, uri), {
    bufnr = bufnr,
    on_result = on_result,
    on_error = on_error,
  })
end

--- Build a prompt and wait for it: for plugins that cannot be called back.
---@param request promptls.BuildRequest
---@param timeout? integer Milliseconds.
---@return table? result
---@return string? problem
function M.request_sync(request, timeout)
  local bufnr = request.bufnr or vim.api.nvim_get_current_buf()
  local params = params_of(request.opts or {}, request.message, request.held)
  return client.request_sync('promptls/buildPrompt', params, timeout or 30000, bufnr)
end

--- Build a prompt and show it.
---@param request promptls.BuildRequest
---@param edit? fun() The way back to the question.
---@param on_shown? fun()
function M.show(request, edit, on_shown)
  local bufnr = request.bufnr or vim.api.nvim_get_current_buf()
  if not vim.api.nvim_buf_is_valid(bufnr) then
    return tell.error(GONE)
  end
  if building[bufnr] and not building[bufnr].done then
    building[bufnr].cancel()
  end
  building[bufnr] = M.request(request, function(result, asked)
    if on_shown then
      on_shown()
    end
    require('promptls.preview').show(result, {
      question = request.message,
      encoding = asked.offset_encoding,
      roots = roots_of(asked),
      edit = edit,
      again = function()
        M.show(request, edit)
      end,
    })
  end, function(message)
    (message == 'Cancelled.' and tell.info or tell.error)(message)
  end)
end

--- Build the prompt of a prompt document and show it.
---@param bufnr integer
---@param opts? promptls.BuildOptions
---@param lines? {[1]: integer, [2]: integer} Only these lines are the question; from 1, inclusive.
function M.build(bufnr, opts, lines)
  local chosen = lines and vim.api.nvim_buf_get_lines(bufnr, lines[1] - 1, lines[2], false)
  local request = {
    bufnr = bufnr,
    message = chosen and table.concat(chosen, '\n') or M.text(bufnr),
    opts = vim.tbl_extend('force', M.options[bufnr] or {}, opts or {}),
    held = context.about[bufnr],
  }
  local ask = require('promptls.ask')
  M.show(request, function()
    ask.back(bufnr)
  end, function()
    ask.hide(bufnr)
  end)
end

--- Build the prompt of a prompt document and put it into the registers.
---@param bufnr integer
function M.copy(bufnr)
  M.request({
    bufnr = bufnr,
    message = M.text(bufnr),
    opts = M.options[bufnr],
    held = context.about[bufnr],
  }, function(result)
    require('promptls.consumers').yank(require('promptls.render').text(result))
    tell.info(('The prompt (%s tokens) is in the registers.'):format(tell.number(result.tokens.used)))
  end)
end

--- A command of a code lens or code action: its argument names the document.
---@param command lsp.Command
---@param run fun(bufnr: integer)
function M.run(command, run)
  local uri = vim.tbl_get(command, 'arguments', 1, 'uri')
  local bufnr = uri and vim.uri_to_bufnr(uri)
  if not bufnr or not vim.api.nvim_buf_is_loaded(bufnr) then
    return tell.error(GONE)
  end
  run(bufnr)
end

return M
