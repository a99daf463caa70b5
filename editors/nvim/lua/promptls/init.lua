-- Public Lua API of the plugin. Each function loads its module on first use.

local M = {}

--- Set options and enable the language server.
--- Equivalent to setting `vim.g.promptls` and calling `vim.lsp.enable('promptls')`.
---@param opts? promptls.Options
function M.setup(opts)
  require('promptls.config').set(opts)
  vim.lsp.enable('promptls')
end

--- Open a question window.
---@param opts? promptls.AskOptions
function M.ask(opts)
  return require('promptls.ask').open(opts)
end

--- Build a prompt for a message and pass the response to `on_result`.
---@param message string
---@param opts? promptls.BuildOptions
---@param on_result fun(result: table)
---@param on_error? fun(message: string, code?: integer)
---@return promptls.Handle handle Its `cancel()` cancels the request.
function M.build(message, opts, on_result, on_error)
  return require('promptls.prompt').request({ message = message, opts = opts }, on_result, on_error)
end

--- Build a prompt for a message and open its page.
---@param message string
---@param opts? promptls.BuildOptions
function M.preview(message, opts)
  require('promptls.prompt').show({ message = message, opts = opts })
end

--- Search the workspace; results go to the quickfix list or a selection menu.
---@param query string
---@param to? 'quickfix'|'select'
function M.search(query, to)
  require('promptls.queries').search({ query = query }, to)
end

--- Send a request to the server (see the protocol reference).
---@param method string
---@param params table
---@param opts promptls.RequestOptions
---@return promptls.Handle
function M.request(method, params, opts)
  return require('promptls.client').request(method, params, opts)
end

--- Register a function to which the key `s` of pages can send prompts.
---@param name string
---@param consumer promptls.Consumer
function M.register(name, consumer)
  require('promptls.consumers').register(name, consumer)
end

--- Return the index status for a statusline.
---@param bufnr? integer
---@return string
function M.statusline(bufnr)
  return require('promptls.statusline').text(bufnr)
end

--- Complete the mention before the cursor: a 'completefunc' for input buffers of other plugins.
---@param findstart 0|1
---@param base string
function M.completefunc(findstart, base)
  return require('promptls.completefunc').complete(findstart, base)
end

return M
