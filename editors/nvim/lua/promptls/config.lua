-- The plugin's own options: `vim.g.promptls` and what `setup()` was given, over the defaults.
-- What is wrong with them is told once, in a sentence, and the default is used instead.

---@class promptls.WindowOptions
---@field style? 'float'|'split'|'vsplit'|'tab'
---@field width? number Of a float: a share of the screen, or columns from 1 on.
---@field height? number Of a float: a share of the screen, or lines from 1 on.
---@field border? string|string[] As in 'winborder'.

---@class promptls.SearchOptions
---@field to? 'quickfix'|'select' Where hits are shown.
---@field limit? integer

---@alias promptls.Message {role: string, content: string}
---@alias promptls.Done fun(text?: string, err?: string)
---@alias promptls.Complete fun(messages: promptls.Message[], max_tokens: integer, done: promptls.Done)

---@class promptls.Options
---@field cmd? string|string[] The server: a program, or the whole command. Empty: it is looked for.
---@field trust_workspace_venv? boolean|'ask' Whether `.venv` of the workspace may be used; 'ask' asks once a folder.
---@field settings? promptls.Settings The server's settings, as in its config.toml.
---@field root_markers? string[] A workspace is the nearest folder above a file that holds one of these.
---@field max_file_size? integer Bytes; larger files are not sent to the server.
---@field completion? boolean|'auto' Neovim's own completion; 'auto': unless blink.cmp or nvim-cmp is there.
---@field inlay_hints? boolean What each mention costs, behind it.
---@field code_lens? boolean What of the budget is spoken for, in the first line.
---@field keys? boolean Keys in prompt documents.
---@field preview? promptls.WindowOptions
---@field ask? promptls.WindowOptions
---@field search? promptls.SearchOptions
---@field terminal_lines? integer Lines that `@terminal` brings.
---@field restarts? integer How often within a minute a server that died is started again.
---@field complete? promptls.Complete A language model, for `languageModel.use = "editor"`.

local M = {}

---@type promptls.Options
M.defaults = {
  cmd = '',
  trust_workspace_venv = false,
  settings = {},
  root_markers = { '.promptls', '.git', '.hg', '.jj' },
  max_file_size = 1000000,
  completion = 'auto',
  inlay_hints = true,
  code_lens = true,
  keys = true,
  preview = { style = 'float', width = 0.85, height = 0.85, border = 'rounded' },
  ask = { style = 'float', width = 0.6, height = 0.3, border = 'rounded' },
  search = { to = 'quickfix', limit = 30 },
  terminal_lines = 200,
  restarts = 3,
}

---@type table<string, string[]>
local types = {
  cmd = { 'string', 'table' },
  trust_workspace_venv = { 'boolean', 'string' },
  completion = { 'boolean', 'string' },
  complete = { 'function' },
}

---@type table<string, any[]>
local choices = {
  trust_workspace_venv = { true, false, 'ask' },
  completion = { true, false, 'auto' },
  ['preview.style'] = { 'float', 'split', 'vsplit', 'tab' },
  ['ask.style'] = { 'float', 'split', 'vsplit', 'tab' },
  ['search.to'] = { 'quickfix', 'select' },
}

---@param values any[]
local function listed(values)
  return table.concat(vim.tbl_map(vim.inspect, values), ', ')
end

--- The options that are right, and a sentence for each that is not.
---@param given table
---@return promptls.Options
---@return string[] problems
function M.check(given)
  local good, problems = {}, {}
  local function check(name, value, default)
    local allowed = types[name] or { type(default) }
    if not name:find('.', 1, true) and default == nil and not types[name] then
      local known = vim.tbl_keys(M.defaults)
      vim.list_extend(known, { 'complete' })
      table.sort(known)
      return ("There is no option '%s'; the options are %s."):format(name, table.concat(known, ', '))
    elseif not vim.list_contains(allowed, type(value)) then
      return ('The option %s must be a %s, not a %s.'):format(name, table.concat(allowed, ' or a '), type(value))
    elseif choices[name] and not vim.list_contains(choices[name], value) then
      return ('The option %s must be one of %s.'):format(name, listed(choices[name]))
    end
  end
  for name, value in pairs(given) do
    local default = M.defaults[name]
    local problem = check(name, value, default)
    if not problem and vim.list_contains({ 'preview', 'ask', 'search' }, name) then
      good[name] = {}
      for key, inner in pairs(value) do
        local full = name .. '.' .. key
        if default[key] == nil then
          problem = ("There is no option '%s'."):format(full)
        elseif key ~= 'border' then
          problem = check(full, inner, default[key])
        end
        if problem then
          problems[#problems + 1] = problem
        else
          good[name][key] = inner
        end
      end
    elseif problem then
      problems[#problems + 1] = problem
    else
      good[name] = value
    end
  end
  table.sort(problems)
  return good, problems
end

---@type promptls.Options?
local current
---@type promptls.Options
local from_setup = {}
---@type table?
local from_global
---@type string[]
M.problems = {}

--- The options as they are now.
---@return promptls.Options
function M.get()
  local global = vim.g.promptls
  if current and vim.deep_equal(global, from_global) then
    return current
  end
  from_global = global
  local found, problems = {}, {}
  for _, given in ipairs({ global or {}, from_setup }) do
    if type(given) ~= 'table' then
      problems[#problems + 1] = 'vim.g.promptls must be a table.'
    else
      local good, bad = M.check(given)
      found = vim.tbl_deep_extend('force', found, good)
      vim.list_extend(problems, bad)
    end
  end
  current = vim.tbl_deep_extend('force', M.defaults, found)
  if found.root_markers then
    current.root_markers = found.root_markers
  end
  M.problems = problems
  for _, problem in ipairs(problems) do
    require('promptls.tell').warn(problem)
  end
  return current
end

--- Options given by a call; they come before `vim.g.promptls`.
---@param opts? promptls.Options
function M.set(opts)
  from_setup = opts or {}
  current = nil
end

return M
