-- Memory entries: list, search, add and remove.

local client = require('promptls.client')
local config = require('promptls.config')
local notify = require('promptls.notify')
local window = require('promptls.window')

local M = {}

--- Return the lines of the list as Markdown.
---@param entries table[]
---@return string[] lines
---@return table<integer, table> entry_at Line, from 1 → entry.
local function render(entries)
  local lines, entry_at = { '# Memory', '' }, {}
  if #entries == 0 then
    table.insert(lines, 'No memory entries. Press a to add one.')
  end
  for _, entry in ipairs(entries) do
    local first = #lines + 1
    local tags = #entry.tags > 0 and '  #' .. table.concat(entry.tags, ' #') or ''
    table.insert(lines, '## ' .. entry.title)
    table.insert(lines, ('%s, %s%s  %s'):format(entry.category, entry.scope, tags, table.concat(entry.paths, ' ')))
    vim.list_extend(lines, vim.split(entry.content, '\n', { plain = true }))
    table.insert(lines, '')
    for line = first, #lines do
      entry_at[line] = entry
    end
  end
  return lines, entry_at
end

---@param params table
---@param title string
local function show_entries(params, title)
  client.request('promptls/memory', params, {
    on_result = function(result)
      for _, warning in ipairs(result.warnings or {}) do
        notify.warn(warning)
      end
      local lines, entry_at = render(result.entries)
      local bufnr = window.create_buffer(lines, 'markdown')
      local hints = { 'a add', 'x remove', 'q close' }
      local list_window = window.open(bufnr, config.get().preview, { title = title, hints = hints })
      local function refresh()
        window.close(list_window)
        show_entries(params, title)
      end
      local function add()
        M.add('', refresh)
      end
      local function remove()
        local entry = entry_at[vim.api.nvim_win_get_cursor(0)[1]]
        if entry then
          M.remove(entry, refresh)
        end
      end
      local function close()
        window.close(list_window)
      end
      window.map_keys(bufnr, {
        a = { add, desc = 'add a memory entry' },
        x = { remove, desc = 'remove the entry under the cursor' },
        q = { close, desc = 'close' },
      })
    end,
  })
end

--- List all memory entries.
function M.list()
  show_entries({ action = 'list' }, 'Memory')
end

--- List the memory entries that match a query; all entries for an empty query.
---@param query string
function M.search(query)
  if query == '' then
    return M.list()
  end
  show_entries({ action = 'search', query = query }, 'Memory: ' .. query)
end

--- Add a memory entry. The user enters its category and scope, and its text if that is empty.
---@param text string
---@param on_added? fun()
function M.add(text, on_added)
  local function request_add(content, category, scope)
    local title = vim.split(content, '[.\n]')[1]
    local params = { action = 'add', content = content, category = category, scope = scope }
    params.title = vim.fn.strcharpart(title, 0, 60)
    client.request('promptls/memory', params, {
      on_result = function(result)
        notify.info(('Added to memory: %s'):format(result.entries[1] and result.entries[1].title or title))
        if on_added then
          on_added()
        end
      end,
    })
  end
  local function select_category(content)
    if not content or vim.trim(content) == '' then
      return
    end
    vim.ui.select({ 'knowledge', 'rule', 'experience' }, { prompt = 'Category' }, function(category)
      if not category then
        return
      end
      vim.ui.select({ 'user', 'workspace' }, {
        prompt = 'Scope',
        format_item = function(scope)
          return scope == 'user' and 'user (all workspaces)' or 'workspace (.promptls/memory.json)'
        end,
      }, function(scope)
        if scope then
          request_add(content, category, scope)
        end
      end)
    end)
  end
  if text ~= '' then
    return select_category(text)
  end
  vim.ui.input({ prompt = 'New memory entry: ' }, select_category)
end

--- Remove a memory entry after confirmation.
---@param entry {id: string, title: string, scope: string}
---@param on_removed? fun()
function M.remove(entry, on_removed)
  vim.ui.select({ 'Remove', 'Keep' }, { prompt = entry.title }, function(_, choice)
    if choice ~= 1 then
      return
    end
    client.request('promptls/memory', { action = 'remove', id = entry.id, scope = entry.scope }, {
      on_result = function()
        notify.info(('Removed from memory: %s'):format(entry.title))
        if on_removed then
          on_removed()
        end
      end,
    })
  end)
end

return M
