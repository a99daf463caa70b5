-- Tests of the adapters with the real server. The first argument is the folder with fakes of the chat plugins, which
-- implement the API used by the adapters.

local folder = arg[1]
for name in vim.fs.dir(folder) do
  vim.opt.runtimepath:append(vim.fs.joinpath(folder, name))
end

local function expect(condition, expectation, actual)
  if not condition then
    error(('%s; actual: %s'):format(expectation, vim.inspect(actual)), 0)
  end
end

local function wait(expectation, condition)
  expect(vim.wait(60000, condition, 20), expectation)
end

vim.cmd.runtime('plugin/promptls.lua')
vim.lsp.enable('promptls')
vim.api.nvim_exec_autocmds('VimEnter', {})
vim.cmd.edit('shop/cart.py')
require('promptls.client').ensure(0, function() end)
wait('the index is ready', function()
  local client = vim.lsp.get_clients({ name = 'promptls' })[1]
  local status = client and require('promptls.client').states[client.id]
  return status and status.state == 'ready'
end)

local QUESTION = 'How is it rounded? @#rounded'
local BUILD_OPTIONS = { budget = { tokens = 3000 } }

--- Build the prompt of the question, send it to a consumer, and return its text.
local function send_to(name)
  local prompt = require('promptls.prompt')
  local result = assert(prompt.request_sync({ message = QUESTION }))
  local consumers = require('promptls.consumers')
  consumers.send(consumers.text(result), result, QUESTION, name)
  return consumers.text(result)
end

local checks = {}

function checks.codecompanion()
  require('codecompanion').setup({
    interactions = { chat = { adapter = 'openai' } },
    extensions = { promptls = { callback = 'promptls.adapters.codecompanion', opts = { build = BUILD_OPTIONS } } },
  })
  local function submit(chat)
    local payload
    chat._submit_http = function(_, submitted)
      payload = submitted
    end
    chat:submit()
    return payload.messages[#payload.messages].content, payload.messages
  end
  local chat = require('codecompanion').chat({})
  chat:add_buf_message({ role = 'user', content = QUESTION })
  local sent = submit(chat)
  expect(sent:find('def rounded', 1, true), 'the prompt is sent', sent)
  expect(sent:find('# Question\n' .. QUESTION, 1, true), 'the prompt contains the question', sent)
  local text = table.concat(vim.api.nvim_buf_get_lines(chat.bufnr, 0, -1, false), '\n')
  expect(text:find(QUESTION, 1, true) and not text:find('def rounded', 1, true), 'the chat shows the question', text)
  local completefunc = vim.bo[chat.bufnr].completefunc
  expect(completefunc:find('promptls'), 'mentions are completed', completefunc)

  chat = require('codecompanion').chat({})
  chat:add_buf_message({ role = 'user', content = 'Mail a@example.org a thank you.' })
  sent = submit(chat)
  expect(vim.trim(sent) == 'Mail a@example.org a thank you.', 'a message without mentions is unchanged', sent)

  local prompt = send_to('codecompanion')
  chat = require('codecompanion').last_chat()
  local messages
  sent, messages = submit(chat)
  expect(vim.trim(sent) == QUESTION, 'the question is the last message', sent)
  local has_prompt = vim.iter(messages):any(function(message)
    return message.content == prompt
  end)
  expect(has_prompt, 'the chat contains the unchanged prompt', messages)

  local config = require('codecompanion.config').interactions.chat.tools
  local names = config.groups.promptls.tools
  expect(
    vim.deep_equal(names, { 'search_code', 'read_code', 'explain_symbol', 'get_context' }),
    'the group has the tools of the server',
    names
  )
  local function call(name, arguments)
    local output, shown
    local tool = require('codecompanion.interactions.chat.tools').resolve(config[name])
    expect(tool.schema['function'].description ~= '', 'the tool is described', tool)
    chat.add_tool_output = function(_, _, text, for_user)
      output, shown = text, for_user
    end
    local called = { name = name, arguments = vim.json.encode(arguments) }
    chat.tools:execute(chat, { { id = name, type = 'function', ['function'] = called } })
    wait('the tool has returned', function()
      return output
    end)
    return output, shown
  end
  local listed = call('search_code', { query = 'round money', paths = {} })
  expect(listed:find('function rounded', 1, true), 'the list contains the function', listed)
  local read, shown = call('read_code', { places = { 'shop/money.py#rounded' } })
  expect(read:find('def rounded', 1, true), 'the definition is read', read)
  expect(shown == 'Read code: shop/money.py#rounded', 'the chat shows what was read', shown)
  local explained = call('explain_symbol', { name = 'rounded' })
  expect(explained:find('def rounded', 1, true), 'the symbol is explained', explained)
  local context = call('get_context', { question = QUESTION })
  expect(context:find('def rounded', 1, true), 'the context contains the code', context)
  local refused = call('read_code', { path = 'shop/money.py' })
  expect(refused:find('unknown field', 1, true), 'an error names the valid fields', refused)
end

function checks.CopilotChat()
  local adapter = require('promptls.adapters.copilotchat')
  local chat = require('CopilotChat')
  chat.setup({ functions = adapter.functions({ build = BUILD_OPTIONS }) })
  local function resolve(text)
    local resources, rest, done
    require('plenary.async').run(function()
      resources, _, rest = require('CopilotChat.prompts').resolve_functions(text, { resources = {} })
      done = true
    end)
    wait('the function has returned', function()
      return done
    end)
    return resources, rest
  end
  local resources = resolve('#promptls:`' .. QUESTION .. '` Be short.')
  expect(#resources == 1 and resources[1].data:find('def rounded', 1, true), 'the prompt is a resource', resources)
  local asked_text
  chat.ask = function(text)
    asked_text = text
  end
  local prompt = send_to('copilotchat')
  local rest
  resources, rest = resolve(asked_text)
  expect(#resources == 1 and resources[1].data == prompt, 'the prompt is sent as a resource', resources)
  expect(rest:find(QUESTION, 1, true), 'the question is sent', rest)
end

function checks.avante()
  local adapter = require('promptls.adapters.avante')
  local avante = require('avante')
  avante.setup({ slash_commands = { adapter.slash_command({ build = BUILD_OPTIONS }) } })
  local command = avante.slash_commands[1]
  expect(command.name == 'promptls' and command.description ~= '', 'the slash command is described', command)
  local submitted = avante.get().chat_history.messages
  command.callback(avante.get(), QUESTION)
  wait('the prompt is submitted', function()
    return submitted[1]
  end)
  expect(submitted[1].message.content:find('def rounded', 1, true), 'the prompt contains the code', submitted)
  expect(submitted[1].displayed_content == QUESTION, 'the chat shows the question', submitted)
  local prompt = send_to('avante')
  expect(submitted[2].message.content == prompt, 'the prompt is sent unchanged', submitted)
end

for _, name in ipairs({ 'codecompanion', 'CopilotChat', 'avante' }) do
  local ok, problem = xpcall(checks[name], function(message)
    return debug.traceback(tostring(message), 2)
  end)
  if not ok then
    io.stderr:write(name, ': ', problem, '\n')
    os.exit(1)
  end
  print(name .. ' passed')
end
vim.cmd('qall!')
