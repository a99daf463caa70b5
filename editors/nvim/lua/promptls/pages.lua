-- Answers that are read and followed: search hits, pages about a definition, the graph, memory, the state.

local client = require('promptls.client')
local config = require('promptls.config')
local consumers = require('promptls.consumers')
local context = require('promptls.context')
local render = require('promptls.render')
local tell = require('promptls.tell')
local window = require('promptls.window')

local M = {}

--- The file and line that a line of a page names: "shop/cart.py:12-20".
---@param line string
---@param column integer From 0.
---@param roots string[] Folders.
---@return promptls.Location?
local function named(line, column, roots)
  local found
  for first, path, number, behind in line:gmatch('()([^%s`,;()]+):(%d+)()') do
    if not found or first <= column + 1 then
      for _, root in ipairs(roots) do
        local file = vim.fs.joinpath(root, path)
        if vim.uv.fs_stat(file) then
          local at = { line = math.max(0, number - 1), character = 0 }
          found = { uri = vim.uri_from_fname(file), range = { start = at, ['end'] = at } }
        end
      end
    end
    if found and column < behind then
      return found
    end
  end
  return found
end

---@class promptls.PageOptions
---@field title string
---@field filetype? string
---@field encoding? string
---@field roots? string[] Folders that paths on the page are relative to.
---@field keys? table<string, {[1]: fun(), desc: string}>

--- Show text in a window of its own.
---@param lines string[]
---@param opts promptls.PageOptions
---@return integer bufnr
---@return integer window
function M.show(lines, opts)
  local filetype = opts.filetype or 'markdown'
  local bufnr = window.page(lines, filetype)
  local footer = 'y yank  o open  ⏎ go there  q close'
  local opened = window.open(bufnr, config.get().preview, { title = opts.title, footer = footer })
  vim.wo[opened].conceallevel = 0
  local text = table.concat(lines, '\n')
  local keys = {
    q = {
      function()
        window.close(opened)
      end,
      desc = 'close',
    },
    y = {
      function()
        consumers.yank(text)
        tell.info('The page is in the registers.')
      end,
      desc = 'yank the page',
    },
    o = {
      function()
        window.close(opened)
        vim.api.nvim_set_current_win(window.ground())
        vim.cmd('hide enew')
        vim.bo.buftype, vim.bo.bufhidden = 'nofile', 'hide'
        vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
        vim.bo.filetype = filetype
      end,
      desc = 'open the page as a buffer',
    },
    ['<CR>'] = {
      function()
        local row, column = unpack(vim.api.nvim_win_get_cursor(0))
        local target = named(lines[row], column, opts.roots or {})
        if target then
          window.close(opened)
          window.jump(target, opts.encoding or 'utf-16')
        end
      end,
      desc = 'go to the file that the line names',
    },
  }
  window.keys(bufnr, vim.tbl_extend('force', keys, opts.keys or {}))
  return bufnr, opened
end

---@param asked vim.lsp.Client
---@return string[] folders
local function folders(asked)
  return vim.tbl_map(function(folder)
    return vim.uri_to_fname(folder.uri)
  end, asked.workspace_folders or {})
end

---@param result {markdown: string}
---@param title string
---@param asked vim.lsp.Client
local function markdown(result, title, asked)
  return M.show(vim.split(result.markdown, '\n', { plain = true }), {
    title = title,
    encoding = asked.offset_encoding,
    roots = folders(asked),
  })
end

--- Look for something; hits go into the quickfix list, or are chosen from.
---@param params {query: string, limit?: integer, paths?: string[], kinds?: string[]}
---@param to? 'quickfix'|'select'
function M.search(params, to)
  local opts = config.get().search
  params.limit = params.limit or opts.limit
  client.request('promptls/search', params, {
    on_result = function(result, asked)
      if #result.hits == 0 then
        return tell.info(('Nothing was found for "%s".'):format(params.query))
      end
      if (to or opts.to) == 'select' then
        return vim.ui.select(result.hits, {
          prompt = 'promptls: ' .. params.query,
          format_item = function(hit)
            return render.place(hit.path, hit.range) .. '  ' .. render.hit(hit)
          end,
        }, function(hit)
          if hit then
            local at = hit.range.start
            window.jump({ uri = hit.uri, range = { start = at, ['end'] = at } }, asked.offset_encoding)
          end
        end)
      end
      vim.fn.setqflist({}, ' ', { title = 'promptls: ' .. params.query, items = render.quickfix(result.hits) })
      vim.cmd('botright copen')
    end,
  })
end

--- What is known of a definition: of the one that is named, else of the one under the cursor.
---@param symbol? string
function M.explain(symbol)
  local bufnr = vim.api.nvim_get_current_buf()
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local function params(asked)
    if symbol and symbol ~= '' then
      return { symbol = symbol }
    end
    return {
      uri = vim.uri_from_bufnr(bufnr),
      position = context.position(bufnr, row - 1, column, asked.offset_encoding),
    }
  end
  client.request('promptls/explain', params, {
    on_result = function(result, asked)
      markdown(result, result.node and result.node.name or symbol or 'Not found', asked)
    end,
  })
end

--- The part of the knowledge graph that a question is about, or the paths between two definitions.
---@param params {query?: string, symbol?: string, from?: string, to?: string, limit?: integer}
function M.graph(params)
  client.request('promptls/graph', params, {
    on_result = function(result, asked)
      markdown(result, 'Graph', asked)
    end,
  })
end

--- How far the index is.
function M.status()
  client.request('promptls/status', {}, {
    on_result = function(result, asked)
      client.states[asked.id] = result
      M.show(render.status(result), { title = 'Status', encoding = asked.offset_encoding })
    end,
  })
end

--- The kinds of mentions and how they are written.
function M.mentions()
  client.request('promptls/mentionKinds', {}, {
    on_result = function(result)
      M.show(render.kinds(result.kinds), { title = 'Mentions' })
    end,
  })
end

--- Why the file in front is indexed, or is not.
function M.ignored()
  local bufnr = require('promptls.documents').front()
  if not bufnr then
    return tell.info('No file is open.')
  end
  client.request('promptls/explainIgnore', { uri = vim.uri_from_bufnr(bufnr) }, {
    bufnr = bufnr,
    on_result = function(result)
      local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(bufnr), ':~:.')
      tell.info(('%s is %s: %s'):format(name, result.indexed and 'indexed' or 'not indexed', result.reason))
    end,
  })
end

-- ---- memory

---@param params table
---@param title string
local function list_memory(params, title)
  client.request('promptls/memory', params, {
    on_result = function(result, asked)
      for _, warning in ipairs(result.warnings or {}) do
        tell.warn(warning)
      end
      local lines, at = render.memory(result.entries)
      local opened ---@type integer
      local function again()
        window.close(opened)
        list_memory(params, title)
      end
      local _, shown = M.show(lines, {
        title = title .. ' (a add, x remove)',
        encoding = asked.offset_encoding,
        roots = folders(asked),
        keys = {
          a = {
            function()
              M.remember('', again)
            end,
            desc = 'remember something',
          },
          x = {
            function()
              local entry = at[vim.api.nvim_win_get_cursor(0)[1] - 1]
              if entry then
                M.forget(entry, again)
              end
            end,
            desc = 'forget the entry under the cursor',
          },
        },
      })
      opened = shown
    end,
  })
end

--- Remember something; what is not given is asked for.
---@param text string
---@param done? fun()
function M.remember(text, done)
  local function add(content, category, scope)
    local title = vim.split(content, '[.\n]')[1]
    local params = { action = 'add', content = content, category = category, scope = scope }
    params.title = vim.fn.strcharpart(title, 0, 60)
    client.request('promptls/memory', params, {
      on_result = function(result)
        tell.info(('Remembered: %s'):format(result.entries[1] and result.entries[1].title or title))
        if done then
          done()
        end
      end,
    })
  end
  local function ask(content)
    if not content or vim.trim(content) == '' then
      return
    end
    vim.ui.select({ 'knowledge', 'rule', 'experience' }, { prompt = 'What is it' }, function(category)
      if not category then
        return
      end
      vim.ui.select({ 'user', 'workspace' }, {
        prompt = 'For whom',
        format_item = function(scope)
          return scope == 'user' and 'for you, everywhere' or 'for this workspace (.promptls/memory.json)'
        end,
      }, function(scope)
        if scope then
          add(content, category, scope)
        end
      end)
    end)
  end
  if text ~= '' then
    return ask(text)
  end
  vim.ui.input({ prompt = 'Remember: ' }, ask)
end

--- Forget an entry, after asking.
---@param entry {id: string, title: string, scope: string}
---@param done? fun()
function M.forget(entry, done)
  vim.ui.select({ 'Forget it', 'Keep it' }, { prompt = entry.title }, function(_, choice)
    if choice ~= 1 then
      return
    end
    client.request('promptls/memory', { action = 'remove', id = entry.id, scope = entry.scope }, {
      on_result = function()
        tell.info(('Forgotten: %s'):format(entry.title))
        if done then
          done()
        end
      end,
    })
  end)
end

---@param query? string
function M.memory(query)
  if query and query ~= '' then
    return list_memory({ action = 'search', query = query }, 'Memory: ' .. query)
  end
  list_memory({ action = 'list' }, 'Memory')
end

-- ---- recipes

---@param recipe table
---@param given table<string, string>
---@param done fun(arguments: table<string, string>)
local function ask_arguments(recipe, given, done)
  local missing = vim.tbl_filter(function(argument)
    return argument.required and given[argument.name] == nil
  end, recipe.arguments)
  local function next_one(i)
    local argument = missing[i]
    if not argument then
      return done(given)
    end
    local function got(value)
      if value and value ~= '' then
        given[argument.name] = value
        next_one(i + 1)
      end
    end
    if #(argument.choices or {}) > 0 then
      vim.ui.select(argument.choices, { prompt = argument.description }, got)
    else
      vim.ui.input({ prompt = argument.description .. ': ', default = argument.default }, got)
    end
  end
  next_one(1)
end

--- Pick a recipe and ask a question with it.
---@param lines? {[1]: integer, [2]: integer} What it is about, from 1, inclusive.
function M.recipes(lines)
  local from = vim.api.nvim_get_current_win()
  client.request('promptls/recipes', {}, {
    on_result = function(result)
      vim.ui.select(result.recipes, {
        prompt = 'Recipe',
        format_item = function(recipe)
          return ('%s: %s'):format(recipe.name, recipe.description)
        end,
      }, function(recipe)
        if not recipe then
          return
        end
        ask_arguments(recipe, {}, function(arguments)
          if vim.api.nvim_win_is_valid(from) then
            vim.api.nvim_set_current_win(from)
          end
          require('promptls.ask').open({ opts = { recipe = recipe.name, arguments = arguments }, lines = lines })
        end)
      end)
    end,
  })
end

-- ---- the log

--- Where the server writes its log on this system; "promptls doctor" tells, too, but takes its time.
---@return string
local function log_file()
  local home = vim.uv.os_homedir() or ''
  local folder = vim.fs.joinpath(vim.env.XDG_STATE_HOME or vim.fs.joinpath(home, '.local', 'state'), 'promptls', 'log')
  if vim.fn.has('mac') == 1 then
    folder = vim.fs.joinpath(home, 'Library', 'Logs', 'promptls')
  elseif vim.fn.has('win32') == 1 then
    folder = vim.fs.joinpath(vim.env.LOCALAPPDATA or home, 'promptls', 'Logs')
  end
  return vim.fs.joinpath(folder, 'promptls.log')
end

---@param file string
local function view(file)
  vim.api.nvim_set_current_win(window.ground())
  vim.cmd('botright split')
  vim.cmd.view({ args = { file }, magic = { file = false } })
  vim.cmd('normal! G')
end

--- The server's log, in a split; its last line is the newest.
function M.log()
  local file = log_file()
  if vim.uv.fs_stat(file) then
    return view(file)
  end
  local found, problem = require('promptls.server').find(require('promptls.documents').root(0))
  if not found then
    return tell.error(problem --[[@as string]])
  end
  local cmd = vim.list_extend(vim.list_slice(found.cmd, 1, #found.cmd - 1), { 'doctor' })
  vim.system(cmd, { text = true, timeout = 60000 }, function(done)
    vim.schedule(function()
      local named = (done.stdout or ''):match('log: ([^\n]+)')
      if named and vim.uv.fs_stat(named) then
        return view(named)
      end
      tell.info('The server has written no log yet.')
    end)
  end)
end

return M
