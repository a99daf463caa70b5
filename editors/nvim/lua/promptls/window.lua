-- Windows for what the plugin shows: a float, or a split or tab page where the user prefers one.

local M = {}

--- The last window that is no float: where files are opened.
---@return integer
function M.ground()
  local current = vim.api.nvim_get_current_win()
  if vim.api.nvim_win_get_config(current).relative == '' then
    return current
  end
  local previous = vim.fn.win_getid(vim.fn.winnr('#'))
  for _, window in ipairs({ previous, unpack(vim.api.nvim_tabpage_list_wins(0)) }) do
    if window ~= 0 and vim.api.nvim_win_is_valid(window) and vim.api.nvim_win_get_config(window).relative == '' then
      return window
    end
  end
  return current
end

---@param wanted number
---@param all integer
---@param least integer
local function size(wanted, all, least)
  local absolute = wanted <= 1 and wanted * all or wanted
  return math.max(math.min(least, all), math.min(all, math.floor(absolute)))
end

---@param opts promptls.WindowOptions
local function geometry(opts)
  local columns, lines = vim.o.columns - 2, vim.o.lines - vim.o.cmdheight - 3
  local width, height = size(opts.width or 0.8, columns, 40), size(opts.height or 0.8, lines, 5)
  return {
    relative = 'editor',
    width = width,
    height = height,
    row = math.max(0, math.floor((lines - height) / 2)),
    col = math.max(0, math.floor((columns - width) / 2)),
  }
end

local splits = {
  split = 'botright split',
  vsplit = 'botright vsplit',
  tab = 'tab split',
}

--- Show a buffer in a window of its own and go there.
---@param bufnr integer
---@param opts promptls.WindowOptions
---@param labels? {title?: string, footer?: string}
---@return integer window
function M.open(bufnr, opts, labels)
  labels = labels or {}
  local split = splits[opts.style or 'float']
  local window
  if split then
    vim.api.nvim_set_current_win(M.ground())
    vim.cmd(split)
    window = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_buf(window, bufnr)
    if labels.title then
      local title = labels.title:gsub('%%', '%%%%')
      vim.wo[window].winbar = (' %s  %%=%s'):format(title, labels.footer or '')
    end
  else
    local layout = geometry(opts)
    layout.border = opts.border or 'rounded'
    layout.style = 'minimal'
    layout.title = labels.title and ' ' .. labels.title .. ' '
    layout.footer = labels.footer and ' ' .. labels.footer .. ' '
    layout.footer_pos = labels.footer and 'right' or nil
    window = vim.api.nvim_open_win(bufnr, true, layout)
    vim.wo[window].winfixbuf = true
    vim.api.nvim_create_autocmd('VimResized', {
      group = vim.api.nvim_create_augroup('promptls.window.' .. window, {}),
      callback = function()
        if not vim.api.nvim_win_is_valid(window) then
          return true
        end
        vim.api.nvim_win_set_config(window, geometry(opts))
      end,
    })
  end
  vim.wo[window].wrap = true
  vim.wo[window].linebreak = true
  vim.wo[window].spell = false
  return window
end

---@param window? integer
function M.close(window)
  if not window or not vim.api.nvim_win_is_valid(window) then
    return
  end
  if #vim.api.nvim_list_wins() > 1 then
    vim.api.nvim_win_close(window, true)
  end
end

--- A buffer of text that is only shown.
---@param lines string[]
---@param filetype string
---@return integer bufnr
function M.page(lines, filetype)
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modifiable = false
  vim.bo[bufnr].bufhidden = 'wipe'
  vim.bo[bufnr].filetype = filetype
  return bufnr
end

---@param bufnr integer
---@param keys table<string, {[1]: fun(), desc: string}>
function M.keys(bufnr, keys)
  for key, map in pairs(keys) do
    vim.keymap.set('n', key, map[1], { buffer = bufnr, nowait = true, desc = 'promptls: ' .. map.desc })
  end
end

--- Go to a place in a file, in a window that is no float.
---@param location {uri: string, range?: promptls.Range}
---@param encoding string
function M.jump(location, encoding)
  if not vim.startswith(location.uri, 'file:') then
    return require('promptls.tell').info('That is no file; it stands in the prompt as a whole.')
  end
  vim.api.nvim_set_current_win(M.ground())
  vim.cmd("normal! m'")
  vim.lsp.util.show_document(location, encoding, { focus = true, reuse_win = true })
  vim.cmd('normal! zv')
end

return M
