-- Requests whose response is displayed: search, explain and ignore rules.

local client = require('promptls.client')
local config = require('promptls.config')
local context = require('promptls.context')
local notify = require('promptls.notify')
local page = require('promptls.page')
local window = require('promptls.window')

local M = {}

--- Return a search result as one line: kind, symbol and why it was found.
---@param hit table
---@return string
local function describe(hit)
  return ('%s%s (%s)'):format(hit.kind, hit.symbol and ' ' .. hit.symbol or '', hit.why)
end

--- Return the first and the last line of a range of whole lines, from 1.
---@param range promptls.Range
---@return integer first
---@return integer last
local function line_numbers(range)
  return range.start.line + 1, math.max(range.start.line + 1, range['end'].line)
end

--- Convert a search result to an entry of the quickfix list.
---@param hit table
---@return vim.quickfix.entry
local function quickfix_entry(hit)
  local shown = hit.location or hit -- a notebook is shown as JSON
  local first, last = line_numbers(shown.range)
  return { filename = vim.uri_to_fname(shown.uri), lnum = first, end_lnum = last, col = 1, text = describe(hit) }
end

--- Search the workspace; results go to the quickfix list or a selection menu.
---@param params {query: string, limit?: integer, paths?: string[], kinds?: string[]}
---@param to? 'quickfix'|'select'
function M.search(params, to)
  local opts = config.get().search
  params.limit = params.limit or opts.limit
  client.request('promptls/search', params, {
    on_result = function(result, lsp_client)
      if #result.hits == 0 then
        return notify.info(('No results for "%s".'):format(params.query))
      end
      if (to or opts.to) == 'select' then
        return vim.ui.select(result.hits, {
          prompt = 'promptls: ' .. params.query,
          format_item = function(hit)
            local first, last = line_numbers(hit.range)
            return ('%s:%d-%d  %s'):format(hit.path, first, last, describe(hit))
          end,
        }, function(hit)
          if hit then
            local shown = hit.location or hit
            local start = shown.range.start
            window.jump({ uri = shown.uri, range = { start = start, ['end'] = start } }, lsp_client.offset_encoding)
          end
        end)
      end
      local items = vim.tbl_map(quickfix_entry, result.hits)
      vim.fn.setqflist({}, ' ', { title = 'promptls: ' .. params.query, items = items })
      vim.cmd('botright copen')
    end,
  })
end

--- Describe a definition, by name or under the cursor.
---@param symbol? string
function M.explain(symbol)
  local bufnr = vim.api.nvim_get_current_buf()
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local function params(lsp_client)
    if symbol and symbol ~= '' then
      return { symbol = symbol }
    end
    return {
      uri = vim.uri_from_bufnr(bufnr),
      position = context.position(bufnr, row - 1, column, lsp_client.offset_encoding),
    }
  end
  page.open('explain', params)
end

--- Show why the active file is indexed or ignored.
function M.explain_ignore()
  local bufnr = require('promptls.documents').active_file()
  if not bufnr then
    return notify.info('No file is open.')
  end
  client.request('promptls/explainIgnore', { uri = vim.uri_from_bufnr(bufnr) }, {
    bufnr = bufnr,
    on_result = function(result)
      local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(bufnr), ':~:.')
      notify.info(('%s is %s: %s'):format(name, result.indexed and 'indexed' or 'not indexed', result.reason))
    end,
  })
end

return M
