-- What users and other plugins call.  Everything is loaded when it is first used.

local M = {}

--- Set options and switch the language server on; the same as `vim.g.promptls` and `vim.lsp.enable('promptls')`.
---@param opts? promptls.Options
function M.setup(opts)
  require('promptls.config').set(opts)
  vim.lsp.enable('promptls')
end

--- Ask a question in a small window.
---@param given? {text?: string, opts?: promptls.BuildOptions, lines?: {[1]: integer, [2]: integer}}
function M.ask(given)
  return require('promptls.ask').open(given)
end

--- Build a prompt for a message; `on_result` gets the server's answer.
---@param message string
---@param opts? promptls.BuildOptions
---@param on_result fun(result: table)
---@param on_error? fun(message: string, code?: integer)
---@return promptls.Handle handle Its `cancel()` ends the request.
function M.build(message, opts, on_result, on_error)
  return require('promptls.prompt').request({ message = message, opts = opts }, on_result, on_error)
end

--- Build a prompt for a message and show it.
---@param message string
---@param opts? promptls.BuildOptions
function M.preview(message, opts)
  require('promptls.prompt').show({ message = message, opts = opts }, function()
    M.ask({ text = message, opts = opts })
  end)
end

--- Look for something; hits go into the quickfix list, or are chosen from.
---@param query string
---@param to? 'quickfix'|'select'
function M.search(query, to)
  require('promptls.pages').search({ query = query }, to)
end

--- Ask the server anything (see the protocol reference).
---@param method string
---@param params table
---@param opts promptls.RequestOptions
---@return promptls.Handle
function M.request(method, params, opts)
  return require('promptls.client').request(method, params, opts)
end

--- Offer a place to send prompts to, for the key `s` of the preview.
---@param name string
---@param consumer promptls.Consumer
function M.register(name, consumer)
  require('promptls.consumers').register(name, consumer)
end

--- A few words about the index, for a statusline.
---@param bufnr? integer
---@return string
function M.statusline(bufnr)
  return require('promptls.statusline').text(bufnr)
end

--- A 'completefunc' for input buffers of other plugins: completes the mention before the cursor.
---@param findstart 0|1
---@param base string
function M.completefunc(findstart, base)
  return require('promptls.inputs').completefunc(findstart, base)
end

return M
