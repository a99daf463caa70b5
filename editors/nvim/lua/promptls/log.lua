-- Opens the log file of the server.

local notify = require('promptls.notify')
local window = require('promptls.window')

local M = {}

--- Return the path of the log file on this system; `promptls doctor` reports it, too, but is slow.
---@return string
local function default_log_file()
  local home = vim.uv.os_homedir() or ''
  local folder = vim.fs.joinpath(vim.env.XDG_STATE_HOME or vim.fs.joinpath(home, '.local', 'state'), 'promptls', 'log')
  if vim.fn.has('mac') == 1 then
    folder = vim.fs.joinpath(home, 'Library', 'Logs', 'promptls')
  elseif vim.fn.has('win32') == 1 then
    folder = vim.fs.joinpath(vim.env.LOCALAPPDATA or home, 'promptls', 'Logs')
  end
  return vim.fs.joinpath(folder, 'promptls.log')
end

---@param file string
local function view(file)
  vim.api.nvim_set_current_win(window.non_floating())
  vim.cmd('botright split')
  -- The log quotes names of files, which must not be taken for a modeline. A new buffer inherits the global value.
  local modeline = vim.go.modeline
  vim.go.modeline = false
  vim.cmd.view({ args = { file }, magic = { file = false } })
  vim.go.modeline = modeline
  vim.cmd('normal! G')
end

--- Open the log file in a split, with the cursor on the newest line.
function M.open()
  local file = default_log_file()
  if vim.uv.fs_stat(file) then
    return view(file)
  end
  notify.info(('The server has not written the log file %s.'):format(vim.fn.fnamemodify(file, ':~')))
end

return M
