-- The language server as Neovim's client sees it: its configuration, requests, and what happens when it ends.

local config = require('promptls.config')
local context = require('promptls.context')
local documents = require('promptls.documents')
local server = require('promptls.server')
local tell = require('promptls.tell')

local M = {}

M.NAME = 'promptls'
local CANCELLED = -32800

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

---@class promptls.Status As `promptls/status` answers.
---@field state 'scanning'|'indexing'|'ready'|'degraded'
---@field complete number Share of the work that is done, 0 to 1.
---@field generation integer
---@field roots promptls.RootStatus[]
---@field embedder {model: string, dimension: integer, problem: string, embedded: integer}
---@field disk {bytes: integer, rows: integer, versions: integer, fragments: integer}
---@field memoryBytes integer
---@field message string
---@field log string

---@type table<integer, promptls.Status> Client → what it last told of its index.
M.states = {}

---@class promptls.Pending
---@field cancel fun()
---@field fail fun(message: string)

---@type table<integer, table<integer, promptls.Pending>> Client → request → who waits for it.
local pending = {}
---@type table<integer, fun(client: vim.lsp.Client)[]> Client → who waits until it has started.
local waiting = {}
---@type table<integer, table> Client → settings that went with `initialize`.
local told = {}
---@type table<integer, true> Clients that are stopped in order to be started again.
local restarting = {}
---@type table<string, number[]> Workspace → when its server died, in seconds.
local deaths = {}
---@type table<integer, table<string, string>> Buffer → options as they were before the client was attached.
local before = {}

--- Options and keys that Neovim sets for any client.  In code they are other servers' business: this one only
--- reads it.
local defaults = {
  { option = 'tagfunc', value = 'v:lua.vim.lsp.tagfunc', method = 'textDocument/definition' },
  { option = 'omnifunc', value = 'v:lua.vim.lsp.omnifunc', method = 'textDocument/completion' },
}

---@param bufnr integer
local function remember(bufnr)
  before[bufnr] = before[bufnr] or {}
  for _, default in ipairs(defaults) do
    local value = vim.bo[bufnr][default.option]
    if value ~= default.value then
      before[bufnr][default.option] = value
    end
  end
end

---@param client vim.lsp.Client
---@param bufnr integer
local function others_have(client, bufnr, method)
  for _, other in ipairs(vim.lsp.get_clients({ bufnr = bufnr, method = method })) do
    if other.id ~= client.id then
      return true
    end
  end
  return false
end

---@param client vim.lsp.Client
---@param bufnr integer
local function leave_alone(client, bufnr)
  for _, default in ipairs(defaults) do
    if vim.bo[bufnr][default.option] == default.value and not others_have(client, bufnr, default.method) then
      vim.bo[bufnr][default.option] = (before[bufnr] or {})[default.option] or ''
    end
  end
  if not others_have(client, bufnr, 'textDocument/hover') then
    for _, map in ipairs(vim.api.nvim_buf_get_keymap(bufnr, 'n')) do
      if map.lhs == 'K' and map.desc == 'vim.lsp.buf.hover()' then
        vim.keymap.del('n', 'K', { buffer = bufnr })
      end
    end
  end
  -- Neovim starts semantic tokens one step after this; so they are stopped two steps after it.
  vim.schedule(function()
    vim.schedule(function()
      if vim.api.nvim_buf_is_valid(bufnr) and vim.lsp.buf_is_attached(bufnr, client.id) then
        vim.lsp.semantic_tokens.stop(bufnr, client.id)
      end
    end)
  end)
end

--- Whether a feature is the server's business in a buffer: all of them are in prompts, none is in code.
---@param method string
---@param bufnr integer
local function concerns(method, bufnr)
  if not method:find('^textDocument/') or method:find('^textDocument/did') or method:find('^textDocument/will') then
    return true
  end
  if not vim.api.nvim_buf_is_valid(bufnr) then
    return false
  end
  return documents.is_prompt(bufnr)
    or (method == 'textDocument/foldingRange' and vim.bo[bufnr].filetype == 'promptls-built')
end

--- Have Neovim ask only in prompts, so that `K`, renaming and the like stay with other servers in code.
---@param client vim.lsp.Client
local function narrow(client)
  local supports = client.supports_method
  client.supports_method = function(...)
    local arguments = select(1, ...) == client and { select(2, ...) } or { ... }
    local method, bufnr = arguments[1], arguments[2]
    if type(bufnr) == 'table' then
      bufnr = bufnr.bufnr
    end
    if bufnr and not concerns(method, bufnr == 0 and vim.api.nvim_get_current_buf() or bufnr) then
      return false
    end
    return supports(client, method, bufnr)
  end
end

---@param client vim.lsp.Client
local function on_init(client)
  narrow(client)
  local callbacks = waiting[client.id] or {}
  waiting[client.id] = nil
  vim.schedule(function()
    for _, callback in ipairs(callbacks) do
      callback(client)
    end
  end)
end

---@param client vim.lsp.Client
---@param bufnr integer
local function on_attach(client, bufnr)
  if documents.is_prompt(bufnr) then
    require('promptls.prompt').attach(client, bufnr)
  else
    leave_alone(client, bufnr)
  end
end

--- Settings as the server is told: those of the plugin's options, and of `vim.lsp.config('promptls', …)`.
---@param given vim.lsp.ClientConfig
---@return table
local function settings_of(given)
  local named = vim.tbl_get(given, 'settings', M.NAME)
  return vim.tbl_deep_extend('force', given.init_options or {}, config.get().settings, named or {})
end

---@param params lsp.InitializeParams
---@param given vim.lsp.ClientConfig
local function before_init(params, given)
  params.initializationOptions = context.object(settings_of(given))
  if type(params.workspaceFolders) == 'table' then
    -- Neovim names a folder by its whole path; in mentions (`@name:path`) its last part is the name.
    params.workspaceFolders = vim.tbl_map(function(folder)
      return { uri = folder.uri, name = vim.fs.basename((folder.name:gsub('/+$', ''))) }
    end, params.workspaceFolders)
  end
end

--- Start a server for some buffers.
---@param given vim.lsp.ClientConfig
---@param bufnrs integer[]
---@return integer? client_id
local function start(given, bufnrs)
  local id
  for _, bufnr in ipairs(bufnrs) do
    if vim.api.nvim_buf_is_loaded(bufnr) then
      remember(bufnr)
      id = vim.lsp.start(given, { bufnr = bufnr }) or id
    end
  end
  return id or vim.lsp.start(given, { attach = false })
end

--- Whether a server may be started once more after it died.
---@param root string
local function may_restart(root)
  local now = vim.uv.now() / 1000
  deaths[root] = vim.tbl_filter(function(at)
    return now - at < 60
  end, deaths[root] or {})
  table.insert(deaths[root], now)
  return #deaths[root] <= config.get().restarts
end

---@type {code: integer, signal: integer}? How a server has just ended.
local ended

--- Neovim warns of a server that died with a message that stops all work until a key is pressed.  What is started
--- by us is also missed by us, so Neovim is told that it just ended.
---@param dispatchers vim.lsp.rpc.Dispatchers
local function watched(dispatchers)
  return vim.tbl_extend('force', dispatchers, {
    on_exit = function(code, signal)
      ended = { code = code, signal = signal }
      dispatchers.on_exit(0, 0)
      ended = nil
    end,
  })
end

---@param code integer
---@param signal integer
---@param id integer
local function on_exit(code, signal, id)
  if ended then
    code, signal = ended.code, ended.signal
  end
  local client = vim.lsp.get_client_by_id(id)
  local bufnrs = client and vim.tbl_keys(client.attached_buffers) or {}
  local wanted = restarting[id]
  restarting[id] = nil
  vim.schedule(function()
    M.states[id], told[id], waiting[id] = nil, nil, nil
    for _, one in pairs(pending[id] or {}) do
      one.fail('The server ended before it had answered; ask again.')
    end
    pending[id] = nil
    if not client or vim.v.exiting ~= vim.NIL then
      return
    end
    local died = code ~= 0 or (signal ~= 0 and signal ~= 15)
    if not wanted and not died then
      return
    end
    local how = signal ~= 0 and ('signal %d'):format(signal) or ('exit code %d'):format(code)
    if not wanted and not may_restart(client.root_dir or '') then
      local text = 'The server has died again (%s) and is left alone; see :Promptls log and :Promptls restart.'
      return tell.error(text:format(how))
    end
    -- Neovim forgets the old client in a step of its own, which is already waiting.
    vim.schedule(function()
      local again = start(client.config, bufnrs)
      if again and not wanted then
        waiting[again] = waiting[again] or {}
        table.insert(waiting[again], function()
          tell.warn(('The server had died (%s) and runs again.'):format(how))
        end)
      end
    end)
  end)
end

---@type table<string, lsp.Handler>
local handlers = {}

handlers['promptls/statusChanged'] = function(_, status, ctx)
  M.states[ctx.client_id] = status
  vim.api.nvim_exec_autocmds('User', {
    pattern = 'PromptlsStatus',
    modeline = false,
    data = { client_id = ctx.client_id, status = status },
  })
  vim.cmd.redrawstatus({ bang = true })
end

handlers['promptls/clientContext'] = function(_, params, ctx)
  local client = assert(vim.lsp.get_client_by_id(ctx.client_id))
  return context.answer(params.kinds or {}, client.offset_encoding)
end

handlers['promptls/complete'] = function(_, params)
  local complete = config.get().complete
  if not complete then
    return nil, vim.lsp.rpc_response_error(vim.lsp.protocol.ErrorCodes.MethodNotFound)
  end
  local here, text, err, yielded = coroutine.running(), nil, nil, false
  local finished = false
  complete(params.messages, params.maxTokens, function(answer, problem)
    if finished then
      return
    end
    finished, text, err = true, answer, problem
    if yielded then
      vim.schedule(function()
        coroutine.resume(here)
      end)
    end
  end)
  if not finished then
    yielded = true
    coroutine.yield()
  end
  if not text then
    local failed = vim.lsp.protocol.ErrorCodes.RequestFailed
    return nil, vim.lsp.rpc_response_error(failed, err or 'The language model gave no answer.')
  end
  return { text = text }
end

--- What was told with `initialize` is not told again: from here it would count as a workspace's, which may set less.
handlers['workspace/configuration'] = function(err, params, ctx)
  local answers = vim.lsp.handlers['workspace/configuration'](err, params, ctx)
  local known = told[ctx.client_id] or {}
  for i, item in ipairs(params.items or {}) do
    if item.section == M.NAME and type(answers[i]) == 'table' then
      local changed = {}
      for section, values in pairs(answers[i]) do
        for name, value in pairs(type(values) == 'table' and values or {}) do
          if not vim.deep_equal(value, vim.tbl_get(known, section, name)) then
            changed[section] = changed[section] or {}
            changed[section][name] = value
          end
        end
      end
      answers[i] = context.object(changed)
    end
  end
  return answers
end

handlers['client/registerCapability'] = function(err, params, ctx)
  local answer = vim.lsp.handlers['client/registerCapability'](err, params, ctx)
  local client = vim.lsp.get_client_by_id(ctx.client_id)
  for bufnr in pairs(client and client.attached_buffers or {}) do
    if client and vim.api.nvim_buf_is_loaded(bufnr) and not documents.is_prompt(bufnr) then
      leave_alone(client, bufnr) -- Neovim has just set its defaults again
    end
  end
  return answer
end

--- Whether `vim.lsp.enable('promptls')` was called; the first Neovim 0.11 has no function that tells.
---@return boolean
function M.enabled()
  if vim.lsp.is_enabled then
    return vim.lsp.is_enabled(M.NAME)
  end
  return (vim.lsp._enabled_configs or {})[M.NAME] ~= nil
end

--- The program is looked for by us, unless the user's configuration of the client names it.
local function finds_itself()
  return type((vim.lsp.config[M.NAME] or {}).cmd) == 'function'
end

--- Whether a file is the server's to see.
---@param bufnr integer
---@param root? string
local function concerned(bufnr, root)
  return documents.is_file(bufnr) and (root ~= nil or documents.is_prompt(bufnr))
end

---@param bufnr integer
---@param on_dir fun(root?: string)
local function root_dir(bufnr, on_dir)
  local root = documents.root(bufnr)
  if not concerned(bufnr, root) then
    return
  end
  local found, problem = server.find(root)
  if not found and finds_itself() then
    tell.once(problem --[[@as string]])
    return
  end
  vim.schedule(function() -- after the file type's own plugin has set its options, before the client is attached
    if vim.api.nvim_buf_is_valid(bufnr) then
      remember(bufnr)
    end
  end)
  on_dir(root)
end

--- What `vim.lsp.enable('promptls')` starts.
---@return vim.lsp.Config
function M.config()
  return {
    cmd = function(dispatchers, given)
      local found, problem = server.find(given.root_dir)
      if not found then
        error('promptls: ' .. problem, 0)
      end
      return vim.lsp.rpc.start(found.cmd, watched(dispatchers), {
        cwd = given.cmd_cwd,
        env = given.cmd_env,
        detached = given.detached,
      })
    end,
    root_dir = root_dir,
    get_language_id = documents.language,
    capabilities = {
      experimental = { promptls = { clientContext = true, complete = config.get().complete ~= nil } },
    },
    before_init = before_init,
    on_init = {
      function(client)
        told[client.id] = settings_of(client.config)
        on_init(client)
      end,
    },
    on_attach = { on_attach },
    on_exit = { on_exit },
    handlers = handlers,
  }
end

--- The client of a buffer that has started: its own, else that of its workspace.
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

--- The client of a buffer, started if need be; the buffer is attached to it when `attach` is set.
---@param bufnr integer
---@param callback fun(client: vim.lsp.Client)
---@param attach? boolean
function M.ensure(bufnr, callback, attach)
  local known = M.get(bufnr)
  if known and attach and not vim.lsp.buf_is_attached(bufnr, known.id) then
    remember(bufnr)
    vim.lsp.buf_attach_client(bufnr, known.id)
  end
  if known then
    return callback(known)
  end
  local given = vim.lsp.config[M.NAME]
  if not given then
    return tell.error("The plugin's folder is not on the 'runtimepath'; see :help promptls-install.")
  end
  given = vim.deepcopy(given)
  given.root_dir = documents.root(bufnr)
  local found, problem = server.find(given.root_dir)
  if not found and finds_itself() then
    return tell.error(problem --[[@as string]])
  end
  if not M.enabled() then
    tell.once("Edits that are not saved are not seen until you have vim.lsp.enable('promptls') in your settings.")
  end
  local id = start(given, attach and { bufnr } or {})
  local client = id and vim.lsp.get_client_by_id(id)
  if not client then
    return
  end
  if client.initialized then
    return callback(client)
  end
  waiting[client.id] = waiting[client.id] or {}
  table.insert(waiting[client.id], callback)
end

---@class promptls.RequestOptions
---@field bufnr? integer The buffer whose workspace is meant; default: the current one.
---@field on_result fun(result: any, client: vim.lsp.Client)
---@field on_error? fun(message: string, code?: integer) Default: it is told.

---@class promptls.Handle
---@field cancel fun()
---@field done boolean

--- Ask the server; exactly one of the callbacks is called, once.
---@param method string
---@param params table|fun(client: vim.lsp.Client): table
---@param opts promptls.RequestOptions
---@return promptls.Handle
function M.request(method, params, opts)
  local handle = { done = false }
  local on_error = opts.on_error or tell.error
  local stop ---@type fun()?

  local function finish(callback, ...)
    if handle.done then
      return
    end
    handle.done = true
    callback(...)
  end

  function handle.cancel()
    if stop then
      stop()
    end
    finish(on_error, 'Cancelled.', CANCELLED)
  end

  M.ensure(opts.bufnr or vim.api.nvim_get_current_buf(), function(client)
    if handle.done then
      return
    end
    local given = type(params) == 'function' and params(client) or params
    ---@cast given table
    local request_id ---@type integer?
    local function forget()
      if request_id and pending[client.id] then
        pending[client.id][request_id] = nil
      end
    end
    -- Without a buffer Neovim sends the latest edits of all of them first.
    local sent, id = client:request(method, context.object(given), function(err, result)
      forget()
      if err then
        finish(on_error, err.message, err.code)
      else
        finish(opts.on_result, result, client)
      end
    end)
    if not sent or not id then
      return finish(on_error, 'The server is not running; :Promptls restart starts it.')
    end
    request_id = id
    if handle.done then
      return
    end
    stop = function()
      forget()
      client:cancel_request(id)
    end
    pending[client.id] = pending[client.id] or {}
    pending[client.id][id] = {
      cancel = handle.cancel,
      fail = function(message)
        finish(on_error, message)
      end,
    }
  end)
  return handle
end

--- Ask the server and wait for its answer.
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
    on_result = function(answer)
      result = answer
    end,
    on_error = function(message)
      problem = message
    end,
  })
  local answered = vim.wait(timeout, function()
    return handle.done
  end, 10)
  if not answered then
    handle.cancel()
    problem = ('The server has not answered within %d seconds.'):format(timeout / 1000)
  end
  return result, problem
end

--- Cancel all that was asked and is not answered.
---@return integer count
function M.cancel()
  local count = 0
  for _, of_client in pairs(pending) do
    for _, one in ipairs(vim.tbl_values(of_client)) do
      count = count + 1
      one.cancel()
    end
  end
  return count
end

--- Whether anything is asked that is not answered yet.
---@return boolean
function M.busy()
  for _, of_client in pairs(pending) do
    if next(of_client) then
      return true
    end
  end
  return false
end

--- Buffers that no server sees although one should: theirs was left alone, or not installed when they were opened.
---@return integer[][] found Those of one workspace together.
local function missed()
  local types = (vim.lsp.config[M.NAME] or {}).filetypes
  local found = {} ---@type table<string, integer[]>
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(bufnr) and #vim.lsp.get_clients({ name = M.NAME, bufnr = bufnr }) == 0 then
      local root = documents.root(bufnr)
      local named = not types or vim.list_contains(types, vim.bo[bufnr].filetype)
      local opened = M.enabled() and named and concerned(bufnr, root)
      if opened or vim.startswith(vim.api.nvim_buf_get_name(bufnr), documents.SCHEME) then
        local key = root or ''
        found[key] = vim.list_extend(found[key] or {}, { bufnr })
      end
    end
  end
  return vim.tbl_values(found)
end

--- Have a server see some buffers of one workspace.
---@param bufnrs integer[]
local function revive(bufnrs)
  M.ensure(bufnrs[1], function()
    for _, bufnr in ipairs(bufnrs) do
      if vim.api.nvim_buf_is_loaded(bufnr) then
        M.ensure(bufnr, function() end, true)
      end
    end
  end, true)
end

--- Stop all servers and start them again for the buffers that they had, and for those that have none.
---@param bufnr? integer
function M.restart(bufnr)
  server.forget()
  deaths = {}
  local clients, alone = vim.lsp.get_clients({ name = M.NAME }), missed()
  vim.iter(alone):each(revive)
  for _, client in ipairs(clients) do
    restarting[client.id] = true
    client:stop()
    vim.defer_fn(function()
      if restarting[client.id] then -- it does not end by itself
        client.rpc.terminate()
      end
    end, 3000)
  end
  if #clients == 0 and #alone == 0 then
    M.ensure(bufnr or vim.api.nvim_get_current_buf(), function() end)
  end
end

return M
