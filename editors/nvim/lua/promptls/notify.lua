-- Notifications for the user, with the plugin's name as prefix.

local M = {}

---@param text string
---@param level integer
local function notify(text, level)
  local function show()
    vim.notify('promptls: ' .. text, level, { title = 'promptls' })
  end
  if vim.in_fast_event() then
    vim.schedule(show)
  else
    show()
  end
end

--- Format a number with thousands separators.
---@param number integer
---@return string
function M.number(number)
  local grouped = tostring(number):reverse():gsub('(%d%d%d)', '%1,'):reverse()
  return (grouped:gsub('^,', ''))
end

---@param text string
function M.info(text)
  notify(text, vim.log.levels.INFO)
end

---@param text string
function M.warn(text)
  notify(text, vim.log.levels.WARN)
end

---@param text string
function M.error(text)
  notify(text, vim.log.levels.ERROR)
end

---@type table<string, true>
local shown = {}

--- Show a warning only once per session.
---@param text string
function M.warn_once(text)
  if not shown[text] then
    shown[text] = true
    M.warn(text)
  end
end

return M
