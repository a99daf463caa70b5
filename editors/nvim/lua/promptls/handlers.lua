-- Handlers of requests and notifications from the server.

local code_buffers = require('promptls.code_buffers')
local config = require('promptls.config')
local context = require('promptls.context')
local documents = require('promptls.documents')

local M = {}

---@class promptls.RootStatus
---@field uri string
---@field name string
---@field files integer
---@field symbols integer
---@field chunks integer
---@field vectors integer
---@field pending integer
---@field skipped integer
---@field lastError string

---@class promptls.Status Result of `promptls/status`.
---@field state 'scanning'|'indexing'|'ready'|'degraded'
---@field complete number Fraction of the indexing work that is done, 0 to 1.
---@field generation integer
---@field roots promptls.RootStatus[]
---@field embedder {model: string, dimension: integer, problem: string, embedded: integer}
---@field disk {bytes: integer, rows: integer, versions: integer, fragments: integer}
---@field memoryBytes integer
---@field message string
---@field log string

---@type table<integer, promptls.Status> Client id → last reported index status.
M.states = {}
---@type table<integer, table> Client id → settings sent with `initialize`.
M.initial_settings = {}

---@type table<string, lsp.Handler>
M.handlers = {}

local ECHO_AFTER = 1000 -- milliseconds; a start with a stored index takes less

---@type table<integer, integer|false> Client id → time of its first status; false once its index was complete.
local first_scans = {}

-- Show the progress of the first index in the command line.
---@param status promptls.Status
---@param client_id integer
local function echo_progress(status, client_id)
  local began = first_scans[client_id]
  if began == nil then
    began = vim.uv.now()
  end
  local is_shown = began and vim.uv.now() - began > ECHO_AFTER
  if is_shown and not vim.api.nvim_get_mode().mode:find('^[cr]') then
    vim.api.nvim_echo({ { 'promptls: ' .. status.message } }, false, {})
  end
  first_scans[client_id] = status.complete < 1 and began
end

M.handlers['promptls/statusChanged'] = function(_, status, ctx)
  echo_progress(status, ctx.client_id)
  M.states[ctx.client_id] = status
  vim.api.nvim_exec_autocmds('User', {
    pattern = 'PromptlsStatus',
    modeline = false,
    data = { client_id = ctx.client_id, status = status },
  })
  vim.cmd.redrawstatus({ bang = true })
end

M.handlers['promptls/clientContext'] = function(_, params, ctx)
  local client = assert(vim.lsp.get_client_by_id(ctx.client_id))
  return context.client_context(params.kinds or {}, client.offset_encoding)
end

-- Runs in a coroutine: waits until the callback of the option `complete` is called.
M.handlers['promptls/complete'] = function(_, params)
  local complete = config.get().complete
  if not complete then
    return nil, vim.lsp.rpc_response_error(vim.lsp.protocol.ErrorCodes.MethodNotFound)
  end
  local thread, text, err, yielded = coroutine.running(), nil, nil, false
  local finished = false
  complete(params.messages, params.maxTokens, function(completion, problem)
    if finished then
      return
    end
    finished, text, err = true, completion, problem
    if yielded then
      vim.schedule(function()
        coroutine.resume(thread)
      end)
    end
  end)
  if not finished then
    yielded = true
    coroutine.yield()
  end
  if not text then
    local failed = vim.lsp.protocol.ErrorCodes.RequestFailed
    return nil, vim.lsp.rpc_response_error(failed, err or 'The language model returned no text.')
  end
  return { text = text }
end

-- Settings sent with `initialize` are omitted here: the server would treat them as workspace settings, which are more
-- restricted.
M.handlers['workspace/configuration'] = function(err, params, ctx)
  local responses = vim.lsp.handlers['workspace/configuration'](err, params, ctx)
  local initial = M.initial_settings[ctx.client_id] or {}
  for i, item in ipairs(params.items or {}) do
    if item.section == 'promptls' and type(responses[i]) == 'table' then
      local changed = {}
      for section, values in pairs(responses[i]) do
        for name, value in pairs(type(values) == 'table' and values or {}) do
          if not vim.deep_equal(value, vim.tbl_get(initial, section, name)) then
            changed[section] = changed[section] or {}
            changed[section][name] = value
          end
        end
      end
      responses[i] = context.as_object(changed)
    end
  end
  return responses
end

-- Neovim drops the response to a refresh if it has redrawn the lines since the refresh. Disabling the hints discards
-- its record of drawn lines, and showing the response at once prevents a redraw without hints.
M.handlers['workspace/inlayHint/refresh'] = function(_, _, ctx)
  local client = assert(vim.lsp.get_client_by_id(ctx.client_id))
  for bufnr in pairs(client.attached_buffers) do
    if documents.is_prompt(bufnr) and vim.lsp.inlay_hint.is_enabled({ bufnr = bufnr }) then
      local last = { line = vim.api.nvim_buf_line_count(bufnr), character = 0 }
      client:request('textDocument/inlayHint', {
        textDocument = { uri = vim.uri_from_bufnr(bufnr) },
        range = { start = { line = 0, character = 0 }, ['end'] = last },
      }, function(err, hints, response)
        local is_shown = vim.api.nvim_buf_is_loaded(bufnr) and vim.lsp.inlay_hint.is_enabled({ bufnr = bufnr })
        if err or not hints or not is_shown or response.version ~= vim.lsp.util.buf_versions[bufnr] then
          return
        end
        vim.lsp.inlay_hint.enable(false, { bufnr = bufnr })
        vim.lsp.inlay_hint.enable(true, { bufnr = bufnr })
        vim.lsp.handlers['textDocument/inlayHint'](nil, hints, response)
      end, bufnr)
    end
  end
  return vim.NIL
end

M.handlers['workspace/textDocumentContent/refresh'] = function(_, params, ctx)
  require('promptls.page').refresh(params.uri, ctx.client_id)
  return vim.NIL
end

M.handlers['client/registerCapability'] = function(err, params, ctx)
  local response = vim.lsp.handlers['client/registerCapability'](err, params, ctx)
  local client = vim.lsp.get_client_by_id(ctx.client_id)
  for bufnr in pairs(client and client.attached_buffers or {}) do
    if client and vim.api.nvim_buf_is_loaded(bufnr) and not documents.has_features(bufnr) then
      code_buffers.restore_defaults(client, bufnr) -- registration sets Neovim's defaults again
    end
  end
  return response
end

return M
