-- Which buffers are prompts, which the server is to see, where their workspace is, and which were used last.

local config = require('promptls.config')

local M = {}

M.SCHEME = 'prompt://'
local ENDING = '%.prompt%.md$'

--- Language ids where LSP's differ from Neovim's filetypes.
local languages = { gitcommit = 'git-commit', gitrebase = 'git-rebase', text = 'plaintext', sh = 'shellscript' }

--- Languages whose documents are prompts as well, by the user's choice.  The server tells what is wrong with it.
---@return string[]
local function opted()
  local given = vim.tbl_get(config.get().settings, 'documents', 'languages')
  local right = vim.islist(given) and vim.iter(given):all(function(language)
    return type(language) == 'string'
  end)
  return right and given or {}
end

--- Whether a buffer holds a question, with mentions in it.
---@param bufnr integer
---@return boolean
function M.is_prompt(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  local filetype = vim.bo[bufnr].filetype
  if filetype == 'promptls' or name:find(ENDING) then
    return true
  end
  return vim.list_contains(opted(), languages[filetype] or filetype)
end

--- The language that the server is told.
---@param bufnr integer
---@param filetype string
---@return string
function M.language(bufnr, filetype)
  local name = vim.api.nvim_buf_get_name(bufnr)
  return name:find(ENDING) and 'promptls' or languages[filetype] or filetype
end

--- Whether a buffer is a file's text, and small enough to be sent.
---@param bufnr integer
---@return boolean
function M.is_file(bufnr)
  if vim.bo[bufnr].buftype ~= '' or vim.bo[bufnr].binary then
    return false
  end
  local name = vim.api.nvim_buf_get_name(bufnr)
  if name == '' or name:find('^%a[%w+.-]+://') then
    return false
  end
  local stat = vim.uv.fs_stat(name)
  return not stat or (stat.type == 'file' and stat.size <= config.get().max_file_size)
end

--- Whether `folder` is `path` or lies above it.
---@param folder string
---@param path string
local function holds(folder, path)
  return path == folder or vim.startswith(path, (folder:gsub('/+$', '')) .. '/')
end

--- A folder that may be indexed although nothing marks it: not the home folder, nor one above it.
---@param folder string
local function modest(folder)
  return not holds(folder, vim.fs.normalize(vim.uv.os_homedir() or '/'))
end

--- The nearest folder, this one or one above it, that holds a marker.  `vim.fs.root` takes the first marker first,
--- however far above.
---@param folder string
---@return string?
local function marked(folder)
  local found = vim.fs.find(config.get().root_markers, { upward = true, path = folder })[1]
  return found and vim.fs.normalize(vim.fs.dirname(found))
end

--- The workspace of a buffer; nil if it has none.
---@param bufnr integer
---@return string?
function M.root(bufnr)
  local here = vim.fs.normalize(vim.fn.getcwd())
  if M.is_file(bufnr) then
    local file = vim.fs.normalize(vim.api.nvim_buf_get_name(bufnr))
    return marked(vim.fs.dirname(file)) or holds(here, file) and modest(here) and here or nil
  end
  local front = M.front()
  return front and M.root(front) or marked(here) or modest(here) and here or nil
end

---@type table<integer, integer> Buffer → when it was entered last, as a count.
local entered = {}
local count = 0

--- Remember which buffers are used.
function M.track()
  local group = vim.api.nvim_create_augroup('promptls.documents', {})
  vim.api.nvim_create_autocmd({ 'BufEnter', 'TermOpen', 'TermEnter' }, {
    group = group,
    callback = function(event)
      count = count + 1
      entered[event.buf] = count
    end,
  })
  vim.api.nvim_create_autocmd('BufWipeout', {
    group = group,
    callback = function(event)
      entered[event.buf] = nil
    end,
  })
end

--- Loaded buffers, the one used last first.
---@param wanted fun(bufnr: integer): boolean
---@return integer[]
function M.recent(wanted)
  local found = {}
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(bufnr) and wanted(bufnr) then
      found[#found + 1] = bufnr
    end
  end
  table.sort(found, function(a, b)
    local first, second = entered[a] or 0, entered[b] or 0
    return first == second and a < b or first > second
  end)
  return found
end

--- Files that are open, prompts left out, the one used last first.
---@return integer[]
function M.open()
  return M.recent(function(bufnr)
    return vim.bo[bufnr].buflisted and M.is_file(bufnr) and not M.is_prompt(bufnr)
  end)
end

--- The file in front of the user, or that was before the prompt.
---@return integer? bufnr
function M.front()
  return M.open()[1]
end

return M
