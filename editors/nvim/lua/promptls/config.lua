-- Plugin options: the arguments of `setup()`, then `vim.g.promptls`, then the defaults.
-- An invalid option is reported once and replaced by its default.

---@class promptls.WindowOptions
---@field style? 'float'|'split'|'vsplit'|'tab'
---@field width? number Width of a float: a fraction of the screen up to 1, else columns.
---@field height? number Height of a float: a fraction of the screen up to 1, else lines.
---@field border? string|string[] As in 'winborder'.

---@class promptls.SearchOptions
---@field to? 'quickfix'|'select' Destination of the results.
---@field limit? integer Maximum number of results.

---@alias promptls.Message {role: string, content: string}
---@alias promptls.Done fun(text?: string, err?: string)
---@alias promptls.Complete fun(messages: promptls.Message[], max_tokens: integer, done: promptls.Done)

---@class promptls.Options
---@field cmd? string|string[] Server executable, or the whole command. Empty: search .venv and the PATH.
---@field trust_workspace_venv? boolean|'ask' Run the server from the workspace's `.venv`; 'ask' asks once per folder.
---@field settings? promptls.Settings Server settings, as in its config.toml.
---@field root_markers? string[] Names that mark a workspace root: the nearest parent folder that contains one.
---@field max_file_size? integer Maximum file size in bytes; larger files are not sent to the server.
---@field completion? boolean|'auto' Use Neovim's completion; 'auto': off if blink.cmp or nvim-cmp is loaded.
---@field inlay_hints? boolean Show the token cost after each mention.
---@field code_lens? boolean Show the budget use below the first line.
---@field keys? boolean Map keys in prompt documents.
---@field preview? promptls.WindowOptions
---@field ask? promptls.WindowOptions
---@field search? promptls.SearchOptions
---@field restarts? integer Maximum number of automatic restarts per minute after a crash.
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
local function format_values(values)
  return table.concat(vim.tbl_map(vim.inspect, values), ', ')
end

--- Validate options.
---@param options table
---@return promptls.Options valid
---@return string[] problems A message for each invalid option.
function M.check(options)
  local valid, problems = {}, {}
  local function check_value(name, value, default)
    local allowed = types[name] or { type(default) }
    if not name:find('.', 1, true) and default == nil and not types[name] then
      local known = vim.tbl_keys(M.defaults)
      vim.list_extend(known, { 'complete' })
      table.sort(known)
      return ("Unknown option '%s'. Valid options: %s."):format(name, table.concat(known, ', '))
    elseif not vim.list_contains(allowed, type(value)) then
      return ('Option %s must be a %s, not a %s.'):format(name, table.concat(allowed, ' or a '), type(value))
    elseif choices[name] and not vim.list_contains(choices[name], value) then
      return ('Option %s must be one of %s.'):format(name, format_values(choices[name]))
    end
  end
  for name, value in pairs(options) do
    local default = M.defaults[name]
    local problem = check_value(name, value, default)
    if not problem and vim.list_contains({ 'preview', 'ask', 'search' }, name) then
      valid[name] = {}
      for key, inner in pairs(value) do
        local full_name = name .. '.' .. key
        if default[key] == nil then
          problem = ("Unknown option '%s'."):format(full_name)
        elseif key ~= 'border' then
          problem = check_value(full_name, inner, default[key])
        end
        if problem then
          problems[#problems + 1] = problem
        else
          valid[name][key] = inner
        end
      end
    elseif problem then
      problems[#problems + 1] = problem
    else
      valid[name] = value
    end
  end
  table.sort(problems)
  return valid, problems
end

---@type promptls.Options? Effective options; nil: not computed yet.
local current
---@type promptls.Options
local setup_options = {}
---@type table? Value of `vim.g.promptls` that `current` was computed from.
local global_options
---@type string[]
M.problems = {}

--- Return the effective options.
---@return promptls.Options
function M.get()
  local global = vim.g.promptls
  if current and vim.deep_equal(global, global_options) then
    return current
  end
  global_options = global
  local merged, problems = {}, {}
  for _, options in ipairs({ global or {}, setup_options }) do
    if type(options) ~= 'table' then
      problems[#problems + 1] = 'vim.g.promptls must be a table.'
    else
      local valid, new_problems = M.check(options)
      merged = vim.tbl_deep_extend('force', merged, valid)
      vim.list_extend(problems, new_problems)
    end
  end
  current = vim.tbl_deep_extend('force', M.defaults, merged)
  if merged.root_markers then
    current.root_markers = merged.root_markers
  end
  M.problems = problems
  for _, problem in ipairs(problems) do
    require('promptls.notify').warn(problem)
  end
  return current
end

--- Set the options of `setup()`; they take precedence over `vim.g.promptls`.
---@param opts? promptls.Options
function M.set(opts)
  setup_options = opts or {}
  current = nil
end

return M
