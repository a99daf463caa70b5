-- Unit tests of the plugin's pure functions. Run headless; exits with status 1 at the first failure.

local function equal(actual, expected, description)
  if not vim.deep_equal(actual, expected) then
    error(('%s\nactual   %s\nexpected %s'):format(description, vim.inspect(actual), vim.inspect(expected)), 2)
  end
end

local tests = {}

function tests.options()
  local config = require('promptls.config')
  local valid, problems = config.check({ restarts = 1, trust_workspace_venv = 'ask', preview = { width = 100 } })
  equal(valid, { restarts = 1, trust_workspace_venv = 'ask', preview = { width = 100 } }, 'valid options are accepted')
  equal(problems, {}, 'valid options cause no message')
  valid, problems = config.check({ restarts = {}, trust_workspace_venv = 'yes', ask = { size = 1 }, cmd = 1 })
  equal(valid, { ask = {} }, 'invalid options are dropped')
  equal(problems, {
    'Option cmd must be a string or a table, not a number.',
    'Option restarts must be a number, not a table.',
    'Option trust_workspace_venv must be one of true, false, "ask".',
    "Unknown option 'ask.size'.",
  }, 'invalid options are reported')
  config.set({ root_markers = { 'first' } })
  equal(config.get().root_markers, { 'first' }, 'a list replaces the default list')
  equal(config.get().restarts, 3, 'other options keep their defaults')
  vim.g.promptls = { restarts = 7, root_markers = { 'second' } }
  local effective = { config.get().restarts, config.get().root_markers }
  equal(effective, { 7, { 'first' } }, 'setup() takes precedence over vim.g.promptls')
  vim.g.promptls = nil
  config.set()
end

function tests.command_line()
  local usercmd = require('promptls.usercmd')
  local allowed = { 'budget', 'recipe', 'arg.' }
  local function parsed(text)
    return { usercmd.parse(text, allowed) }
  end
  equal(parsed('why? a=b'), { {}, 'why? a=b' }, 'text without options')
  equal(parsed(' budget=400 recipe=review  why  so?'), {
    { budget = '400', recipe = 'review' },
    'why  so?',
  }, 'options before a text')
  equal(parsed('arg.focus="two words" x'), { { ['arg.focus'] = 'two words' }, 'x' }, 'a value with spaces')
  equal(parsed('color=red budget=4'), { {}, 'color=red budget=4' }, 'an unknown option is text')
  equal(parsed('budget='), { { budget = '' }, '' }, 'an empty value')
  for _, name in ipairs(usercmd.names()) do
    equal(type(usercmd.description(name)), 'string', 'every subcommand has a description')
  end
end

function tests.positions()
  local context = require('promptls.context')
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, { 'aä😀b' }) -- bytes: a 1, ä 2, 😀 4, b 1
  local bytes = { 0, 1, 3, 7, 8 }
  local expected = { ['utf-8'] = bytes, ['utf-16'] = { 0, 1, 2, 4, 5 }, ['utf-32'] = { 0, 1, 2, 3, 4 } }
  for encoding, columns in pairs(expected) do
    for i, byte in ipairs(bytes) do
      equal(context.position(bufnr, 0, byte, encoding).character, columns[i], encoding)
    end
    equal(context.position(bufnr, 0, math.huge, encoding).character, columns[5], 'end of the line')
    equal(context.position(bufnr, 5, 3, encoding), { line = 5, character = 0 }, 'a missing line')
  end
end

function tests.tracked_lines()
  local context = require('promptls.context')
  vim.cmd.edit('tracked.txt')
  local bufnr = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, { 'a', 'b', 'c', 'd' })
  local tracked = context.track_lines(bufnr, 1, 2)
  vim.api.nvim_buf_set_lines(bufnr, 0, 0, false, { 'new', 'lines' })
  local range = context.tracked_location(tracked, 'utf-8').range
  equal({ range.start.line, range['end'].line }, { 3, 4 }, 'tracked lines follow edits above them')
  vim.api.nvim_buf_delete(bufnr, { force = true })
  equal(context.tracked_location(tracked, 'utf-8'), nil, 'a deleted buffer has no location')
end

function tests.client_context()
  local context = require('promptls.context')
  vim.fn.setreg('"', 'copied')
  local only_clipboard = context.client_context({ 'clipboard', 'unknown' }, 'utf-8')
  equal(only_clipboard, { clipboard = 'copied' }, 'only requested kinds are sent')
  equal(vim.json.encode(context.client_context({}, 'utf-8')), '{}', 'an empty context is a JSON object')
  local empty_lists = context.client_context({ 'quickfix', 'diagnostics' }, 'utf-8')
  equal(empty_lists, { quickfix = {}, diagnostics = {} }, 'empty lists')
end

function tests.documents()
  local documents = require('promptls.documents')
  vim.cmd.edit('a.prompt.md')
  equal(vim.bo.filetype, 'promptls', 'the file name determines the file type')
  equal(documents.is_prompt(0), true, 'the file name marks a prompt document')
  equal(documents.language(0, 'markdown'), 'promptls', 'the language does not depend on the file type')
  vim.cmd.edit('a.md')
  local markdown = { vim.bo.filetype, documents.is_prompt(0) }
  equal(markdown, { 'markdown', false }, 'other Markdown files are not prompt documents')
  require('promptls.config').set({ settings = { documents = { languages = { 'markdown', 'git-commit' } } } })
  equal(documents.is_prompt(0), true, 'documents.languages adds languages')
  for _, invalid in ipairs({ 'markdown', 7, { markdown = true }, { 'markdown', 7 } }) do
    require('promptls.config').set({ settings = { documents = { languages = invalid } } })
    equal(documents.is_prompt(0), false, 'an invalid documents.languages counts as empty')
  end
  require('promptls.config').set({ settings = { documents = { languages = { 'markdown', 'git-commit' } } } })
  vim.api.nvim_buf_set_name(vim.api.nvim_create_buf(false, true), 'promptls-page:/1/Prompt.md')
  vim.cmd.buffer('promptls-page:/1/Prompt.md')
  vim.bo.filetype = 'markdown'
  equal(documents.is_prompt(0), false, 'a page is not a prompt document')
  vim.cmd.edit('COMMIT_EDITMSG')
  vim.bo.filetype = 'gitcommit'
  local commit_message = { documents.is_prompt(0), documents.language(0, 'gitcommit') }
  equal(commit_message, { true, 'git-commit' }, 'LSP language ids')
  require('promptls.config').set()
end

function tests.roots()
  local documents = require('promptls.documents')
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder .. '/project/.git', 'p')
  vim.fn.mkdir(folder .. '/project/src', 'p')
  vim.fn.mkdir(folder .. '/loose', 'p')
  local real = vim.uv.fs_realpath(folder)
  vim.cmd.edit(folder .. '/project/src/a.txt')
  equal(vim.uv.fs_realpath(documents.root(0)), real .. '/project', 'the parent folder with a marker')
  vim.fn.mkdir(folder .. '/mono/.promptls', 'p')
  vim.fn.mkdir(folder .. '/mono/inner/.git', 'p')
  vim.cmd.edit(folder .. '/mono/inner/c.txt')
  equal(vim.uv.fs_realpath(documents.root(0)), real .. '/mono/inner', 'the nearest marker wins over the first')
  vim.cmd.edit(folder .. '/loose/b.txt')
  equal(documents.root(0), nil, 'no root without a marker')
  local cwd = vim.fn.getcwd()
  vim.cmd.cd(folder .. '/loose')
  equal(vim.uv.fs_realpath(documents.root(0)), real .. '/loose', 'the current directory is a root')
  vim.env.HOME = real .. '/loose'
  vim.uv.os_setenv('HOME', real .. '/loose')
  equal(documents.root(0), nil, 'the home directory is not a root')
  vim.cmd.cd(folder)
  equal(documents.root(0), nil, 'a parent of the home directory is not a root')
  vim.cmd.cd(cwd)
end

function tests.enabled()
  local client = require('promptls.client')
  local original = vim.lsp.is_enabled
  for _, is_enabled in ipairs({ original, false }) do -- Neovim 0.11.0 does not have this function
    vim.lsp.is_enabled = is_enabled or nil
    equal(client.enabled(), false, 'disabled by default')
    vim.lsp.enable('promptls')
    equal(client.enabled(), true, 'enabled by vim.lsp.enable')
    vim.lsp.enable('promptls', false)
  end
  vim.lsp.is_enabled = original
end

function tests.status_and_numbers()
  local short_status = require('promptls.statusline').short_status
  equal(short_status(nil), 'promptls starting', 'no status reported yet')
  local roots = { { files = 10, pending = 6 } }
  local indexing = short_status({ state = 'indexing', complete = 0.409, roots = roots })
  equal(indexing, 'promptls indexing 40 %', 'indexing progress')
  equal(require('promptls.notify').number(1234567), '1,234,567', 'thousands separators')
  equal(require('promptls.notify').number(123), '123', 'no separator')
end

function tests.hints()
  local fit = require('promptls.window').fit
  local hints = { 'y yank', 's send', 'q close' }
  equal(fit(hints, 23), 'y yank  s send  q close', 'all hints')
  equal(fit(hints, 22), 'y yank  …  q close', 'the first hints and the last')
  equal(fit(hints, 10), '…  q close', 'the last')
  equal(fit(hints, 9), 'q close', 'only the last')
  equal(fit(hints, 6), '', 'a hint is never cut')
end

function tests.progress_of_the_first_index_is_shown_after_a_second()
  local handlers = require('promptls.handlers').handlers
  local echoed, now, echo, uv_now = {}, 0, vim.api.nvim_echo, vim.uv.now
  vim.api.nvim_echo = function(chunks)
    table.insert(echoed, chunks[1][1])
  end
  vim.uv.now = function()
    return now
  end
  local slow = { { 0, 0.1 }, { 1100, 0.5 }, { 2000, 1 }, { 9000, 0.9 } }
  local fast = { { 0, 0.2 }, { 300, 1 } }
  for client, changes in ipairs({ slow, fast }) do
    for _, change in ipairs(changes) do
      now = change[1]
      local status = { state = 'indexing', complete = change[2], message = ('%d %%'):format(100 * change[2]) }
      handlers['promptls/statusChanged'](nil, status, { client_id = 100 + client })
    end
  end
  vim.api.nvim_echo, vim.uv.now = echo, uv_now
  equal(echoed, { 'promptls: 50 %', 'promptls: 100 %' }, 'not of a start that takes less, and not of later changes')
end

function tests.copy_of_a_prompt_of_an_incomplete_index_is_confirmed()
  local client = require('promptls.client')
  local request, select, answers, built = client.request, vim.ui.select, {}, 0
  local complete = 0.5
  client.request = function(_, _, opts)
    built = built + 1
    local result = { prompt = 'prompt ' .. built, tokens = { used = 1 }, mentions = {} }
    result.index = { complete = complete }
    opts.on_result(result, { id = 7 })
  end
  vim.ui.select = function(items, _, on_choice)
    equal(items, { 'Copy now', 'Wait' }, 'choices')
    on_choice(table.remove(answers, 1))
  end
  local function set_status(client_id, fraction)
    local data = { client_id = client_id, status = { complete = fraction } }
    vim.api.nvim_exec_autocmds('User', { pattern = 'PromptlsStatus', data = data })
  end
  local copy = require('promptls.prompt').copy
  local function copied()
    return vim.fn.getreg('"')
  end
  vim.fn.setreg('"', 'nothing')
  answers = { nil }
  copy(vim.api.nvim_get_current_buf())
  equal(copied(), 'nothing', 'nothing is copied without an answer')
  answers = { 'Copy now' }
  copy(vim.api.nvim_get_current_buf())
  equal(copied(), 'prompt 2', 'the incomplete prompt')
  answers = { 'Wait' }
  copy(vim.api.nvim_get_current_buf())
  set_status(7, 0.9)
  set_status(8, 1)
  equal({ copied(), built }, { 'prompt 2', 3 }, 'not before the index of the server is complete')
  complete = 1
  set_status(7, 1)
  set_status(7, 1)
  equal({ copied(), built }, { 'prompt 4', 4 }, 'the prompt is built again and copied, once')
  complete = 0.5
  client.states[7] = { complete = 1 }
  answers = { 'Wait' }
  vim.ui.select = function(_, _, on_choice)
    complete = 1
    on_choice('Wait')
  end
  copy(vim.api.nvim_get_current_buf())
  equal({ copied(), built }, { 'prompt 6', 6 }, 'at once if the index was completed before the answer')
  client.request, vim.ui.select, client.states[7] = request, select, nil
end

vim.cmd.runtime('plugin/promptls.lua')
local count = 0
for name, test in vim.spairs(tests) do
  local ok, problem = xpcall(test, debug.traceback)
  if not ok then
    io.stderr:write(name, ': ', problem, '\n')
    os.exit(1)
  end
  count = count + 1
end
print(('%d unit tests passed'):format(count))
vim.cmd('qall!')
