-- Resolution of the server command: the option `cmd`, then the folders in which Python tools are installed. Programs of
-- a workspace are run only if the user trusts it.

local config = require('promptls.config')
local documents = require('promptls.documents')

local M = {}

---@class promptls.ServerCommand
---@field cmd string[] The whole command.
---@field source string Human-readable origin of the command.

--- Return the folders in which the server may be installed, in the order of the search.
---@param root? string
---@return {path: string, source: string}[]
local function folders(root)
  local is_windows = vim.fn.has('win32') == 1
  local scripts, env, found = is_windows and 'Scripts' or 'bin', vim.env, {}
  local function add(source, folder, ...)
    -- A relative folder of the PATH would lead into the workspace.
    if folder and vim.fn.isabsolutepath(folder) == 1 then
      found[#found + 1] = { path = vim.fs.normalize(vim.fs.joinpath(folder, ...)), source = source }
    end
  end
  add("the workspace's .venv", root, '.venv', scripts)
  add('VIRTUAL_ENV', env.VIRTUAL_ENV, scripts)
  add('CONDA_PREFIX', env.CONDA_PREFIX, scripts)
  for _, folder in ipairs(vim.split(env.PATH or '', is_windows and ';' or ':')) do
    add('the PATH', folder)
  end
  -- A Neovim that was started from a desktop often lacks these folders on its PATH.
  add('~/.local/bin', vim.uv.os_homedir(), '.local', 'bin')
  add("the folder of uv's tools", env.UV_TOOL_BIN_DIR or env.XDG_BIN_HOME)
  add("the folder of uv's tools", env.XDG_DATA_HOME, '..', 'bin')
  add("the folder of pipx's tools", env.PIPX_BIN_DIR)
  return found
end

--- Return whether a folder belongs to a workspace, also by a symbolic link. A workspace that is the home folder or a
--- parent of it does not count, because it contains the user's own programs.
---@param folder string
---@param root? string
local function is_in_workspace(folder, root)
  if not root or documents.contains(root, vim.fs.normalize(vim.uv.os_homedir() or '/')) then
    return false
  end
  local real_root, real_folder = vim.uv.fs_realpath(root) or root, vim.uv.fs_realpath(folder) or folder
  return documents.contains(root, folder) or documents.contains(real_root, real_folder)
end

---@type table<string, boolean> Virtual environment → whether it is trusted.
local trust_cache = {}

--- Return whether programs of a workspace's virtual environment may be run.
---@param venv string
local function is_trusted(venv)
  local trust = config.get().trust_workspace_venv
  if trust ~= 'ask' then
    return trust == true
  end
  if trust_cache[venv] == nil then
    -- vim.secure asks in a dialog and stores the answer. Without a user interface the dialog cannot be answered.
    trust_cache[venv] = #vim.api.nvim_list_uis() > 0 and vim.secure.read(venv) == true
  end
  return trust_cache[venv]
end

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
  local untrusted
  for i, folder in ipairs(folders(root)) do
    local executable = vim.fn.exepath(vim.fs.joinpath(folder.path, 'promptls'))
    if executable ~= '' then
      local venv = vim.fs.dirname(folder.path)
      local needs_trust = root and i == 1 or is_in_workspace(folder.path, root)
      if not needs_trust or is_trusted(venv) then
        return { cmd = { executable, 'serve' }, source = folder.source }
      end
      untrusted = untrusted or venv
    end
  end
  local problem = 'Server not found: run "uv tool install" with the wheel of a release, then :Promptls restart.'
  local hint = ' To use the one in %s, set trust_workspace_venv (:help promptls-install).'
  return nil, problem .. (untrusted and hint:format(untrusted) or '')
end

--- Clear the cached trust decisions.
function M.reset_trust()
  trust_cache = {}
end

return M
