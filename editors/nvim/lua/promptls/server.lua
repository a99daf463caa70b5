-- Where the server's program is: named by the user, else in the workspace's virtual environment if that is
-- trusted, else on the PATH.

local config = require('promptls.config')

local M = {}

---@class promptls.Found
---@field cmd string[] The whole command.
---@field from string Where it was found, for people.

---@param folder string
---@return string? program
local function in_venv(folder)
  local places = vim.fn.has('win32') == 1 and { 'Scripts/promptls.exe' } or { 'bin/promptls' }
  for _, place in ipairs(places) do
    local program = vim.fs.joinpath(folder, place)
    if vim.fn.executable(program) == 1 then
      return program
    end
  end
end

--- Whether programs of a workspace's virtual environment may be run.
---@param folder string
local function trusted(folder)
  local trust = config.get().trust_workspace_venv
  if trust ~= 'ask' then
    return trust == true
  end
  -- vim.secure asks in a dialog and remembers; without a screen nobody could answer.
  return #vim.api.nvim_list_uis() > 0 and vim.secure.read(folder) == true
end

---@type table<string, boolean>
local asked = {}

--- The command that starts the server for a workspace.
---@param root? string
---@return promptls.Found? found
---@return string? problem What is wrong and what to do.
function M.find(root)
  local named = config.get().cmd
  if type(named) == 'string' and named ~= '' then
    named = { vim.fn.expand(named), 'serve' }
  end
  if type(named) == 'table' and #named > 0 then
    if vim.fn.executable(named[1]) == 0 then
      return nil, ("The option cmd names %s, which cannot be run; correct it or remove it."):format(named[1])
    end
    return { cmd = named, from = 'the option cmd' }
  end
  local venv = root and vim.fs.joinpath(root, '.venv')
  local program = venv and in_venv(venv)
  if venv and program then
    if asked[venv] == nil then
      asked[venv] = trusted(venv)
    end
    if asked[venv] then
      return { cmd = { program, 'serve' }, from = "the workspace's .venv" }
    end
  end
  local path = vim.fn.exepath('promptls')
  -- On Windows the current folder counts as on the PATH; what lies there has not been trusted by anybody.
  if path ~= '' and vim.fn.has('win32') == 1 and vim.fs.dirname(vim.fs.normalize(path)) == vim.fn.getcwd() then
    path = ''
  end
  if path ~= '' then
    return { cmd = { path, 'serve' }, from = 'the PATH' }
  end
  local hint = program and ' The .venv of this workspace has one (option trust_workspace_venv).' or ''
  return nil, 'The program promptls was not found; see :help promptls-install.' .. hint
end

--- Ask about virtual environments again.
function M.forget()
  asked = {}
end

return M
