-- LSP client: its configuration, life cycle and requests.

local code_buffers = require('promptls.code_buffers')
local config = require('promptls.config')
local context = require('promptls.context')
local documents = require('promptls.documents')
local handlers = require('promptls.handlers')
local notify = require('promptls.notify')
local server = require('promptls.server')

local M = {}

M.NAME = 'promptls'
local REQUEST_CANCELLED = -32800
local RESTART_WINDOW = 60 -- seconds in which crashes are counted
local TERMINATE_AFTER = 3000 -- milliseconds until a server that does not exit is killed

M.states = handlers.states

---@class promptls.PendingRequest
---@field cancel fun()
---@field fail fun(message: string)

---@type table<integer, table<integer, promptls.PendingRequest>> Client id → request id → pending request.
local pending = {}
---@type table<integer, fun(client: vim.lsp.Client)[]> Client id → callbacks to call once it is initialized.
local on_initialized = {}
---@type table<string, true> Workspace roots whose server was started and is not initialized.
local starting = {}
---@type table<integer, true> Ids of clients that are being restarted by the user.
local restarting = {}
---@type table<string, number[]> Workspace root → times of crashes, in seconds.
local crashes = {}

---@param client vim.lsp.Client
---@param settings table Settings sent with `initialize`.
local function on_init(client, settings)
  handlers.initial_settings[client.id] = settings
  starting[client.root_dir or ''] = nil
  code_buffers.limit_methods(client)
  local callbacks = on_initialized[client.id] or {}
  on_initialized[client.id] = nil
  vim.schedule(function()
    for _, callback in ipairs(callbacks) do
      callback(client)
    end
  end)
end

---@param client vim.lsp.Client
---@param bufnr integer
local function on_attach(client, bufnr)
  if documents.has_features(bufnr) then
    require('promptls.prompt').attach(client, bufnr)
  else
    code_buffers.restore_defaults(client, bufnr)
  end
end

--- Return the server settings: the plugin's options, overridden by `vim.lsp.config('promptls', …)`.
---@param client_config vim.lsp.ClientConfig
---@return table
local function server_settings(client_config)
  local overrides = vim.tbl_get(client_config, 'settings', M.NAME)
  return vim.tbl_deep_extend('force', client_config.init_options or {}, config.get().settings, overrides or {})
end

---@param params lsp.InitializeParams
---@param client_config vim.lsp.ClientConfig
local function before_init(params, client_config)
  params.initializationOptions = context.as_object(server_settings(client_config))
  starting[client_config.root_dir or ''] = true
  vim.schedule(function()
    vim.cmd.redrawstatus({ bang = true })
  end)
  if type(params.workspaceFolders) == 'table' then
    -- Neovim uses the whole path as the name of a folder. Mentions (`@name:path`) use its last part.
    params.workspaceFolders = vim.tbl_map(function(folder)
      return { uri = folder.uri, name = vim.fs.basename((folder.name:gsub('/+$', ''))) }
    end, params.workspaceFolders)
  end
end

--- Start a server for some buffers.
---@param client_config vim.lsp.ClientConfig
---@param bufnrs integer[]
---@return integer? client_id
local function start(client_config, bufnrs)
  local id
  for _, bufnr in ipairs(bufnrs) do
    if vim.api.nvim_buf_is_loaded(bufnr) then
      code_buffers.save_options(bufnr)
      id = vim.lsp.start(client_config, { bufnr = bufnr }) or id
    end
  end
  return id or vim.lsp.start(client_config, { attach = false })
end

--- Record a crash and return whether the server may be restarted.
---@param root string
local function record_crash(root)
  local now = vim.uv.now() / 1000
  crashes[root] = vim.tbl_filter(function(time)
    return now - time < RESTART_WINDOW
  end, crashes[root] or {})
  table.insert(crashes[root], now)
  return #crashes[root] <= config.get().restarts
end

---@type {code: integer, signal: integer}? Exit status of the server that is just exiting.
local exit_status

--- Hide the exit status of the server from Neovim, which would report a crash with a blocking message.
--- The plugin reports and restarts crashed servers itself.
---@param dispatchers vim.lsp.rpc.Dispatchers
local function hide_exit_status(dispatchers)
  return vim.tbl_extend('force', dispatchers, {
    on_exit = function(code, signal)
      exit_status = { code = code, signal = signal }
      dispatchers.on_exit(0, 0)
      exit_status = nil
    end,
  })
end

---@param code integer
---@param signal integer
---@param id integer
local function on_exit(code, signal, id)
  if exit_status then
    code, signal = exit_status.code, exit_status.signal
  end
  local client = vim.lsp.get_client_by_id(id)
  local bufnrs = client and vim.tbl_keys(client.attached_buffers) or {}
  local requested = restarting[id]
  restarting[id] = nil
  vim.schedule(function()
    handlers.states[id], handlers.initial_settings[id], on_initialized[id] = nil, nil, nil
    for _, request in pairs(pending[id] or {}) do
      request.fail('The server exited before it responded. Please try again.')
    end
    pending[id] = nil
    starting[client and client.root_dir or ''] = nil
    if not client or vim.v.exiting ~= vim.NIL then
      return
    end
    local crashed = code ~= 0 or (signal ~= 0 and signal ~= 15)
    if not requested and not crashed then
      return
    end
    local cause = signal ~= 0 and ('signal %d'):format(signal) or ('exit code %d'):format(code)
    if not requested and not record_crash(client.root_dir or '') then
      local text = 'The server crashed repeatedly (%s). See :Promptls log, then run :Promptls restart.'
      return notify.error(text:format(cause))
    end
    -- Neovim removes the old client in a step of the event loop that is already scheduled.
    vim.schedule(function()
      local new_id = start(client.config, bufnrs)
      if new_id and not requested then
        on_initialized[new_id] = on_initialized[new_id] or {}
        table.insert(on_initialized[new_id], function()
          notify.warn(('The server crashed (%s) and was restarted.'):format(cause))
        end)
      end
    end)
  end)
end

--- Return whether `vim.lsp.enable('promptls')` was called. Neovim 0.11.0 has no public function for this.
---@return boolean
function M.enabled()
  if vim.lsp.is_enabled then
    return vim.lsp.is_enabled(M.NAME)
  end
  return (vim.lsp._enabled_configs or {})[M.NAME] ~= nil
end

--- Return whether the plugin resolves the command, that is, the user's client configuration does not set `cmd`.
local function resolves_command()
  return type((vim.lsp.config[M.NAME] or {}).cmd) == 'function'
end

--- Return whether a buffer is sent to the server.
---@param bufnr integer
---@param root? string
local function should_attach(bufnr, root)
  return documents.is_file(bufnr) and (root ~= nil or documents.is_prompt(bufnr))
end

---@param bufnr integer
---@param on_dir fun(root?: string)
local function root_dir(bufnr, on_dir)
  local root = documents.root(bufnr)
  if not should_attach(bufnr, root) then
    return
  end
  local command, problem = server.find(root)
  if not command and resolves_command() then
    notify.warn_once(problem --[[@as string]])
    return
  end
  vim.schedule(function() -- after the file type plugin has set its options, before the client is attached
    if vim.api.nvim_buf_is_valid(bufnr) then
      code_buffers.save_options(bufnr)
    end
  end)
  on_dir(root)
end

--- Return the client configuration for `vim.lsp.enable('promptls')`.
---@return vim.lsp.Config
function M.config()
  return {
    cmd = function(dispatchers, client_config)
      local command, problem = server.find(client_config.root_dir)
      if not command then
        error('promptls: ' .. problem, 0)
      end
      return vim.lsp.rpc.start(command.cmd, hide_exit_status(dispatchers), {
        cwd = client_config.cmd_cwd,
        env = client_config.cmd_env,
        detached = client_config.detached,
      })
    end,
    root_dir = root_dir,
    get_language_id = documents.language,
    capabilities = {
      workspace = { textDocumentContent = { dynamicRegistration = false } },
      experimental = { promptls = { clientContext = true, complete = config.get().complete ~= nil } },
    },
    before_init = before_init,
    on_init = {
      function(client)
        on_init(client, server_settings(client.config))
      end,
    },
    on_attach = { on_attach },
    on_exit = { on_exit },
    handlers = handlers.handlers,
  }
end

--- Return whether the server of a buffer was started and is not initialized.
---@param bufnr? integer
function M.is_starting(bufnr)
  return starting[documents.root(bufnr or 0) or ''] ~= nil
end

--- Return the running client of a buffer, else the client of its workspace.
---@param bufnr? integer
---@return vim.lsp.Client?
function M.get(bufnr)
  bufnr = bufnr and bufnr ~= 0 and bufnr or vim.api.nvim_get_current_buf()
  local attached = vim.lsp.get_clients({ name = M.NAME, bufnr = bufnr })[1]
  if attached then
    return attached
  end
  local root = documents.root(bufnr)
  for _, client in ipairs(vim.lsp.get_clients({ name = M.NAME })) do
    if client.root_dir and root and vim.fs.normalize(client.root_dir) == root and not client:is_stopped() then
      return client
    end
  end
end

--- Call back with the client of a buffer. Starts a server if none is running.
---@param bufnr integer
---@param callback fun(client: vim.lsp.Client)
---@param attach? boolean Attach the buffer to the client.
function M.ensure(bufnr, callback, attach)
  local running = M.get(bufnr)
  if running and attach and not vim.lsp.buf_is_attached(bufnr, running.id) then
    code_buffers.save_options(bufnr)
    vim.lsp.buf_attach_client(bufnr, running.id)
  end
  if running then
    return callback(running)
  end
  local client_config = vim.lsp.config[M.NAME]
  if not client_config then
    return notify.error("The plugin folder is not in 'runtimepath'. See :help promptls-install.")
  end
  client_config = vim.deepcopy(client_config)
  client_config.root_dir = documents.root(bufnr)
  local command, problem = server.find(client_config.root_dir)
  if not command and resolves_command() then
    return notify.error(problem --[[@as string]])
  end
  if not M.enabled() then
    notify.warn_once("Unsaved edits are not used. Add vim.lsp.enable('promptls') to your init.lua.")
  end
  local id = start(client_config, attach and { bufnr } or {})
  local client = id and vim.lsp.get_client_by_id(id)
  if not client then
    return
  end
  if client.initialized then
    return callback(client)
  end
  on_initialized[client.id] = on_initialized[client.id] or {}
  table.insert(on_initialized[client.id], callback)
end

---@class promptls.RequestOptions
---@field bufnr? integer Buffer that determines the workspace; default: the current one.
---@field client_id? integer Send the request to this client instead.
---@field on_result fun(result: any, client: vim.lsp.Client)
---@field on_error? fun(message: string, code?: integer) Default: show the message.

---@class promptls.Handle
---@field cancel fun()
---@field done boolean

--- Send a request to the server. Exactly one of the callbacks is called, once.
---@param method string
---@param params table|fun(client: vim.lsp.Client): table
---@param opts promptls.RequestOptions
---@return promptls.Handle
function M.request(method, params, opts)
  local handle = { done = false }
  local on_error = opts.on_error or notify.error
  local cancel_request ---@type fun()?

  local function finish(callback, ...)
    if handle.done then
      return
    end
    handle.done = true
    callback(...)
  end

  function handle.cancel()
    if cancel_request then
      cancel_request()
    end
    finish(on_error, 'Cancelled.', REQUEST_CANCELLED)
  end

  local function send(client)
    if handle.done then
      return
    end
    local request_params = type(params) == 'function' and params(client) or params
    ---@cast request_params table
    local request_id ---@type integer?
    local function remove_pending()
      if request_id and pending[client.id] then
        pending[client.id][request_id] = nil
      end
    end
    -- Without a buffer, Neovim flushes the pending edits of all buffers first.
    local sent, id = client:request(method, context.as_object(request_params), function(err, result)
      remove_pending()
      if err then
        finish(on_error, err.message, err.code)
      else
        finish(opts.on_result, result, client)
      end
    end)
    if not sent or not id then
      return finish(on_error, 'The server is not running. Run :Promptls restart.')
    end
    request_id = id
    if handle.done then
      return
    end
    cancel_request = function()
      remove_pending()
      client:cancel_request(id)
    end
    pending[client.id] = pending[client.id] or {}
    pending[client.id][id] = {
      cancel = handle.cancel,
      fail = function(message)
        finish(on_error, message)
      end,
    }
  end
  local given = opts.client_id and vim.lsp.get_client_by_id(opts.client_id)
  if given then
    send(given)
  elseif opts.client_id then
    finish(on_error, 'The server was restarted. Build the prompt or run the command again.')
  else
    M.ensure(opts.bufnr or vim.api.nvim_get_current_buf(), send)
  end
  return handle
end

--- Send a request to the server and wait for the response.
---@param method string
---@param params table|fun(client: vim.lsp.Client): table
---@param timeout integer Milliseconds.
---@param bufnr? integer
---@return any? result
---@return string? problem
function M.request_sync(method, params, timeout, bufnr)
  local result, problem
  local handle = M.request(method, params, {
    bufnr = bufnr,
    on_result = function(response)
      result = response
    end,
    on_error = function(message)
      problem = message
    end,
  })
  local responded = vim.wait(timeout, function()
    return handle.done
  end, 10)
  if not responded then
    handle.cancel()
    problem = ('The server did not respond within %d seconds.'):format(timeout / 1000)
  end
  return result, problem
end

--- Cancel all pending requests.
---@return integer count
function M.cancel()
  local count = 0
  for _, requests in pairs(pending) do
    for _, request in ipairs(vim.tbl_values(requests)) do
      count = count + 1
      request.cancel()
    end
  end
  return count
end

--- Return whether any request is pending.
---@return boolean
function M.busy()
  for _, requests in pairs(pending) do
    if next(requests) then
      return true
    end
  end
  return false
end

--- Return the buffers without a server that should have one, for example after repeated crashes.
---@return integer[][] groups Buffers grouped by workspace.
local function unattached_buffers()
  local filetypes = (vim.lsp.config[M.NAME] or {}).filetypes
  local groups = {} ---@type table<string, integer[]>
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(bufnr) and #vim.lsp.get_clients({ name = M.NAME, bufnr = bufnr }) == 0 then
      local root = documents.root(bufnr)
      local has_filetype = not filetypes or vim.list_contains(filetypes, vim.bo[bufnr].filetype)
      local is_file = M.enabled() and has_filetype and should_attach(bufnr, root)
      if is_file or vim.startswith(vim.api.nvim_buf_get_name(bufnr), documents.SCHEME) then
        local key = root or ''
        groups[key] = vim.list_extend(groups[key] or {}, { bufnr })
      end
    end
  end
  return vim.tbl_values(groups)
end

--- Attach buffers of one workspace to a server.
---@param bufnrs integer[]
local function attach_buffers(bufnrs)
  M.ensure(bufnrs[1], function()
    for _, bufnr in ipairs(bufnrs) do
      if vim.api.nvim_buf_is_loaded(bufnr) then
        M.ensure(bufnr, function() end, true)
      end
    end
  end, true)
end

--- Restart all servers for their buffers, and attach the buffers without a server.
---@param bufnr? integer
function M.restart(bufnr)
  server.reset_trust()
  crashes = {}
  local clients, groups = vim.lsp.get_clients({ name = M.NAME }), unattached_buffers()
  vim.iter(groups):each(attach_buffers)
  for _, client in ipairs(clients) do
    restarting[client.id] = true
    client:stop()
    vim.defer_fn(function()
      if restarting[client.id] then -- the server did not exit
        client.rpc.terminate()
      end
    end, TERMINATE_AFTER)
  end
  if #clients == 0 and #groups == 0 then
    M.ensure(bufnr or vim.api.nvim_get_current_buf(), function() end)
  end
end

return M
