-- Prompt documents: attachment of the client and building of prompts.

local client = require('promptls.client')
local config = require('promptls.config')
local context = require('promptls.context')
local documents = require('promptls.documents')
local notify = require('promptls.notify')

local M = {}

local BUFFER_CLOSED = 'The buffer of this question is closed. Ask again with :Promptls ask.'
local MAX_REPORTED_MENTIONS = 5 -- keeps the warning on one line
local BUILD_TIMEOUT = 30000 -- milliseconds; for synchronous requests

---@class promptls.BuildOptions Params of `promptls/buildPrompt` without the message; see the protocol reference.
---@field budget? {tokens?: integer, model?: string, counter?: string}
---@field profile? string
---@field variant? string
---@field recipe? string
---@field arguments? table<string, any>
---@field sections? table<string, boolean>
---@field output? 'text'|'messages'

---@type table<integer, promptls.BuildOptions> Prompt document → its build options.
M.options = {}
---@type table<integer, promptls.Handle> Buffer → handle of its last build request.
local builds = {}

--- Return the name of the autocommand group of a prompt document.
---@param bufnr integer
local function group_name(bufnr)
  return 'promptls.prompt.' .. bufnr
end

vim.api.nvim_create_autocmd('BufWipeout', {
  group = vim.api.nvim_create_augroup('promptls.prompt', {}),
  callback = function(event)
    M.options[event.buf], context.tracked_lines[event.buf], builds[event.buf] = nil, nil, nil
    pcall(vim.api.nvim_del_augroup_by_name, group_name(event.buf))
  end,
})

--- Return the text of a buffer.
---@param bufnr integer
---@return string
function M.text(bufnr)
  return table.concat(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false), '\n')
end

--- Enable completion, inlay hints and code lenses in a prompt document or an instruction file.
---@param lsp_client vim.lsp.Client
---@param bufnr integer
function M.attach(lsp_client, bufnr)
  local group = vim.api.nvim_create_augroup(group_name(bufnr), {})
  local completion = require('promptls.completion')
  if completion.is_enabled() then
    completion.attach(lsp_client, bufnr, group)
  end
  if config.get().inlay_hints and documents.is_prompt(bufnr) then
    vim.lsp.inlay_hint.enable(true, { bufnr = bufnr })
  end
  if config.get().code_lens then
    require('promptls.codelens').attach(bufnr, group)
  end
end

---@class promptls.BuildRequest
---@field message string
---@field opts? promptls.BuildOptions
---@field bufnr? integer Prompt document, or a buffer that determines the workspace.
---@field tracked? promptls.TrackedLines Lines that the question is about.

--- Return a function that creates the params of `promptls/buildPrompt`.
---@param request promptls.BuildRequest
---@param uri? string URI of the prompt document.
---@return fun(client: vim.lsp.Client): table
local function build_params(request, uri)
  return function(lsp_client)
    local params = vim.deepcopy(request.opts or {})
    params.message = request.message
    params.document = uri
    params.context = context.as_object(context.request_context(lsp_client.offset_encoding, request.tracked))
    if params.arguments then
      params.arguments = context.as_object(params.arguments)
    end
    return params
  end
end

--- Warn about mentions whose content is not in a prompt.
---@param result table
function M.report_missing_mentions(result)
  local missing = vim.tbl_filter(function(mention)
    return mention.status ~= 'included' and mention.status ~= 'partial'
  end, result.mentions)
  if #missing == 0 then
    return
  end
  local shown = vim.tbl_map(function(mention)
    return mention.text
  end, vim.list_slice(missing, 1, MAX_REPORTED_MENTIONS))
  local more = #missing > #shown and (' and %d more'):format(#missing - #shown) or ''
  notify.warn(('Not in the prompt: %s%s.'):format(table.concat(shown, ', '), more))
end

--- Build a prompt.
---@param request promptls.BuildRequest
---@param on_result fun(result: table, client: vim.lsp.Client)
---@param on_error? fun(message: string, code?: integer)
---@return promptls.Handle
function M.request(request, on_result, on_error)
  local bufnr = request.bufnr or vim.api.nvim_get_current_buf()
  local uri = documents.is_prompt(bufnr) and vim.uri_from_bufnr(bufnr) or nil
  return client.request('promptls/buildPrompt', build_params(request, uri), {
    bufnr = bufnr,
    on_result = on_result,
    on_error = on_error,
  })
end

--- Build a prompt, wait for it and report missing mentions. For chat plugins without asynchronous callbacks.
---@param request promptls.BuildRequest
---@param timeout? integer Milliseconds.
---@return table? result
---@return string? problem
function M.request_sync(request, timeout)
  local bufnr = request.bufnr or vim.api.nvim_get_current_buf()
  local params = build_params(request)
  local result, problem = client.request_sync('promptls/buildPrompt', params, timeout or BUILD_TIMEOUT, bufnr)
  if result then
    M.report_missing_mentions(result)
  end
  return result, problem
end

--- Build a prompt and open its page. Cancels a pending build of the same buffer.
---@param request promptls.BuildRequest
---@param source promptls.PageSource
---@param on_open? fun() Called before the page is shown.
---@param follows_document? boolean Whether rebuilds use the current text of the prompt document.
local function open_page(request, source, on_open, follows_document)
  local bufnr = request.bufnr or vim.api.nvim_get_current_buf()
  if builds[bufnr] and not builds[bufnr].done then
    builds[bufnr].cancel()
  end
  local uri = documents.is_prompt(bufnr) and vim.uri_from_bufnr(bufnr) or nil
  builds[bufnr] = require('promptls.page').open('prompt', build_params(request, uri), {
    bufnr = bufnr,
    follows_document = follows_document,
    source = source,
    on_open = function(result)
      if on_open then
        on_open()
      end
      M.report_missing_mentions(result)
    end,
    on_error = function(message)
      (message == 'Cancelled.' and notify.info or notify.error)(message)
    end,
  })
end

--- Build the prompt of a question that is not in a document, and open its page.
---@param request promptls.BuildRequest
function M.show(request)
  local ask = require('promptls.ask')
  local question = ask.create({ text = request.message, opts = request.opts })
  open_page(request, {
    question = function()
      return request.message
    end,
    edit = function()
      ask.reopen(question)
    end,
    finish = function()
      ask.finish(question)
    end,
  })
end

--- Build the prompt of a prompt document and open its page.
---@param bufnr integer
---@param opts? promptls.BuildOptions
---@param lines? {[1]: integer, [2]: integer} Use only these lines as the question; 1-based, inclusive.
function M.build(bufnr, opts, lines)
  local selected = lines and vim.api.nvim_buf_get_lines(bufnr, lines[1] - 1, lines[2], false)
  local request = {
    bufnr = bufnr,
    message = selected and table.concat(selected, '\n') or M.text(bufnr),
    opts = vim.tbl_extend('force', M.options[bufnr] or {}, opts or {}),
    tracked = context.tracked_lines[bufnr],
  }
  vim.b[bufnr].promptls_finished = nil
  local ask = require('promptls.ask')
  open_page(request, {
    question = function()
      return vim.api.nvim_buf_is_loaded(bufnr) and not selected and M.text(bufnr) or request.message
    end,
    edit = function()
      ask.reopen(bufnr)
    end,
    finish = function()
      ask.finish(bufnr)
    end,
  }, function()
    ask.hide(bufnr)
  end, not selected)
end

--- Ask whether a prompt of an incomplete index is copied, or built again when the index is complete.
---@param index {complete: number} Index of the prompt.
---@param client_id integer
---@param copy fun()
---@param build_again fun()
local function confirm_copy(index, client_id, copy, build_again)
  local prompt = ('The index is incomplete (%d %%).'):format(math.floor(index.complete * 100))
  vim.ui.select({ 'Copy now', 'Wait' }, { prompt = prompt }, function(choice)
    if choice == 'Copy now' then
      return copy()
    elseif choice ~= 'Wait' then
      return
    elseif (client.states[client_id] or {}).complete == 1 then -- meanwhile
      return build_again()
    end
    notify.info('The prompt will be copied when the index is complete.')
    vim.api.nvim_create_autocmd('User', {
      pattern = 'PromptlsStatus',
      callback = function(event)
        local is_complete = event.data.client_id == client_id and event.data.status.complete == 1
        if is_complete then
          build_again()
        end
        return is_complete -- deletes the autocommand
      end,
    })
  end)
end

--- Build the prompt of a prompt document and copy it to the registers.
---@param bufnr integer
function M.copy(bufnr)
  if not vim.api.nvim_buf_is_loaded(bufnr) then
    return notify.error(BUFFER_CLOSED)
  end
  M.request({
    bufnr = bufnr,
    message = M.text(bufnr),
    opts = M.options[bufnr],
    tracked = context.tracked_lines[bufnr],
  }, function(result, lsp_client)
    local function copy()
      require('promptls.consumers').copy(result)
      require('promptls.ask').finish(bufnr)
      M.report_missing_mentions(result)
    end
    if result.index.complete == 1 then
      return copy()
    end
    confirm_copy(result.index, lsp_client.id, copy, function()
      M.copy(bufnr)
    end)
  end)
end

--- Write the answer of the language model below the question of a prompt document.
---@param bufnr integer
function M.answer(bufnr)
  notify.info('Waiting for the language model. :Promptls cancel stops it.')
  client.request('promptls/answer', { uri = vim.uri_from_bufnr(bufnr) }, {
    bufnr = bufnr,
    on_result = function(result)
      notify.info(('Answered by %s, with %s tokens.'):format(result.model, notify.number(result.tokens.used)))
    end,
  })
end

--- Run a command of a code lens or code action on the document named by its argument.
---@param command lsp.Command
---@param action 'build'|'copy'|'answer'
function M.run_command(command, action)
  local uri = vim.tbl_get(command, 'arguments', 1, 'uri')
  local bufnr = uri and vim.uri_to_bufnr(uri)
  if not bufnr or not vim.api.nvim_buf_is_loaded(bufnr) then
    return notify.error(BUFFER_CLOSED)
  end
  vim.cmd.redraw() -- a message below the menu of the code lenses would wait for a key
  M[action](bufnr)
end

return M
