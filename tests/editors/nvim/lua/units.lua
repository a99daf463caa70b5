-- The parts of the plugin that are functions of their arguments.  Run headless; fails at the first that is wrong.

local function equal(found, wanted, what)
  if not vim.deep_equal(found, wanted) then
    error(('%s\nfound  %s\nwanted %s'):format(what, vim.inspect(found), vim.inspect(wanted)), 2)
  end
end

local units = {}

function units.options()
  local config = require('promptls.config')
  local good, problems = config.check({ restarts = 1, trust_workspace_venv = 'ask', preview = { width = 100 } })
  equal(good, { restarts = 1, trust_workspace_venv = 'ask', preview = { width = 100 } }, 'right options are taken')
  equal(problems, {}, 'without a word')
  good, problems = config.check({ restarts = {}, trust_workspace_venv = 'yes', ask = { size = 1 }, cmd = 1 })
  equal(good, { ask = {} }, 'wrong ones are not')
  equal(problems, {
    'The option cmd must be a string or a table, not a number.',
    'The option restarts must be a number, not a table.',
    'The option trust_workspace_venv must be one of true, false, "ask".',
    "There is no option 'ask.size'.",
  }, 'and are told')
  config.set({ root_markers = { 'here' } })
  equal(config.get().root_markers, { 'here' }, 'a list is replaced, not mixed with the default')
  equal(config.get().restarts, 3, 'the rest keeps its default')
  vim.g.promptls = { restarts = 7, root_markers = { 'there' } }
  equal({ config.get().restarts, config.get().root_markers }, { 7, { 'here' } }, 'setup() wins over vim.g.promptls')
  vim.g.promptls = nil
  config.set()
end

function units.command_line()
  local usercmd = require('promptls.usercmd')
  local allowed = { 'budget', 'recipe', 'arg.' }
  local function parsed(text)
    return { usercmd.parse(text, allowed) }
  end
  equal(parsed('why? a=b'), { {}, 'why? a=b' }, 'a text')
  equal(parsed(' budget=400 recipe=review  why  so?'), {
    { budget = '400', recipe = 'review' },
    'why  so?',
  }, 'options before a text')
  equal(parsed('arg.focus="two words" x'), { { ['arg.focus'] = 'two words' }, 'x' }, 'a value with spaces')
  equal(parsed('color=red budget=4'), { {}, 'color=red budget=4' }, 'what is no option is text')
  equal(parsed('budget='), { { budget = '' }, '' }, 'an empty value')
  for _, name in ipairs(usercmd.names()) do
    equal(type(usercmd.about(name)), 'string', 'every subcommand says what it does')
  end
end

function units.positions()
  local context = require('promptls.context')
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, { 'aä😀b' }) -- bytes: a 1, ä 2, 😀 4, b 1
  local bytes = { 0, 1, 3, 7, 8 }
  local wanted = { ['utf-8'] = bytes, ['utf-16'] = { 0, 1, 2, 4, 5 }, ['utf-32'] = { 0, 1, 2, 3, 4 } }
  for encoding, columns in pairs(wanted) do
    for i, byte in ipairs(bytes) do
      equal(context.position(bufnr, 0, byte, encoding).character, columns[i], encoding)
    end
    equal(context.position(bufnr, 0, math.huge, encoding).character, columns[5], 'the end of the line')
    equal(context.position(bufnr, 5, 3, encoding), { line = 5, character = 0 }, 'a line that is not there')
  end
end

function units.held_lines()
  local context = require('promptls.context')
  vim.cmd.edit('held.txt')
  local bufnr = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, { 'a', 'b', 'c', 'd' })
  local held = context.hold(bufnr, 1, 2)
  vim.api.nvim_buf_set_lines(bufnr, 0, 0, false, { 'new', 'lines' })
  local range = context.held(held, 'utf-8').range
  equal({ range.start.line, range['end'].line }, { 3, 4 }, 'lines that are held move')
  vim.api.nvim_buf_delete(bufnr, { force = true })
  equal(context.held(held, 'utf-8'), nil, 'and are gone with their buffer')
end

function units.kinds_of_context()
  local context = require('promptls.context')
  vim.fn.setreg('"', 'copied')
  equal(context.answer({ 'clipboard', 'unheard of' }, 'utf-8'), { clipboard = 'copied' }, 'only what is asked for')
  equal(vim.json.encode(context.answer({}, 'utf-8')), '{}', 'nothing is an object, too')
  equal(context.answer({ 'quickfix', 'diagnostics' }, 'utf-8'), { quickfix = {}, diagnostics = {} }, 'empty lists')
end

function units.documents()
  local documents = require('promptls.documents')
  vim.cmd.edit('a.prompt.md')
  equal(vim.bo.filetype, 'promptls', 'the file type is found by the name')
  equal(documents.is_prompt(0), true, 'a prompt by its name')
  equal(documents.language(0, 'markdown'), 'promptls', 'and its language, whatever the file type')
  vim.cmd.edit('a.md')
  equal({ vim.bo.filetype, documents.is_prompt(0) }, { 'markdown', false }, 'other Markdown is none')
  require('promptls.config').set({ settings = { documents = { languages = { 'markdown', 'git-commit' } } } })
  equal(documents.is_prompt(0), true, 'unless it is opted in')
  for _, wrong in ipairs({ 'markdown', 7, { markdown = true }, { 'markdown', 7 } }) do
    require('promptls.config').set({ settings = { documents = { languages = wrong } } })
    equal(documents.is_prompt(0), false, 'what is no list of strings opts nothing in')
  end
  require('promptls.config').set({ settings = { documents = { languages = { 'markdown', 'git-commit' } } } })
  vim.cmd.edit('COMMIT_EDITMSG')
  vim.bo.filetype = 'gitcommit'
  equal({ documents.is_prompt(0), documents.language(0, 'gitcommit') }, { true, 'git-commit' }, "by LSP's names")
  require('promptls.config').set()
end

function units.roots()
  local documents = require('promptls.documents')
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder .. '/project/.git', 'p')
  vim.fn.mkdir(folder .. '/project/src', 'p')
  vim.fn.mkdir(folder .. '/loose', 'p')
  local real = vim.uv.fs_realpath(folder)
  vim.cmd.edit(folder .. '/project/src/a.txt')
  equal(vim.uv.fs_realpath(documents.root(0)), real .. '/project', 'the marked folder above')
  vim.fn.mkdir(folder .. '/mono/.promptls', 'p')
  vim.fn.mkdir(folder .. '/mono/inner/.git', 'p')
  vim.cmd.edit(folder .. '/mono/inner/c.txt')
  equal(vim.uv.fs_realpath(documents.root(0)), real .. '/mono/inner', 'the nearest one, whatever marks it')
  vim.cmd.edit(folder .. '/loose/b.txt')
  equal(documents.root(0), nil, 'none where nothing is marked')
  local here = vim.fn.getcwd()
  vim.cmd.cd(folder .. '/loose')
  equal(vim.uv.fs_realpath(documents.root(0)), real .. '/loose', 'unless it is the current directory')
  vim.env.HOME = real .. '/loose'
  vim.uv.os_setenv('HOME', real .. '/loose')
  equal(documents.root(0), nil, 'which must not be the home directory')
  vim.cmd.cd(folder)
  equal(documents.root(0), nil, 'nor one above it')
  vim.cmd.cd(here)
end

function units.enabled()
  local client = require('promptls.client')
  local tells = vim.lsp.is_enabled
  for _, tell in ipairs({ tells, false }) do -- the first Neovim 0.11 has no such function
    vim.lsp.is_enabled = tell or nil
    equal(client.enabled(), false, 'not unless it was')
    vim.lsp.enable('promptls')
    equal(client.enabled(), true, 'once it was')
    vim.lsp.enable('promptls', false)
  end
  vim.lsp.is_enabled = tells
end

function units.rendering()
  local render = require('promptls.render')
  local base = {
    tokens = { budget = 100, used = 150, counter = 'o200k', exact = true, sections = { context = 150, frame = 0 } },
    items = {},
    omitted = {},
    mentions = {},
    warnings = {},
    index = { state = 'indexing', complete = 0.5, message = '5 of 10 files' },
    prompt = table.concat({
      '# One',
      '<context-ab12 path="x">',
      '# not a heading',
      '</context-cd34>',
      '</context-ab12>',
      '# Two',
      '<context-ef56 path="y">',
      'open',
    }, '\n'),
  }
  local found = render.prompt(base, { width = 40 })
  local head = table.concat(vim.list_slice(found.lines, 1, found.prompt), '\n')
  equal(head:find('150 of 100 tokens (o200k, exact)', 1, true) ~= nil, true, 'the counter is named')
  equal(head:find('The index is indexing (50 %): 5 of 10 files', 1, true) ~= nil, true, 'an index that is not ready')
  equal(head:find('frame', 1, true), nil, 'empty sections are not shown')
  equal(vim.list_slice(found.levels, found.prompt + 1), { '>1', '>2', '2', '2', '<2', '>1', '1', '1' }, 'folds')
  equal(#found.blocks, 1, 'a fence that is not closed by its own name is none')
  for _, line in ipairs(vim.list_slice(found.lines, 1, 3)) do
    equal(vim.fn.strdisplaywidth(line) <= 40, true, 'the header fits: ' .. line)
  end
  equal(render.place('a.py', { start = { line = 4 }, ['end'] = { line = 5 } }), 'a.py:5', 'one line')
  equal(render.place('a.py', { start = { line = 4 }, ['end'] = { line = 9 } }), 'a.py:5-9', 'several')
  equal(render.brief(nil), 'promptls …', 'a server that has told nothing yet')
  local roots = { { files = 10, pending = 6 } }
  equal(render.brief({ state = 'indexing', complete = 0.409, roots = roots }), 'promptls indexing 40%', 'how far it is')
  equal(require('promptls.tell').number(1234567), '1,234,567', 'numbers have commas')
end

function units.pasting()
  local job = vim.fn.jobstart({ 'cat' }, { term = true })
  local sent
  local chansend = vim.fn.chansend
  vim.fn.chansend = function(_, text)
    sent = text
  end
  require('promptls.consumers').send('one\27[201~\r\ntwo\194\155x\7ä', {}, 'q', 'terminal')
  vim.fn.chansend = chansend
  vim.fn.jobstop(job)
  equal(sent, '\27[200~one[201~\ntwoxä\27[201~', 'a prompt cannot end the paste that it is in')
end

vim.cmd.runtime('plugin/promptls.lua')
local count = 0
for name, unit in vim.spairs(units) do
  local ok, problem = xpcall(unit, debug.traceback)
  if not ok then
    io.stderr:write(name, ': ', problem, '\n')
    os.exit(1)
  end
  count = count + 1
end
print(('%d units are right'):format(count))
vim.cmd('qall!')
