-- Resolution of the server command: the option `cmd`, then the workspace's virtual environment if it is trusted, then
-- the PATH.

local config = require('promptls.config')

local M = {}

---@class promptls.ServerCommand
---@field cmd string[] The whole command.
---@field source string Human-readable origin of the command.

---@param venv string
---@return string? executable
local function executable_in_venv(venv)
  local paths = vim.fn.has('win32') == 1 and { 'Scripts/promptls.exe' } or { 'bin/promptls' }
  for _, path in ipairs(paths) do
    local executable = vim.fs.joinpath(venv, path)
    if vim.fn.executable(executable) == 1 then
      return executable
    end
  end
end

--- Return whether executables of a workspace's virtual environment may be run.
---@param venv string
local function is_trusted(venv)
  local trust = config.get().trust_workspace_venv
  if trust ~= 'ask' then
    return trust == true
  end
  -- vim.secure asks in a dialog and stores the answer. Without a user interface the dialog cannot be answered.
  return #vim.api.nvim_list_uis() > 0 and vim.secure.read(venv) == true
end

---@type table<string, boolean> Virtual environment → whether it is trusted.
local trust_cache = {}

--- Return the command that starts the server for a workspace.
---@param root? string
---@return promptls.ServerCommand? command
---@return string? problem Error message.
function M.find(root)
  local configured = config.get().cmd
  if type(configured) == 'string' and configured ~= '' then
    configured = { vim.fn.expand(configured), 'serve' }
  end
  if type(configured) == 'table' and #configured > 0 then
    if vim.fn.executable(configured[1]) == 0 then
      return nil, ('Option cmd: %s is not executable. Correct or remove the option.'):format(configured[1])
    end
    return { cmd = configured, source = 'the option cmd' }
  end
  local venv = root and vim.fs.joinpath(root, '.venv')
  local executable = venv and executable_in_venv(venv)
  if venv and executable then
    if trust_cache[venv] == nil then
      trust_cache[venv] = is_trusted(venv)
    end
    if trust_cache[venv] then
      return { cmd = { executable, 'serve' }, source = "the workspace's .venv" }
    end
  end
  local path = vim.fn.exepath('promptls')
  -- On Windows the search path includes the current folder, whose executables are not trusted.
  if path ~= '' and vim.fn.has('win32') == 1 and vim.fs.dirname(vim.fs.normalize(path)) == vim.fn.getcwd() then
    path = ''
  end
  if path ~= '' then
    return { cmd = { path, 'serve' }, source = 'the PATH' }
  end
  local hint = executable and " To use the one in this workspace's .venv, set trust_workspace_venv." or ''
  return nil, 'Executable promptls not found. See :help promptls-install.' .. hint
end

--- Clear the cached trust decisions.
function M.reset_trust()
  trust_cache = {}
end

return M
