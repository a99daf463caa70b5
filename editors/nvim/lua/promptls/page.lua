-- Page windows: read-only text, usually Markdown, with keys to yank it and to open the files it refers to.

local config = require('promptls.config')
local consumers = require('promptls.consumers')
local notify = require('promptls.notify')
local window = require('promptls.window')

local M = {}

local FOOTER = 'y yank  o open  ⏎ go there  q close'

--- Return the location of a file reference such as "shop/cart.py:12-20" in a line: the reference at the column, else
--- the nearest one.
---@param line string
---@param column integer 0-based.
---@param roots string[] Folders.
---@return promptls.Location?
local function referenced_location(line, column, roots)
  local location
  for first, path, number, after in line:gmatch('()([^%s`,;()]+):(%d+)()') do
    if not location or first <= column + 1 then
      for _, root in ipairs(roots) do
        local file = vim.fs.joinpath(root, path)
        if vim.uv.fs_stat(file) then
          local start = { line = math.max(0, number - 1), character = 0 }
          location = { uri = vim.uri_from_fname(file), range = { start = start, ['end'] = start } }
        end
      end
    end
    if location and column < after then
      return location
    end
  end
  return location
end

---@class promptls.PageOptions
---@field title string
---@field filetype? string
---@field encoding? string
---@field roots? string[] Folders that paths on the page are relative to.
---@field keys? table<string, {[1]: fun(), desc: string}>

--- Open a page window.
---@param lines string[]
---@param opts promptls.PageOptions
---@return integer bufnr
---@return integer window
function M.show(lines, opts)
  local filetype = opts.filetype or 'markdown'
  local bufnr = window.create_buffer(lines, filetype)
  local page_window = window.open(bufnr, config.get().preview, { title = opts.title, footer = FOOTER })
  vim.wo[page_window].conceallevel = 0
  local text = table.concat(lines, '\n')
  local keys = {
    q = {
      function()
        window.close(page_window)
      end,
      desc = 'close',
    },
    y = {
      function()
        consumers.yank(text)
        notify.info('Copied the page to the registers.')
      end,
      desc = 'yank the page',
    },
    o = {
      function()
        window.close(page_window)
        vim.api.nvim_set_current_win(window.non_floating())
        vim.cmd('hide enew')
        vim.bo.buftype, vim.bo.bufhidden = 'nofile', 'hide'
        vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
        vim.bo.filetype = filetype
      end,
      desc = 'open the page in a buffer',
    },
    ['<CR>'] = {
      function()
        local row, column = unpack(vim.api.nvim_win_get_cursor(0))
        local location = referenced_location(lines[row], column, opts.roots or {})
        if location then
          window.close(page_window)
          window.jump(location, opts.encoding or 'utf-16')
        end
      end,
      desc = 'go to the file on the line',
    },
  }
  window.map_keys(bufnr, vim.tbl_extend('force', keys, opts.keys or {}))
  return bufnr, page_window
end

--- Return the workspace folders of a client as paths.
---@param lsp_client vim.lsp.Client
---@return string[]
function M.roots(lsp_client)
  return vim.tbl_map(function(folder)
    return vim.uri_to_fname(folder.uri)
  end, lsp_client.workspace_folders or {})
end

--- Open a page with a Markdown response of the server.
---@param result {markdown: string}
---@param title string
---@param lsp_client vim.lsp.Client
function M.show_markdown(result, title, lsp_client)
  return M.show(vim.split(result.markdown, '\n', { plain = true }), {
    title = title,
    encoding = lsp_client.offset_encoding,
    roots = M.roots(lsp_client),
  })
end

return M
