-- The adapters with the plugins they are for, and the real server.  The plugins are those of the folder that the
-- first argument names: their own sources, or stand-ins that have the shape of what is used of them.

local folder = arg[1]
for name in vim.fs.dir(folder) do
  vim.opt.runtimepath:append(vim.fs.joinpath(folder, name))
end

local function expect(condition, what, found)
  if not condition then
    error(('%s; found: %s'):format(what, vim.inspect(found)), 0)
  end
end

local function wait(what, condition)
  expect(vim.wait(20000, condition, 20), what)
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
local BUILD = { budget = { tokens = 3000 } }

local function send(name)
  local prompt = require('promptls.prompt')
  local result = assert(prompt.request_sync({ message = QUESTION }))
  require('promptls.consumers').send(require('promptls.render').text(result), result, QUESTION, name)
  return require('promptls.render').text(result)
end

local checks = {}

function checks.codecompanion()
  require('codecompanion').setup({
    interactions = { chat = { adapter = 'openai' } },
    extensions = { promptls = { callback = 'promptls.adapters.codecompanion', opts = { build = BUILD } } },
  })
  local function submitted(chat)
    local payload
    chat._submit_http = function(_, given)
      payload = given
    end
    chat:submit()
    return payload.messages[#payload.messages].content, payload.messages
  end
  local chat = require('codecompanion').chat({})
  chat:add_buf_message({ role = 'user', content = QUESTION })
  local sent = submitted(chat)
  expect(sent:find('def rounded', 1, true), 'the prompt is sent', sent)
  expect(sent:find('# Question\n' .. QUESTION, 1, true), 'with the question', sent)
  local shown = table.concat(vim.api.nvim_buf_get_lines(chat.bufnr, 0, -1, false), '\n')
  expect(shown:find(QUESTION, 1, true) and not shown:find('def rounded', 1, true), 'the question is shown', shown)
  expect(vim.bo[chat.bufnr].completefunc:find('promptls'), 'mentions are completed', vim.bo[chat.bufnr].completefunc)

  chat = require('codecompanion').chat({})
  chat:add_buf_message({ role = 'user', content = 'Mail a@example.org a thank you.' })
  sent = submitted(chat)
  expect(vim.trim(sent) == 'Mail a@example.org a thank you.', 'without mentions nothing is changed', sent)

  local prompt = send('codecompanion')
  chat = require('codecompanion').last_chat()
  local all
  sent, all = submitted(chat)
  expect(vim.trim(sent) == QUESTION, 'the question is the last message', sent)
  local found = vim.iter(all):any(function(message)
    return message.content == prompt
  end)
  expect(found, 'after the prompt, as it was built', all)
end

function checks.CopilotChat()
  local adapter = require('promptls.adapters.copilotchat')
  local chat = require('CopilotChat')
  chat.setup({ functions = adapter.functions({ build = BUILD }) })
  local function resolve(text)
    local resources, rest, done
    require('plenary.async').run(function()
      resources, _, rest = require('CopilotChat.prompts').resolve_functions(text, { resources = {} })
      done = true
    end)
    wait('the function has answered', function()
      return done
    end)
    return resources, rest
  end
  local resources = resolve('#promptls:`' .. QUESTION .. '` Be short.')
  expect(#resources == 1 and resources[1].data:find('def rounded', 1, true), 'a resource is the prompt', resources)
  local asked
  chat.ask = function(text)
    asked = text
  end
  local prompt = send('copilotchat')
  local rest
  resources, rest = resolve(asked)
  expect(#resources == 1 and resources[1].data == prompt, 'the prompt is sent as a resource', resources)
  expect(rest:find(QUESTION, 1, true), 'the question is sent', rest)
end

function checks.avante()
  local adapter = require('promptls.adapters.avante')
  require('avante').setup({
    provider = 'ollama',
    behaviour = { auto_set_keymaps = false, auto_suggestions = false },
    slash_commands = { adapter.slash_command({ build = BUILD }) },
  })
  local command
  for _, one in ipairs(require('avante.utils').get_commands()) do
    command = one.name == 'promptls' and one or command
  end
  expect(command and command.description ~= '', 'the command is known')
  local submitted
  vim.api.nvim_create_autocmd('User', {
    pattern = 'AvanteInputSubmitted',
    callback = function(event)
      submitted = event.data.request
    end,
  })
  command.callback({}, QUESTION)
  wait('the prompt is asked', function()
    return submitted
  end)
  expect(submitted:find('def rounded', 1, true), 'with the code', submitted)
  submitted = nil
  local prompt = send('avante')
  wait('it is sent', function()
    return submitted
  end)
  expect(submitted == prompt, 'as it was built', submitted)
end

for _, name in ipairs({ 'codecompanion', 'CopilotChat', 'avante' }) do
  local ok, problem = xpcall(checks[name], function(message)
    return debug.traceback(tostring(message), 2)
  end)
  if not ok then
    io.stderr:write(name, ': ', problem, '\n')
    os.exit(1)
  end
  print(name .. ' works')
end
vim.cmd('qall!')
