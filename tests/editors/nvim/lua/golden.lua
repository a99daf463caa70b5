-- Displays every golden message of the server with the plugin, as if the server had just sent it.
-- Run headless with the folder of the protocol tests as argument. Exits with status 1 at the first message that is not
-- displayed correctly.

local folder = arg[1]
local client = require('promptls.client')

local function read_json(path)
  return vim.json.decode(table.concat(vim.fn.readfile(path), '\n'), { luanil = { object = true } })
end

local function expect(condition, expectation, actual)
  if not condition then
    error(('%s; actual: %s'):format(expectation, vim.inspect(actual)), 0)
  end
end

local fake_client = {
  id = 1,
  offset_encoding = 'utf-8',
  workspace_folders = { { uri = 'file:///workspace', name = '/workspace' } },
}

--- Return the text of the open page and close it.
local function take_page()
  local lines = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  vim.api.nvim_win_close(vim.api.nvim_get_current_win(), true)
  return table.concat(lines, '\n')
end

--- Return the notifications shown by a function.
local function notifications(run)
  local texts, notify = {}, vim.notify
  vim.notify = function(text)
    texts[#texts + 1] = text
  end
  run()
  vim.notify = notify
  return table.concat(texts, '\n')
end

--- Return the entries of the selection menus opened by a function.
local function menu_entries(run)
  local entries, select = {}, vim.ui.select
  vim.ui.select = function(items, opts)
    for _, item in ipairs(items) do
      entries[#entries + 1] = (opts.format_item or tostring)(item)
    end
  end
  run()
  vim.ui.select = select
  return entries
end

---@type table<string, fun(case: table, result: table)> Method → check of the displayed result.
local checks = {}

checks['promptls/buildPrompt'] = function(_, result)
  local text = notifications(function()
    require('promptls.prompt').copy(vim.api.nvim_get_current_buf())
  end)
  expect(text:find('prompt %(%d[%d,]* tokens%)'), 'the number of tokens', text)
  for _, mention in ipairs(result.mentions) do
    local is_missing = mention.status ~= 'included' and mention.status ~= 'partial'
    expect((text:find(mention.text, 1, true) ~= nil) == is_missing, 'only missing mentions are reported', text)
  end
  local copied = vim.fn.getreg('"')
  for _, message in ipairs(result.messages or { { content = result.prompt } }) do
    expect(copied:find(message.content, 1, true), 'the whole prompt is copied', copied)
  end
end

checks['promptls/search'] = function(case, result)
  require('promptls.queries').search({ query = case.params.query }, 'quickfix')
  local list = vim.fn.getqflist()
  expect(#list == #result.hits, 'the quickfix list has an entry per result', list)
  for i, hit in ipairs(result.hits) do
    expect(list[i].lnum == hit.range.start.line + 1, 'line of ' .. hit.path, list[i])
    expect(vim.api.nvim_buf_get_name(list[i].bufnr) == vim.uri_to_fname(hit.uri), 'file of ' .. hit.path)
    expect(not hit.symbol or list[i].text:find(hit.symbol, 1, true), 'symbol of ' .. hit.path, list[i].text)
  end
  vim.cmd.cclose()
  local entries = menu_entries(function()
    require('promptls.queries').search({ query = case.params.query }, 'select')
  end)
  local has_all = #entries == #result.hits and entries[1]:find(result.hits[1].path, 1, true)
  expect(has_all, 'the menu has an entry per result', entries)
end

checks['promptls/status'] = function(_, result)
  local short_status = require('promptls.statusline').short_status(result)
  expect(short_status == ('promptls %d files'):format(result.roots[1].files), 'statusline', short_status)
end

checks['promptls/memory'] = function(case, result)
  if case.params.action == 'add' then
    local text = notifications(function()
      local select = vim.ui.select
      vim.ui.select = function(items, _, on_choice)
        on_choice(items[1])
      end
      require('promptls.memory').add(case.params.content)
      vim.ui.select = select
    end)
    return expect(text:find(result.entries[1].title, 1, true), 'the new entry is reported', text)
  end
  require('promptls.memory').list()
  local text = take_page()
  for _, entry in ipairs(result.entries) do
    for _, field in ipairs({ entry.title, entry.content, entry.category, entry.scope }) do
      expect(text:find(field, 1, true), field, text)
    end
  end
end

checks['promptls/recipes'] = function(_, result)
  local entries = menu_entries(require('promptls.recipes').select)
  expect(#entries == #result.recipes, 'the menu has an entry per recipe', entries)
  for i, recipe in ipairs(result.recipes) do
    expect(entries[i] == recipe.name .. ': ' .. recipe.description, 'name and description', entries[i])
  end
end

checks['promptls/explainIgnore'] = function(_, result)
  vim.cmd.edit('bundle.js')
  local text = notifications(require('promptls.queries').explain_ignore)
  expect(text:find(result.reason, 1, true), 'the reason is shown', text)
end

checks['promptls/completeMention'] = function(case, result)
  vim.cmd.enew()
  vim.api.nvim_set_current_line(case.params.text)
  vim.api.nvim_win_set_cursor(0, { 1, #case.params.text })
  local completefunc = require('promptls.completefunc').complete
  expect(completefunc(1, '') == result.replace.start, 'start of the mention')
  local items = completefunc(0, '')
  expect(#items == #result.items and items[1].word == result.items[1].insertText, 'completion items', items)
  vim.cmd.bwipeout({ bang = true })
end

local function check_option_values(option, field)
  return function(_, result)
    client.get = function()
      return fake_client
    end
    local line = ('Promptls build %s='):format(option)
    local values = require('promptls.usercmd').complete(option .. '=', line, #line)
    expect(#values == #result[field], 'all values are completed', values)
    expect(values[1] == option .. '=' .. result[field][1].name, 'values are names', values[1])
  end
end

checks['promptls/models'] = check_option_values('model', 'models')
checks['promptls/profiles'] = check_option_values('profile', 'profiles')

checks['promptls/resolveMentions'] = function(case, result)
  local codecompanion = require('promptls.adapters.codecompanion')
  local built_message
  require('promptls.prompt').request_sync = function(request)
    built_message = request.message
    return { prompt = 'the prompt' }
  end
  local sent = codecompanion.decorate(case.params.message)
  local is_replaced = #result.mentions > 0 and built_message == case.params.message and sent == 'the prompt'
  expect(is_replaced, 'a message with mentions is replaced by its prompt', sent)
end

checks['promptls/reindex'] = function()
  require('promptls.usercmd').run({ args = 'reindex', range = 0, bang = true })
end

checks['promptls/callTool'] = function(case, result)
  local config = { interactions = { chat = {} } }
  package.loaded['codecompanion.config'] = config
  require('promptls.adapters.codecompanion').setup()
  local tool = config.interactions.chat.tools[case.params.name].callback()
  tool.args = case.params.arguments
  local output
  local chat = {
    add_tool_output = function(_, _, text)
      output = text
    end,
  }
  local function output_cb(called)
    tool.output[called.status](tool)
  end
  tool.cmds[1]({ chat = chat }, case.params.arguments, { output_cb = output_cb })
  expect(output == result.text, 'the text of the tool is returned', output)
end

local unused = { 'promptls/list', 'promptls/read', 'promptls/verifyCitations' }
-- Requests of pages, which the server renders.
vim.list_extend(unused, { 'promptls/status', 'promptls/explain', 'promptls/graph', 'promptls/mentionKinds' })
for _, method in ipairs(unused) do
  checks[method] = checks[method] or function() end
end

local count = 0
for _, case in ipairs(read_json(folder .. '/cases.json')) do
  local golden = read_json(('%s/golden/%s.json'):format(folder, case.name))
  local check = checks[case.method]
  expect(check, 'a check exists for ' .. case.method, case.name)
  local requested_method
  client.request = function(method, _, opts)
    requested_method = method
    if golden.error then
      (opts.on_error or require('promptls.notify').error)(golden.error.message, golden.error.code)
    else
      opts.on_result(golden.result, fake_client)
    end
    return { done = true, cancel = function() end }
  end
  client.request_sync = function(method)
    requested_method = method
    return golden.result, golden.error and golden.error.message
  end
  local ok, problem = xpcall(function()
    if golden.error and case.method == 'promptls/callTool' then
      check(case, { text = golden.error.message })
    elseif golden.error then
      local text = notifications(function()
        if case.method == 'promptls/buildPrompt' then
          require('promptls.prompt').copy(vim.api.nvim_get_current_buf())
        else
          require('promptls.memory').list()
        end
      end)
      expect(text:find(golden.error.message, 1, true), 'the error is shown', text)
    else
      check(case, golden.result)
    end
    local is_requested = requested_method == case.method or vim.list_contains(unused, case.method)
    expect(is_requested, 'the request was sent', requested_method)
  end, function(message)
    return type(message) == 'string' and debug.traceback(message, 2) or message
  end)
  if not ok then
    io.stderr:write(case.name, ': ', problem, '\n')
    os.exit(1)
  end
  count = count + 1
end
print(('%d golden messages displayed'):format(count))
vim.cmd('qall!')
