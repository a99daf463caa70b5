-- Completion of mentions in prompt documents, and of paths in instruction files, with Neovim's built-in completion.

local config = require('promptls.config')
local documents = require('promptls.documents')

local M = {}

--- Return whether Neovim's built-in completion is used.
function M.is_enabled()
  local option = config.get().completion
  if option == 'auto' then
    return not package.loaded['blink.cmp'] and not package.loaded['cmp']
  end
  return option == true
end

--- Return whether the text before the cursor may be a mention, or a path in backticks in an instruction file. This
--- check saves requests; the server decides.
---@param bufnr integer
local function is_in_mention(bufnr)
  local column = vim.api.nvim_win_get_cursor(0)[2]
  local line = vim.api.nvim_get_current_line():sub(1, column)
  local is_path = line:find('`[^`]*$') and not documents.is_prompt(bufnr)
  return is_path or line:find('@%S*$') ~= nil or line:find('@[^%s"]*"[^"]*$') ~= nil
end

local MIN_LABEL = 12 -- columns of a shortened label
local COST = 18 -- columns of a cost of up to six digits, with a space before it and the padding of the menu

--- Return the columns of an item in the popup menu. The token cost comes first, and a long path is shortened in the
--- middle, so that the cost is visible in a narrow screen.
---@param label string
---@param detail string
---@param cost string Empty if unknown.
---@param typed string Text before the cursor that the item replaces; the popup menu starts below its first character.
---@return {abbr: string, kind: string, menu: string}
function M.columns(label, detail, cost, typed)
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local available = vim.o.columns - vim.fn.screenpos(0, row, math.max(1, column - #typed + 1)).col
  local limit, length = math.max(MIN_LABEL, available - COST), vim.fn.strchars(label)
  if length > limit then
    local head = math.floor(limit / 4) -- the file name is at the end
    label = vim.fn.strcharpart(label, 0, head) .. '…' .. vim.fn.strcharpart(label, length - limit + head + 1)
  end
  local separator = cost ~= '' and detail ~= '' and ' · ' or ''
  return { abbr = label, kind = '', menu = cost .. separator .. detail } -- the detail names the kind
end

--- Return the columns of an item of the server, whose detail ends with the cost.
---@param item lsp.CompletionItem
local function columns(item)
  local detail = item.detail or ''
  local cost = vim.tbl_get(item, 'labelDetails', 'description') or ''
  if cost == detail and not cost:find(' tokens$') then
    cost = ''
  end
  local rest = cost ~= '' and detail:sub(1, -#cost - 1):gsub(' · $', '') or detail
  return M.columns(item.label, rest, cost:gsub('^about ', '~'), item.filterText or '')
end

--- Delete the rest of a completed mention after the cursor: Neovim replaces only the text before the cursor.
---@param item lsp.CompletionItem
---@param encoding string
local function delete_rest(item, encoding)
  local range = vim.tbl_get(item, 'textEdit', 'range')
  if not range or not item.filterText or range.start.line ~= range['end'].line then
    return
  end
  local typed = vim.str_utfindex(item.filterText, encoding)
  local rest = range['end'].character - range.start.character - typed
  if rest <= 0 then
    return
  end
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local after_cursor = vim.api.nvim_get_current_line():sub(column + 1)
  local bytes = vim.str_byteindex(after_cursor, encoding, rest, false)
  vim.api.nvim_buf_set_text(0, row - 1, column, row - 1, column + bytes, {})
end

--- Drop completion responses that arrive after the text or the cursor has changed.
--- Neovim would replace the accepted item with them.
---@param client vim.lsp.Client
local function drop_stale_responses(client)
  if rawget(client, 'promptls_drops_stale') then
    return
  end
  rawset(client, 'promptls_drops_stale', true)
  local request = client.request
  client.request = function(self, method, params, handler, bufnr)
    if method == 'textDocument/completion' and handler then
      local line, cursor, original = vim.api.nvim_get_current_line(), vim.api.nvim_win_get_cursor(0), handler
      handler = function(...)
        if line == vim.api.nvim_get_current_line() and vim.deep_equal(cursor, vim.api.nvim_win_get_cursor(0)) then
          original(...)
        end
      end
    end
    return request(self, method, params, handler, bufnr)
  end
end

--- Request the items for the text before the cursor, if it may be a mention.
---@param bufnr integer
local function request(bufnr)
  if is_in_mention(bufnr) then
    local incomplete = vim.lsp.protocol.CompletionTriggerKind.TriggerForIncompleteCompletions
    vim.lsp.completion.get({ ctx = { triggerKind = incomplete } })
  end
end

--- Enable completion in a document, with a request for every typed character.
--- Neovim's own filter does not match like the server, and Neovim sends no further requests once its list is empty.
---@param client vim.lsp.Client
---@param bufnr integer
---@param group integer Autocommand group of the document.
function M.attach(client, bufnr, group)
  drop_stale_responses(client)
  vim.bo[bufnr].completeopt = 'menuone,noselect,fuzzy,popup'
  vim.lsp.completion.enable(true, client.id, bufnr, {
    autotrigger = false,
    convert = function(item)
      -- Neovim cuts a word at its first space, but mentions may contain spaces.
      return vim.tbl_extend('error', columns(item), { word = vim.tbl_get(item, 'textEdit', 'newText') or item.label })
    end,
  })
  local typed, length = false, 0
  vim.api.nvim_create_autocmd('InsertCharPre', {
    group = group,
    buffer = bufnr,
    callback = function()
      typed = true
    end,
  })
  vim.api.nvim_create_autocmd({ 'TextChangedI', 'TextChangedP' }, {
    group = group,
    buffer = bufnr,
    callback = function()
      local new_length = #vim.api.nvim_get_current_line()
      local erased = new_length < length and vim.fn.complete_info({ 'selected' }).selected == -1
      length = new_length
      if typed or erased then
        request(bufnr)
      end
      typed = false
    end,
  })
  vim.api.nvim_create_autocmd('LspDetach', {
    group = group,
    buffer = bufnr,
    callback = function(event)
      if event.data.client_id == client.id then
        -- Otherwise Neovim keeps waiting for responses of the detached client.
        vim.lsp.completion.enable(false, client.id, bufnr)
      end
    end,
  })
  vim.api.nvim_create_autocmd('CompleteDone', {
    group = group,
    buffer = bufnr,
    callback = function()
      local item = vim.tbl_get(vim.v.completed_item, 'user_data', 'nvim', 'lsp', 'completion_item')
      if vim.v.event.reason ~= 'accept' or not item then
        return
      end
      delete_rest(item, client.offset_encoding)
      local word = vim.v.completed_item.word or ''
      if word:find('[/:]$') then -- a folder or workspace folder: complete its content
        vim.schedule(function()
          if vim.api.nvim_get_mode().mode:find('^i') then
            vim.lsp.completion.get()
          end
        end)
      end
    end,
  })
  if vim.api.nvim_get_current_buf() == bufnr and vim.api.nvim_get_mode().mode == 'i' then
    request(bufnr) -- the mention was typed while the server started
  end
end

return M
