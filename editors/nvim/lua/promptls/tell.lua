-- What the plugin says to people: one way to say it, with the plugin's name in front.

local M = {}

---@param text string
---@param level integer
local function say(text, level)
  local function notify()
    vim.notify('promptls: ' .. text, level, { title = 'promptls' })
  end
  if vim.in_fast_event() then
    vim.schedule(notify)
  else
    notify()
  end
end

---@param text string
function M.info(text)
  say(text, vim.log.levels.INFO)
end

---@param text string
function M.warn(text)
  say(text, vim.log.levels.WARN)
end

---@param text string
function M.error(text)
  say(text, vim.log.levels.ERROR)
end

---@type table<string, true>
local said = {}

--- Say something only once in a session.
---@param text string
function M.once(text)
  if not said[text] then
    said[text] = true
    M.warn(text)
  end
end

--- A number with commas, as the server writes them.
---@param number number
---@return string
function M.number(number)
  local digits = tostring(math.floor(number))
  local grouped = digits:reverse():gsub('(%d%d%d)', '%1,'):reverse()
  return (grouped:gsub('^,', ''))
end

return M
