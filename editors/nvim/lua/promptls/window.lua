-- Windows of the plugin: a float, a split or a tab page, depending on the options.

local M = {}

--- Return the most recent window that is not a float. Files are opened there.
---@return integer
function M.non_floating()
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

--- Convert a size option to cells.
---@param option number A fraction up to 1, else cells.
---@param available integer
---@param minimum integer
local function to_cells(option, available, minimum)
  local cells = option <= 1 and option * available or option
  return math.max(math.min(minimum, available), math.min(available, math.floor(cells)))
end

---@param opts promptls.WindowOptions
local function geometry(opts)
  local columns, lines = vim.o.columns - 2, vim.o.lines - vim.o.cmdheight - 3
  local width, height = to_cells(opts.width or 0.8, columns, 40), to_cells(opts.height or 0.8, lines, 5)
  return {
    relative = 'editor',
    width = width,
    height = height,
    row = math.max(0, math.floor((lines - height) / 2)),
    col = math.max(0, math.floor((columns - width) / 2)),
  }
end

--- Join the hints that fit a width, above all the last one, which closes the window.
---@param hints string[]
---@param width integer
---@return string
function M.fit(hints, width)
  local all = table.concat(hints, '  ')
  if vim.fn.strdisplaywidth(all) <= width then
    return all
  end
  local rest, count = '…  ' .. hints[#hints], 0
  local joined = rest
  while vim.fn.strdisplaywidth(joined) <= width do
    count, all = count + 1, joined
    joined = table.concat(hints, '  ', 1, count) .. '  ' .. rest
  end
  if count == 0 then
    all = vim.iter({ rest, hints[#hints], '' }):find(function(text)
      return vim.fn.strdisplaywidth(text) <= width
    end)
  end
  return all
end

--- Show a title and the hints that fit the width: in the border of a float, in the 'winbar' of other windows.
---@param window integer
---@param labels {title: string, hints: string[]} The hints describe the keys, the most important first.
function M.label(window, labels)
  local width, title = vim.api.nvim_win_get_width(window), vim.fn.strtrans(labels.title)
  if vim.fn.strdisplaywidth(title) > width - 2 then
    title = vim.fn.strcharpart(title, 0, width - 3) .. '…'
  end
  if vim.api.nvim_win_get_config(window).relative == '' then
    local hints = M.fit(labels.hints, width - vim.fn.strdisplaywidth(title) - 4)
    vim.wo[window].winbar = (' %s  %%=%s '):format(title:gsub('%%', '%%%%'), hints)
  elseif vim.api.nvim_win_get_config(window).border then
    local footer = ' ' .. M.fit(labels.hints, width - 2) .. ' '
    vim.api.nvim_win_set_config(window, { title = ' ' .. title .. ' ', footer = footer, footer_pos = 'right' })
  end
end

local split_commands = {
  split = 'botright split',
  vsplit = 'botright vsplit',
  tab = 'tab split',
}

--- Open a window for a buffer and enter it.
---@param bufnr integer
---@param opts promptls.WindowOptions
---@param labels {title: string, hints: string[]}
---@return integer window
function M.open(bufnr, opts, labels)
  local split_command = split_commands[opts.style or 'float']
  local window
  if split_command then
    vim.api.nvim_set_current_win(M.non_floating())
    vim.cmd(split_command)
    window = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_buf(window, bufnr)
  else
    local layout = geometry(opts)
    layout.border = opts.border or 'rounded'
    layout.style = 'minimal'
    window = vim.api.nvim_open_win(bufnr, true, layout)
    vim.wo[window].winfixbuf = true
    vim.api.nvim_create_autocmd('VimResized', {
      group = vim.api.nvim_create_augroup('promptls.window.' .. window, {}),
      callback = function()
        if not vim.api.nvim_win_is_valid(window) then
          return true
        end
        vim.api.nvim_win_set_config(window, geometry(opts))
        M.label(window, labels)
      end,
    })
  end
  M.label(window, labels)
  vim.wo[window].wrap = true
  vim.wo[window].linebreak = true
  vim.wo[window].spell = false
  return window
end

--- Close a window unless it is the last one.
---@param window? integer
function M.close(window)
  if not window or not vim.api.nvim_win_is_valid(window) then
    return
  end
  if #vim.api.nvim_list_wins() > 1 then
    vim.api.nvim_win_close(window, true)
  end
end

--- Create a read-only buffer that is deleted when its window closes.
---@param lines string[]
---@param filetype string
---@return integer bufnr
function M.create_buffer(lines, filetype)
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modifiable = false
  vim.bo[bufnr].bufhidden = 'wipe'
  vim.bo[bufnr].filetype = filetype
  return bufnr
end

--- Map keys of a buffer in Normal mode.
---@param bufnr integer
---@param keys table<string, {[1]: fun(), desc: string}>
function M.map_keys(bufnr, keys)
  for key, map in pairs(keys) do
    vim.keymap.set('n', key, map[1], { buffer = bufnr, nowait = true, desc = 'promptls: ' .. map.desc })
  end
end

--- Go to a location in a file, in a window that is not a float.
---@param location {uri: string, range?: promptls.Range}
---@param encoding string
function M.jump(location, encoding)
  if not vim.startswith(location.uri, 'file:') then
    return require('promptls.notify').info('This item is not a file. The page shows its full text.')
  end
  vim.api.nvim_set_current_win(M.non_floating())
  vim.cmd("normal! m'")
  vim.lsp.util.show_document(location, encoding, { focus = true, reuse_win = true })
  vim.cmd('normal! zv')
end

return M
