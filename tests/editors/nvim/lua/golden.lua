-- Shows every golden message of the server with the plugin's own pages, as if the server had just sent it.
-- Run headless with the folder of the messages as argument; prints a line a message, fails at the first that
-- is not shown as it should be.

local folder = arg[1]
local client = require('promptls.client')

local function read(path)
  return vim.json.decode(table.concat(vim.fn.readfile(path), '\n'), { luanil = { object = true } })
end

local function expect(condition, what, found)
  if not condition then
    error(('%s; found: %s'):format(what, vim.inspect(found)), 0)
  end
end

local asked = {
  id = 1,
  offset_encoding = 'utf-8',
  workspace_folders = { { uri = 'file:///workspace', name = '/workspace' } },
}

--- The page that is open, and then closed.
local function page()
  local lines = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  local opened = vim.api.nvim_get_current_win()
  vim.api.nvim_win_close(opened, true)
  return table.concat(lines, '\n')
end

--- What was told while something ran.
local function told(run)
  local said, notify = {}, vim.notify
  vim.notify = function(text)
    said[#said + 1] = text
  end
  run()
  vim.notify = notify
  return table.concat(said, '\n')
end

--- The entries that were offered while something ran.
local function offered(run)
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

local show = {}

show['promptls/buildPrompt'] = function(case, result)
  require('promptls.prompt').show({ message = case.params.message })
  local preview = assert(require('promptls.preview').current(), 'no preview is open')
  local rendered = preview.rendered
  local lines = vim.api.nvim_buf_get_lines(preview.bufnr, 0, -1, false)
  expect(vim.deep_equal(lines, rendered.lines), 'the preview shows what was rendered')
  local text = table.concat(lines, '\n')
  local head = table.concat(vim.list_slice(lines, 1, rendered.prompt), '\n')
  local tell = require('promptls.tell')
  local spent = ('%s of %s tokens'):format(tell.number(result.tokens.used), tell.number(result.tokens.budget))
  expect(head:find(spent, 1, true), 'tokens', head)
  for name, tokens in pairs(result.tokens.sections) do
    expect(tokens == 0 or head:find(name .. ' ' .. tell.number(tokens), 1, true), 'section ' .. name, head)
  end
  local bar, cells = head:match('\n ([█░]+)\n'), vim.api.nvim_win_get_width(preview.window) - 2
  expect(bar and vim.fn.strdisplaywidth(bar) == cells, 'the bar is as wide as the window', bar)
  expect(head:find(result.trace.line, 1, true), 'trace', head)
  for _, item in ipairs(result.items) do
    expect(head:find(item.path .. ':', 1, true), 'item ' .. item.path, head)
    expect(head:find(item.form, 1, true) and head:find(item.origin, 1, true), 'form and origin of ' .. item.path, head)
  end
  for _, one in ipairs(result.omitted) do
    expect(head:find(one.reason, 1, true), 'reason ' .. one.reason, head)
  end
  for _, mention in ipairs(result.mentions) do
    expect(head:find(mention.text, 1, true), 'mention ' .. mention.text, head)
    expect(mention.reason == '' or head:find(mention.reason, 1, true), 'reason ' .. mention.reason, head)
  end
  for _, warning in ipairs(result.warnings) do
    expect(head:find(warning, 1, true), 'warning ' .. warning, head)
  end
  for _, part in ipairs(result.prompt and { result.prompt } or vim.tbl_map(function(m)
    return m.content
  end, result.messages)) do
    expect(text:find(part, 1, true), 'the prompt is shown whole', text)
    expect(rendered.text:find(part, 1, true), 'and yanked whole', rendered.text)
  end
  expect(#rendered.levels == #rendered.lines, 'a fold level for each line')
  for _, mark in ipairs(rendered.marks) do
    local line = rendered.lines[mark.row + 1]
    expect(line and mark.from < mark.to and mark.to <= #line, 'a colour lies in its line', mark)
    expect(vim.fn.hlexists(mark.group) == 1, 'its group exists', mark.group)
  end
  local fences = select(2, rendered.text:gsub('\n<context%-[^\n]*[^/]>\n', ''))
  expect(#rendered.blocks == fences, 'every quoted file is a block', { #rendered.blocks, fences })
  for _, block in ipairs(rendered.blocks) do
    expect(rendered.lines[block.last + 1]:find('^</context%-'), 'a block ends at its fence', block)
    expect(vim.fn.foldlevel(block.first + 1) >= 1, 'and is a fold', block)
  end
  for row, place in pairs(rendered.jumps) do
    expect(rendered.lines[row + 1] and place.uri:find('^file:///workspace/'), 'a line leads to a file', place)
  end
  require('promptls.preview').close()
end

show['promptls/search'] = function(case, result)
  require('promptls.pages').search({ query = case.params.query }, 'quickfix')
  local list = vim.fn.getqflist()
  expect(#list == #result.hits, 'an entry for each hit', list)
  for i, hit in ipairs(result.hits) do
    expect(list[i].lnum == hit.range.start.line + 1, 'the line of ' .. hit.path, list[i])
    expect(vim.api.nvim_buf_get_name(list[i].bufnr) == vim.uri_to_fname(hit.uri), 'the file of ' .. hit.path)
    expect(not hit.symbol or list[i].text:find(hit.symbol, 1, true), 'the name of ' .. hit.path, list[i].text)
  end
  vim.cmd.cclose()
  local entries = offered(function()
    require('promptls.pages').search({ query = case.params.query }, 'select')
  end)
  expect(#entries == #result.hits and entries[1]:find(result.hits[1].path, 1, true), 'hits to choose from', entries)
end

show['promptls/status'] = function(_, result)
  require('promptls.pages').status()
  local text = page()
  expect(text:find(result.state, 1, true) and text:find(result.message, 1, true), 'state and message', text)
  expect(text:find(('%d files'):format(result.roots[1].files), 1, true), 'files', text)
  local brief = require('promptls.render').brief(result)
  expect(brief == ('promptls %d files'):format(result.roots[1].files), 'the statusline', brief)
end

local function markdown(run)
  return function(case, result)
    run(case)
    expect(page() == result.markdown, 'the page is shown as it came')
  end
end

show['promptls/explain'] = markdown(function(case)
  require('promptls.pages').explain(case.params.symbol)
end)

show['promptls/graph'] = markdown(function(case)
  require('promptls.pages').graph(case.params)
end)

show['promptls/memory'] = function(case, result)
  if case.params.action == 'add' then
    local said = told(function()
      local select = vim.ui.select
      vim.ui.select = function(items, _, done)
        done(items[1])
      end
      require('promptls.pages').remember(case.params.content)
      vim.ui.select = select
    end)
    return expect(said:find(result.entries[1].title, 1, true), 'what was remembered is told', said)
  end
  require('promptls.pages').memory()
  local text = page()
  for _, entry in ipairs(result.entries) do
    for _, what in ipairs({ entry.title, entry.content, entry.category, entry.scope }) do
      expect(text:find(what, 1, true), what, text)
    end
  end
end

show['promptls/recipes'] = function(_, result)
  local entries = offered(require('promptls.pages').recipes)
  expect(#entries == #result.recipes, 'a choice for each recipe', entries)
  for i, recipe in ipairs(result.recipes) do
    expect(entries[i] == recipe.name .. ': ' .. recipe.description, 'name and description', entries[i])
  end
end

show['promptls/mentionKinds'] = function(_, result)
  require('promptls.pages').mentions()
  local text = page()
  for _, kind in ipairs(result.kinds) do
    expect(text:find('## ' .. kind.name, 1, true) and text:find(kind.help, 1, true), kind.name, text)
  end
end

show['promptls/explainIgnore'] = function(_, result)
  vim.cmd.edit('bundle.js')
  local said = told(require('promptls.pages').ignored)
  expect(said:find(result.reason, 1, true), 'the reason is told', said)
end

show['promptls/completeMention'] = function(case, result)
  vim.cmd.enew()
  vim.api.nvim_set_current_line(case.params.text)
  vim.api.nvim_win_set_cursor(0, { 1, #case.params.text })
  local inputs = require('promptls.inputs')
  expect(inputs.completefunc(1, '') == result.replace.start, 'where the mention begins')
  local items = inputs.completefunc(0, '')
  expect(#items == #result.items and items[1].word == result.items[1].insertText, 'what is offered', items)
  vim.cmd.bwipeout({ bang = true })
end

local function names(option, field)
  return function(_, result)
    client.get = function()
      return asked
    end
    local line = ('Promptls build %s='):format(option)
    local offers = require('promptls.usercmd').complete(option .. '=', line, #line)
    expect(#offers == #result[field], 'all are offered', offers)
    expect(offers[1] == option .. '=' .. result[field][1].name, 'by name', offers[1])
  end
end

show['promptls/models'] = names('model', 'models')
show['promptls/profiles'] = names('profile', 'profiles')

show['promptls/resolveMentions'] = function(case, result)
  local codecompanion = require('promptls.adapters.codecompanion')
  local built
  require('promptls.prompt').request_sync = function(request)
    built = request.message
    return { prompt = 'the prompt' }
  end
  local sent = codecompanion.decorate(case.params.message)
  expect(#result.mentions > 0 and built == case.params.message and sent == 'the prompt', 'mentions make a prompt', sent)
end

show['promptls/reindex'] = function()
  require('promptls.usercmd').run({ args = 'reindex', range = 0, bang = true })
end

-- The plugin has no use of these.
show['promptls/verifyCitations'] = function() end

local count = 0
for _, case in ipairs(read(folder .. '/cases.json')) do
  local golden = read(('%s/golden/%s.json'):format(folder, case.name))
  local run = show[case.method]
  expect(run, 'something shows ' .. case.method, case.name)
  local given
  client.request = function(method, _, opts)
    given = method
    if golden.error then
      (opts.on_error or require('promptls.tell').error)(golden.error.message, golden.error.code)
    else
      opts.on_result(golden.result, asked)
    end
    return { done = true, cancel = function() end }
  end
  client.request_sync = function(method)
    given = method
    return golden.result, golden.error and golden.error.message
  end
  local ok, problem = xpcall(function()
    if golden.error then
      local said = told(function()
        if case.method == 'promptls/buildPrompt' then
          require('promptls.prompt').show({ message = case.params.message })
        else
          require('promptls.pages').memory()
        end
      end)
      expect(said:find(golden.error.message, 1, true), 'the error is told', said)
    else
      run(case, golden.result)
    end
    expect(given == case.method or case.method == 'promptls/verifyCitations', 'the request was sent', given)
  end, function(message)
    return type(message) == 'string' and debug.traceback(message, 2) or message
  end)
  if not ok then
    io.stderr:write(case.name, ': ', problem, '\n')
    os.exit(1)
  end
  count = count + 1
end
print(('%d messages are shown'):format(count))
vim.cmd('qall!')
