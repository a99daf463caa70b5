-- `:Promptls`: its subcommands, their arguments and what completes them.

local client = require('promptls.client')
local config = require('promptls.config')
local documents = require('promptls.documents')
local tell = require('promptls.tell')

local M = {}

---@class promptls.Call
---@field text string What stands behind the options.
---@field options table<string, string>
---@field lines? {[1]: integer, [2]: integer}
---@field bang boolean

---@class promptls.Subcommand
---@field about string
---@field run fun(call: promptls.Call)
---@field options? string[] Names of options that it takes; "arg." takes any name behind it.
---@field words? string[] First words that it knows.
---@field symbols? boolean Whether its text is the name of a definition.
---@field mentions? boolean Whether its text is a question.

local BUILD = { 'budget', 'model', 'recipe', 'variant', 'profile', 'arg.' }

--- The options of a request for a prompt.
---@param options table<string, string>
---@return promptls.BuildOptions? opts
---@return string? problem
local function build_options(options)
  local out, arguments = {}, {}
  for name, value in pairs(options) do
    if name == 'budget' then
      local tokens = tonumber(value)
      if not tokens or tokens % 1 ~= 0 then
        return nil, ('budget=%s: it must be a number of tokens.'):format(value)
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

---@param run fun(call: promptls.Call, opts: promptls.BuildOptions)
---@return fun(call: promptls.Call)
local function with_options(run)
  return function(call)
    local opts, problem = build_options(call.options)
    if not opts then
      return tell.error(problem --[[@as string]])
    end
    run(call, opts)
  end
end

---@type table<string, promptls.Subcommand>
local subcommands = {
  build = {
    about = 'Build the prompt of this document, of the lines, or of the question behind it, and show it.',
    options = BUILD,
    mentions = true,
    run = with_options(function(call, opts)
      local bufnr = vim.api.nvim_get_current_buf()
      if call.text ~= '' then
        return require('promptls.prompt').show({ message = call.text, opts = opts, bufnr = bufnr }, function()
          require('promptls.ask').open({ text = call.text, opts = opts })
        end)
      elseif documents.is_prompt(bufnr) then
        return require('promptls.prompt').build(bufnr, opts, call.lines)
      end
      require('promptls.ask').open({ opts = opts, lines = call.lines })
    end),
  },
  ask = {
    about = 'Ask a question in a small window; with lines, about them.',
    options = BUILD,
    mentions = true,
    run = with_options(function(call, opts)
      require('promptls.ask').open({ text = call.text, opts = opts, lines = call.lines })
    end),
  },
  search = {
    about = 'Look for something by meaning and by word; with !, choose from a list.',
    options = { 'limit', 'path', 'kind' },
    run = function(call)
      local text = call.text ~= '' and call.text or vim.fn.expand('<cword>')
      require('promptls.pages').search({
        query = text,
        limit = tonumber(call.options.limit),
        paths = call.options.path and vim.split(call.options.path, ','),
        kinds = call.options.kind and vim.split(call.options.kind, ','),
      }, call.bang and 'select' or nil)
    end,
  },
  explain = {
    about = 'What a definition is, who calls it, what it calls: the one named, or the one under the cursor.',
    symbols = true,
    run = function(call)
      require('promptls.pages').explain(call.text)
    end,
  },
  graph = {
    about = 'The part of the knowledge graph that a question is about, or the paths from=A to=B.',
    options = { 'from', 'to', 'symbol', 'limit' },
    run = function(call)
      local params = { from = call.options.from, to = call.options.to, symbol = call.options.symbol }
      params.limit = tonumber(call.options.limit)
      if call.text ~= '' then
        params.query = call.text
      elseif not next(params) then
        params.query = vim.fn.expand('<cword>')
      end
      require('promptls.pages').graph(params)
    end,
  },
  memory = {
    about = 'What is remembered; add, search.',
    words = { 'list', 'add', 'search' },
    run = function(call)
      local word, rest = call.text:match('^(%S+)%s*(.*)$')
      if word == 'add' then
        return require('promptls.pages').remember(rest)
      elseif word == 'search' then
        return require('promptls.pages').memory(rest)
      elseif word == nil or word == 'list' then
        return require('promptls.pages').memory()
      end
      tell.error(("memory: '%s' is none of list, add, search."):format(word))
    end,
  },
  recipes = {
    about = 'Pick a recipe, then ask; with lines, about them.',
    run = function(call)
      require('promptls.pages').recipes(call.lines)
    end,
  },
  mentions = {
    about = 'The kinds of mentions and how they are written.',
    run = function()
      require('promptls.pages').mentions()
    end,
  },
  status = {
    about = 'How far the index is.',
    run = function()
      require('promptls.pages').status()
    end,
  },
  ignored = {
    about = 'Why this file is indexed, or is not.',
    run = function()
      require('promptls.pages').ignored()
    end,
  },
  reindex = {
    about = 'Walk the workspace again; with !, read every file again.',
    run = function(call)
      client.request('promptls/reindex', { full = call.bang }, { on_result = function() end })
    end,
  },
  copy = {
    about = 'Build the prompt of this document and put it into the registers.',
    run = function()
      local bufnr = vim.api.nvim_get_current_buf()
      if not documents.is_prompt(bufnr) then
        return tell.error('This is no prompt document; :Promptls ask opens one.')
      end
      require('promptls.prompt').copy(bufnr)
    end,
  },
  scratch = {
    about = 'A prompt document without a file.',
    run = function(call)
      require('promptls.ask').scratch(call.text)
    end,
  },
  cancel = {
    about = 'Cancel what is asked and not answered.',
    run = function()
      if client.cancel() == 0 then
        tell.info('Nothing is under way.')
      end
    end,
  },
  restart = {
    about = 'Stop the server and start it again.',
    run = function()
      client.restart()
    end,
  },
  log = {
    about = "The server's log.",
    run = function()
      require('promptls.pages').log()
    end,
  },
}

---@return string[]
function M.names()
  local names = vim.tbl_keys(subcommands)
  table.sort(names)
  return names
end

--- What a subcommand does.
---@param name string
function M.about(name)
  return subcommands[name].about
end

---@param name string
---@param allowed string[]
local function takes(name, allowed)
  for _, one in ipairs(allowed) do
    if name == one or (vim.endswith(one, '.') and vim.startswith(name, one)) then
      return true
    end
  end
  return false
end

--- Options (`name=value`, `name="a value"`) at the front of the arguments, and the text behind them.
---@param text string
---@param allowed string[]
---@return table<string, string> options
---@return string rest
function M.parse(text, allowed)
  local options = {}
  text = vim.trim(text)
  while true do
    local name, behind = text:match('^([%w.]+)=(.*)$')
    if not name or not takes(name, allowed) then
      return options, text
    end
    local value, rest = behind:match('^"([^"]*)"%s*(.*)$')
    if not value then
      value, rest = behind:match('^(%S*)%s*(.*)$')
    end
    options[name], text = value, rest
  end
end

---@param command vim.api.keyset.create_user_command.command_args
function M.run(command)
  local name, rest = command.args:match('^%s*(%S+)%s*(.*)$')
  if not name then
    name, rest = 'ask', ''
  end
  local subcommand = subcommands[name]
  if not subcommand then
    return tell.error(("There is no subcommand '%s'; there are %s."):format(name, table.concat(M.names(), ', ')))
  end
  config.get()
  local options, text = M.parse(rest, subcommand.options or {})
  subcommand.run({
    text = text,
    options = options,
    lines = command.range > 0 and { command.line1, command.line2 } or nil,
    bang = command.bang,
  })
end

-- ---- completion

local WAIT = 500 -- milliseconds; who presses Tab does not wait longer

---@param method string
---@param params table
---@return any?
local function answer(method, params)
  if not client.get() then
    return nil
  end
  return (client.request_sync(method, params, WAIT))
end

---@param list string[]
---@param lead string
local function starting(list, lead)
  return vim.tbl_filter(function(one)
    return vim.startswith(one, lead)
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
local function mentions_for(text)
  local offset = vim.str_utfindex(text, 'utf-16')
  local found = answer('promptls/completeMention', { text = text, offset = offset, limit = 30 })
  return vim.tbl_map(function(item)
    return item.insertText
  end, found and found.items or {})
end

---@param lead string
local function symbols_for(lead)
  return vim.tbl_map(function(mention)
    return (mention:gsub('^@.-#', ''))
  end, mentions_for('@#' .. lead))
end

local values = {
  recipe = function()
    return names_of((answer('promptls/recipes', {}) or {}).recipes)
  end,
  profile = function()
    return names_of((answer('promptls/profiles', {}) or {}).profiles)
  end,
  model = function()
    return names_of((answer('promptls/models', {}) or {}).models)
  end,
}

--- What completes the command line.
---@param lead string The word under the cursor, up to it.
---@param line string
---@param position integer
---@return string[]
function M.complete(lead, line, position)
  local before = line:sub(1, position):gsub('^.-Promptls!?%s+', '', 1)
  local name, rest = before:match('^(%S+)%s+(.*)$')
  if not name then
    return starting(M.names(), lead)
  end
  local subcommand = subcommands[name]
  if not subcommand then
    return {}
  end
  local option, value = lead:match('^([%w.]+)=(.*)$')
  if option and takes(option, subcommand.options or {}) then
    local list = values[option] and values[option]() or {}
    if vim.list_contains({ 'from', 'to', 'symbol' }, option) then
      list = symbols_for(value)
      value = ''
    end
    return vim.tbl_map(function(one)
      return option .. '=' .. one
    end, starting(list, value))
  end
  if subcommand.mentions and lead:find('^@') then
    return mentions_for(lead)
  elseif subcommand.symbols then
    return symbols_for(lead)
  end
  local out = {}
  if rest == lead then
    vim.list_extend(out, starting(subcommand.words or {}, lead))
  end
  local offered = vim.tbl_map(function(one)
    return vim.endswith(one, '.') and one or one .. '='
  end, subcommand.options or {})
  return vim.list_extend(out, starting(offered, lead))
end

return M
