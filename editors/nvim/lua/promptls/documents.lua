-- Classification of buffers: prompt documents, files sent to the server, their workspace root and their last use.

local config = require('promptls.config')

local M = {}

M.SCHEME = 'prompt://'
local PAGE_SCHEME = 'promptls-page:'
--- Instruction files of coding agents, as in the server's `is_instruction_file`.
local INSTRUCTIONS = vim.regex(
  [=[\C\v%(^|/)%(%(AGENTS|CLAUDE|CLAUDE\.local|GEMINI|CODEBUDDY|SKILL|copilot-instructions)\.md]=]
    .. [=[|\.%(cursor|windsurf|cline|codebuddy)rules)$]=]
    .. [=[|\.%(instructions\.md|prompt\.md|mdc|rule\.md|chatmode\.md|agent\.md)$]=]
    .. [=[|%(^|/)\.%(cursor/rules|claude/%(rules|commands|agents)|github/%(instructions|prompts|agents)]=]
    .. [=[|windsurf/rules|clinerules|roo/rules|continue/rules|promptls/rules|codebuddy/rules|sourcegraph)/[^/]]=]
    .. [=[|%(^|/)\.%(promptls|codebuddy)/rules\.md$]=]
)

--- LSP language ids that differ from Neovim's filetypes.
local language_ids = { gitcommit = 'git-commit', gitrebase = 'git-rebase', text = 'plaintext', sh = 'shellscript' }

--- Return the languages whose documents are prompt documents (the setting `documents.languages`).
--- An invalid value counts as empty; the server reports it.
---@return string[]
local function prompt_languages()
  local languages = vim.tbl_get(config.get().settings, 'documents', 'languages')
  local valid = vim.islist(languages) and vim.iter(languages):all(function(language)
    return type(language) == 'string'
  end)
  return valid and languages or {}
end

--- Return whether a file name is that of a prompt document. The prompt files of VS Code have the older name, too.
---@param name string
function M.is_prompt_name(name)
  return name:find('%.promptls%.md$') ~= nil
    or name:find('%.prompt%.md$') ~= nil and not name:find('.github/prompts/', 1, true)
end

--- Return whether a buffer is a prompt document.
---@param bufnr integer
---@return boolean
function M.is_prompt(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  local filetype = vim.bo[bufnr].filetype
  if filetype == 'promptls' or M.is_prompt_name(name) then
    return true
  end
  local is_page = vim.startswith(name, PAGE_SCHEME)
  return not is_page and vim.list_contains(prompt_languages(), language_ids[filetype] or filetype)
end

--- Return whether a buffer has language features: a prompt document, or an instruction file of coding agents, which
--- the server checks. All other buffers are only synchronized.
---@param bufnr integer
function M.has_features(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr):gsub('\\', '/')
  return M.is_prompt(bufnr) or INSTRUCTIONS:match_str(name) ~= nil and M.is_file(bufnr)
end

--- Return the LSP language id of a buffer.
---@param bufnr integer
---@param filetype string
---@return string
function M.language(bufnr, filetype)
  local name = vim.api.nvim_buf_get_name(bufnr)
  return M.is_prompt_name(name) and 'promptls' or language_ids[filetype] or filetype
end

--- Return whether a buffer is a text file small enough to be sent.
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

--- Return whether `path` is `folder` or is inside it.
---@param folder string
---@param path string
function M.contains(folder, path)
  return path == folder or vim.startswith(path, (folder:gsub('/+$', '')) .. '/')
end

--- Return whether a folder without a root marker may be a workspace: not the home folder or a parent of it.
---@param folder string
local function may_be_workspace(folder)
  return not M.contains(folder, vim.fs.normalize(vim.uv.os_homedir() or '/'))
end

--- Return the nearest folder with a root marker, starting at `folder` and going up.
--- `vim.fs.root` prefers the first marker, even if it is further up.
---@param folder string
---@return string?
local function marked_root(folder)
  local marker = vim.fs.find(config.get().root_markers, { upward = true, path = folder })[1]
  return marker and vim.fs.normalize(vim.fs.dirname(marker))
end

--- Return the workspace root of a buffer; nil without a workspace.
---@param bufnr integer
---@return string?
function M.root(bufnr)
  local cwd = vim.fs.normalize(vim.fn.getcwd())
  if M.is_file(bufnr) then
    local file = vim.fs.normalize(vim.api.nvim_buf_get_name(bufnr))
    return marked_root(vim.fs.dirname(file)) or M.contains(cwd, file) and may_be_workspace(cwd) and cwd or nil
  end
  local file = M.active_file()
  return file and M.root(file) or marked_root(cwd) or may_be_workspace(cwd) and cwd or nil
end

---@type table<integer, integer> Buffer → sequence number of its last use.
local last_used = {}
local sequence = 0

--- Record the order in which buffers are used.
function M.track_usage()
  local group = vim.api.nvim_create_augroup('promptls.documents', {})
  vim.api.nvim_create_autocmd({ 'BufEnter', 'TermOpen', 'TermEnter' }, {
    group = group,
    callback = function(event)
      sequence = sequence + 1
      last_used[event.buf] = sequence
    end,
  })
  vim.api.nvim_create_autocmd('BufWipeout', {
    group = group,
    callback = function(event)
      last_used[event.buf] = nil
    end,
  })
end

--- Return the loaded buffers that satisfy a predicate, most recently used first.
---@param predicate fun(bufnr: integer): boolean
---@return integer[]
function M.most_recent(predicate)
  local buffers = {}
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(bufnr) and predicate(bufnr) then
      buffers[#buffers + 1] = bufnr
    end
  end
  table.sort(buffers, function(a, b)
    local first, second = last_used[a] or 0, last_used[b] or 0
    return first == second and a < b or first > second
  end)
  return buffers
end

--- Return the open files without prompt documents, most recently used first.
---@return integer[]
function M.open_files()
  return M.most_recent(function(bufnr)
    return vim.bo[bufnr].buflisted and M.is_file(bufnr) and not M.is_prompt(bufnr)
  end)
end

--- Return the most recently used file.
---@return integer? bufnr
function M.active_file()
  return M.open_files()[1]
end

return M
