-- Limits the client to text synchronization in code buffers, so that hover, completion, tags, rename and code actions
-- remain with the user's other language servers.

local documents = require('promptls.documents')

local M = {}

---@type table<integer, table<string, string>> Buffer → option values before the client was attached.
local saved_options = {}

--- Buffer options that Neovim sets for any attached client.
local lsp_options = {
  { option = 'tagfunc', value = 'v:lua.vim.lsp.tagfunc', method = 'textDocument/definition' },
  { option = 'omnifunc', value = 'v:lua.vim.lsp.omnifunc', method = 'textDocument/completion' },
}

--- Save the buffer options that Neovim overwrites when a client is attached.
---@param bufnr integer
function M.save_options(bufnr)
  saved_options[bufnr] = saved_options[bufnr] or {}
  for _, default in ipairs(lsp_options) do
    local value = vim.bo[bufnr][default.option]
    if value ~= default.value then
      saved_options[bufnr][default.option] = value
    end
  end
end

---@param client vim.lsp.Client
---@param bufnr integer
---@param method string
local function other_client_supports(client, bufnr, method)
  for _, other in ipairs(vim.lsp.get_clients({ bufnr = bufnr, method = method })) do
    if other.id ~= client.id then
      return true
    end
  end
  return false
end

--- Restore the options and keys that Neovim changed, unless another client needs them.
---@param client vim.lsp.Client
---@param bufnr integer
function M.restore_defaults(client, bufnr)
  for _, default in ipairs(lsp_options) do
    local set_by_lsp = vim.bo[bufnr][default.option] == default.value
    if set_by_lsp and not other_client_supports(client, bufnr, default.method) then
      vim.bo[bufnr][default.option] = (saved_options[bufnr] or {})[default.option] or ''
    end
  end
  if not other_client_supports(client, bufnr, 'textDocument/hover') then
    for _, map in ipairs(vim.api.nvim_buf_get_keymap(bufnr, 'n')) do
      if map.lhs == 'K' and map.desc == 'vim.lsp.buf.hover()' then
        vim.keymap.del('n', 'K', { buffer = bufnr })
      end
    end
  end
  -- Neovim starts semantic tokens in the next event-loop step. Stop them in the step after that.
  vim.schedule(function()
    vim.schedule(function()
      if vim.api.nvim_buf_is_valid(bufnr) and vim.lsp.buf_is_attached(bufnr, client.id) then
        vim.lsp.semantic_tokens.stop(bufnr, client.id)
      end
    end)
  end)
end

--- Return whether a method is enabled in a buffer. In code only text synchronization is enabled.
---@param method string
---@param bufnr integer
local function is_enabled(method, bufnr)
  if not method:find('^textDocument/') or method:find('^textDocument/did') or method:find('^textDocument/will') then
    return true
  end
  if not vim.api.nvim_buf_is_valid(bufnr) then
    return false
  end
  return documents.has_features(bufnr)
end

--- Override `supports_method` of a client so that Neovim sends feature requests only where `has_features`.
---@param client vim.lsp.Client
function M.limit_methods(client)
  local supports = client.supports_method
  client.supports_method = function(...)
    local arguments = select(1, ...) == client and { select(2, ...) } or { ... }
    local method, bufnr = arguments[1], arguments[2]
    if type(bufnr) == 'table' then
      bufnr = bufnr.bufnr
    end
    if bufnr and not is_enabled(method, bufnr == 0 and vim.api.nvim_get_current_buf() or bufnr) then
      return false
    end
    return supports(client, method, bufnr)
  end
end

return M
