-- The command `:Promptls`: subcommands, parsing of arguments and command-line completion.

local client = require('promptls.client')
local config = require('promptls.config')
local documents = require('promptls.documents')
local notify = require('promptls.notify')

local M = {}

---@class promptls.Call
---@field text string Arguments after the options.
---@field options table<string, string>
---@field lines? {[1]: integer, [2]: integer}
---@field bang boolean

---@class promptls.Subcommand
---@field description string
---@field run fun(call: promptls.Call)
---@field options? string[] Accepted options; "arg." accepts any name with this prefix.
---@field words? string[] Accepted first words.
---@field symbols? boolean Whether the text is the name of a definition.
---@field mentions? boolean Whether the text is a question.

local BUILD_OPTIONS = { 'budget', 'model', 'recipe', 'variant', 'profile', 'arg.' }

--- Convert command options to the options of a build request.
---@param options table<string, string>
---@return promptls.BuildOptions? opts
---@return string? problem
local function build_options(options)
  local out, arguments = {}, {}
  for name, value in pairs(options) do
    if name == 'budget' then
      local tokens = tonumber(value)
      if not tokens or tokens % 1 ~= 0 then
        return nil, ('budget=%s: must be an integer number of tokens.'):format(value)
      end
      out.budget = vim.tbl_extend('force', out.budget or {}, { tokens = tokens })
    elseif name == 'model' then
      out.budget = vim.tbl_extend('force', out.budget or {}, { model = value })
    elseif vim.startswith(name, 'arg.') then
      arguments[name:sub(5)] = value
    else
      out[name] = value
    end
  end
  if next(arguments) then
    out.arguments = arguments
  end
  return out
end

--- Wrap a subcommand that is_allowed build options.
---@param run fun(call: promptls.Call, opts: promptls.BuildOptions)
---@return fun(call: promptls.Call)
local function with_build_options(run)
  return function(call)
    local opts, problem = build_options(call.options)
    if not opts then
      return notify.error(problem --[[@as string]])
    end
    run(call, opts)
  end
end

--- Return a subcommand that calls a function of the module `prompt` with the current prompt document.
---@param name 'copy'|'answer'
local function in_prompt_document(name)
  return function()
    local bufnr = vim.api.nvim_get_current_buf()
    if not documents.is_prompt(bufnr) then
      return notify.error('The current buffer is not a prompt document. Run :Promptls ask to open one.')
    end
    require('promptls.prompt')[name](bufnr)
  end
end

---@type table<string, promptls.Subcommand>
local subcommands = {
  build = {
    description = 'Build the prompt of this document, a range or a given question, and open its page.',
    options = BUILD_OPTIONS,
    mentions = true,
    run = with_build_options(function(call, opts)
      local bufnr = vim.api.nvim_get_current_buf()
      if call.text ~= '' then
        return require('promptls.prompt').show({ message = call.text, opts = opts, bufnr = bufnr })
      elseif documents.is_prompt(bufnr) then
        return require('promptls.prompt').build(bufnr, opts, call.lines)
      end
      require('promptls.ask').open({ opts = opts, lines = call.lines })
    end),
  },
  ask = {
    description = 'Ask a question in a small window; with a range, about these lines; with !, the last one again.',
    options = BUILD_OPTIONS,
    mentions = true,
    run = with_build_options(function(call, opts)
      require('promptls.ask').open({ text = call.text, opts = opts, lines = call.lines, again = call.bang })
    end),
  },
  search = {
    description = 'Search by meaning and keyword; with !, choose from a list.',
    options = { 'limit', 'path', 'kind' },
    run = function(call)
      local text = call.text ~= '' and call.text or vim.fn.expand('<cword>')
      require('promptls.queries').search({
        query = text,
        limit = tonumber(call.options.limit),
        paths = call.options.path and vim.split(call.options.path, ','),
        kinds = call.options.kind and vim.split(call.options.kind, ','),
      }, call.bang and 'select' or nil)
    end,
  },
  explain = {
    description = 'Describe a definition with its callers and callees, by name or under the cursor.',
    symbols = true,
    run = function(call)
      require('promptls.queries').explain(call.text)
    end,
  },
  graph = {
    description = 'Show the part of the knowledge graph for a question, or call paths with from=A to=B.',
    options = { 'from', 'to', 'symbol', 'limit' },
    run = function(call)
      local params = { from = call.options.from, to = call.options.to, symbol = call.options.symbol }
      params.limit = tonumber(call.options.limit)
      if call.text ~= '' then
        params.query = call.text
      elseif not next(params) then
        params.query = vim.fn.expand('<cword>')
      end
      require('promptls.page').open('graph', params)
    end,
  },
  memory = {
    description = 'List, add or search memory entries.',
    words = { 'list', 'add', 'search' },
    run = function(call)
      local word, rest = call.text:match('^(%S+)%s*(.*)$')
      if word == 'add' then
        return require('promptls.memory').add(rest)
      elseif word == 'search' then
        return require('promptls.memory').search(rest)
      elseif word == nil or word == 'list' then
        return require('promptls.memory').list()
      end
      notify.error(("memory: unknown action '%s'. Valid actions: list, add, search."):format(word))
    end,
  },
  recipes = {
    description = 'Pick a recipe, then ask; with a range, about these lines.',
    run = function(call)
      require('promptls.recipes').select(call.lines)
    end,
  },
  mentions = {
    description = 'List the mention kinds and their syntax.',
    run = function()
      require('promptls.page').open('mentionKinds', {})
    end,
  },
  status = {
    description = 'Show the status of the index.',
    run = function()
      require('promptls.page').open('status', {})
    end,
  },
  ignored = {
    description = 'Show why this file is indexed or ignored.',
    run = function()
      require('promptls.queries').explain_ignore()
    end,
  },
  reindex = {
    description = 'Scan the workspace for changes; with !, index every file again.',
    run = function(call)
      client.request('promptls/reindex', { full = call.bang }, { on_result = function() end })
    end,
  },
  copy = {
    description = 'Build the prompt of this document and copy it to the registers.',
    run = in_prompt_document('copy'),
  },
  answer = {
    description = 'Write the answer of the language model below the question of this document.',
    run = in_prompt_document('answer'),
  },
  scratch = {
    description = 'Open a prompt document without a file.',
    run = function(call)
      require('promptls.ask').scratch(call.text)
    end,
  },
  cancel = {
    description = 'Cancel pending requests.',
    run = function()
      if client.cancel() == 0 then
        notify.info('No request is pending.')
      end
    end,
  },
  restart = {
    description = 'Restart the server.',
    run = function()
      client.restart()
    end,
  },
  log = {
    description = "Open the server's log.",
    run = function()
      require('promptls.log').open()
    end,
  },
}

--- Return the sorted names of the subcommands.
---@return string[]
function M.names()
  local names = vim.tbl_keys(subcommands)
  table.sort(names)
  return names
end

--- Return the description of a subcommand.
---@param name string
function M.description(name)
  return subcommands[name].description
end

---@param name string
---@param allowed string[]
local function is_allowed(name, allowed)
  for _, option in ipairs(allowed) do
    if name == option or (vim.endswith(option, '.') and vim.startswith(name, option)) then
      return true
    end
  end
  return false
end

--- Parse leading options (`name=value`, `name="a value"`) and return them with the remaining text.
---@param text string
---@param allowed string[]
---@return table<string, string> options
---@return string rest
function M.parse(text, allowed)
  local options = {}
  text = vim.trim(text)
  while true do
    local name, tail = text:match('^([%w.]+)=(.*)$')
    if not name or not is_allowed(name, allowed) then
      return options, text
    end
    local value, rest = tail:match('^"([^"]*)"%s*(.*)$')
    if not value then
      value, rest = tail:match('^(%S*)%s*(.*)$')
    end
    options[name], text = value, rest
  end
end

--- Run the command; default subcommand: `ask`.
---@param command vim.api.keyset.create_user_command.command_args
function M.run(command)
  local name, rest = command.args:match('^%s*(%S+)%s*(.*)$')
  if not name then
    name, rest = 'ask', ''
  end
  local subcommand = subcommands[name]
  if not subcommand then
    return notify.error(("Unknown subcommand '%s'. Press Tab after :Promptls to list them."):format(name))
  end
  config.get() -- reports invalid options
  local options, text = M.parse(rest, subcommand.options or {})
  subcommand.run({
    text = text,
    options = options,
    lines = command.range > 0 and { command.line1, command.line2 } or nil,
    bang = command.bang,
  })
end

-- ---- completion

local COMPLETION_TIMEOUT = 500 -- milliseconds; command-line completion blocks the editor

---@param method string
---@param params table
---@return any? result nil without a running server
local function request(method, params)
  if not client.get() then
    return nil
  end
  return (client.request_sync(method, params, COMPLETION_TIMEOUT))
end

---@param list string[]
---@param prefix string
local function with_prefix(list, prefix)
  return vim.tbl_filter(function(word)
    return vim.startswith(word, prefix)
  end, list)
end

---@param entries table[]?
---@return string[]
local function names_of(entries)
  return vim.tbl_map(function(entry)
    return entry.name
  end, entries or {})
end

---@param text string
---@return string[]
local function complete_mention(text)
  local offset = vim.str_utfindex(text, 'utf-16')
  local result = request('promptls/completeMention', { text = text, offset = offset, limit = 30 })
  return vim.tbl_map(function(item)
    return item.insertText
  end, result and result.items or {})
end

---@param prefix string
local function complete_symbol(prefix)
  return vim.tbl_map(function(mention)
    return (mention:gsub('^@.-#', ''))
  end, complete_mention('@#' .. prefix))
end

---@type table<string, fun(): string[]> Option → its possible values.
local option_values = {
  recipe = function()
    return names_of((request('promptls/recipes', {}) or {}).recipes)
  end,
  profile = function()
    return names_of((request('promptls/profiles', {}) or {}).profiles)
  end,
  model = function()
    return names_of((request('promptls/models', {}) or {}).models)
  end,
}

--- Complete the command line.
---@param lead string The part of the current word before the cursor.
---@param line string
---@param position integer
---@return string[]
function M.complete(lead, line, position)
  local before = line:sub(1, position):gsub('^.-Promptls!?%s+', '', 1)
  local name, rest = before:match('^(%S+)%s+(.*)$')
  if not name then
    return with_prefix(M.names(), lead)
  end
  local subcommand = subcommands[name]
  if not subcommand then
    return {}
  end
  local option, value = lead:match('^([%w.]+)=(.*)$')
  if option and is_allowed(option, subcommand.options or {}) then
    local values = option_values[option] and option_values[option]() or {}
    if vim.list_contains({ 'from', 'to', 'symbol' }, option) then
      values = complete_symbol(value)
      value = ''
    end
    return vim.tbl_map(function(completed)
      return option .. '=' .. completed
    end, with_prefix(values, value))
  end
  if subcommand.mentions and lead:find('^@') then
    return complete_mention(lead)
  elseif subcommand.symbols then
    return complete_symbol(lead)
  end
  local out = {}
  if rest == lead then
    vim.list_extend(out, with_prefix(subcommand.words or {}, lead))
  end
  local options = vim.tbl_map(function(option_name)
    return vim.endswith(option_name, '.') and option_name or option_name .. '='
  end, subcommand.options or {})
  return vim.list_extend(out, with_prefix(options, lead))
end

return M
