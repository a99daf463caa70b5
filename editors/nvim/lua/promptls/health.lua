-- `:checkhealth promptls`: what is needed, whether it is there, and what to do where it is not.

local config = require('promptls.config')
local documents = require('promptls.documents')
local server = require('promptls.server')

local M = {}

local health = vim.health

local function neovim()
  health.start('Neovim')
  local version = tostring(vim.version())
  if vim.fn.has('nvim-0.11') == 1 then
    health.ok(version)
  else
    health.error(version .. ' is too old', 'Install Neovim 0.11 or newer.')
  end
  if #vim.api.nvim_get_runtime_file('parser/markdown.*', false) > 0 then
    health.ok('the tree-sitter parser of Markdown is there')
  else
    health.warn('the tree-sitter parser of Markdown is missing; prompts are coloured by the syntax file')
  end
  local _ = config.get()
  for _, problem in ipairs(config.problems) do
    health.error(problem, 'Correct vim.g.promptls, or what setup() is given.')
  end
end

--- `promptls doctor`, line by line.
---@param found promptls.Found
local function doctor(found)
  if found.cmd[#found.cmd] ~= 'serve' then
    return health.info('the command does not end with "serve", so "promptls doctor" is not asked')
  end
  local cmd = vim.list_extend(vim.list_slice(found.cmd, 1, #found.cmd - 1), { 'doctor' })
  local started, job = pcall(vim.system, cmd, { text = true })
  if not started then
    return health.error(('%s cannot be run: %s'):format(cmd[1], job), 'Install promptls again.')
  end
  local done = job:wait(60000)
  local said = vim.trim((done.stdout or '') .. '\n' .. (done.stderr or ''))
  if said == '' then
    return health.error(('"%s" said nothing'):format(table.concat(cmd, ' ')), 'Run it in a terminal.')
  end
  for _, line in ipairs(vim.split(said, '\n')) do
    local ok = line:match('^ok%s+(.*)$')
    if ok then
      health.ok(ok)
    elseif line:find('^%s') then
      health.info(vim.trim(line))
    else
      health.warn(line)
    end
  end
end

local function program()
  health.start('The server')
  local own = vim.lsp.config.promptls
  if own and type(own.cmd) == 'table' then
    health.info("vim.lsp.config('promptls') names the command: " .. table.concat(own.cmd --[[@as string[] ]], ' '))
    return doctor({ cmd = own.cmd --[[@as string[] ]], from = 'vim.lsp.config' })
  end
  local found, problem = server.find(documents.root(vim.api.nvim_get_current_buf()))
  if not found then
    return health.error(problem --[[@as string]], ':help promptls-install')
  end
  health.ok(('%s, from %s'):format(table.concat(found.cmd, ' '), found.from))
  doctor(found)
end

local function clients()
  health.start('Clients')
  local client = require('promptls.client')
  if client.enabled() then
    health.ok("vim.lsp.enable('promptls') was called")
  else
    health.warn(
      'the language server is not enabled: edits that are not saved are not seen',
      "Put vim.lsp.enable('promptls') into your init.lua."
    )
  end
  local running = vim.lsp.get_clients({ name = client.NAME })
  if #running == 0 then
    health.info('no server is running; it starts with the first file of a workspace')
  end
  for _, one in ipairs(running) do
    local status = client.states[one.id]
    local version = vim.tbl_get(one, 'server_info', 'version') or 'unknown version'
    local text = ('%s: %s, %d buffers, positions in %s'):format(
      one.root_dir or 'no workspace',
      version,
      vim.tbl_count(one.attached_buffers),
      one.offset_encoding
    )
    if status and status.state == 'degraded' then
      health.warn(('%s; %s'):format(text, status.message), ':Promptls log tells why, :Promptls reindex tries again.')
    else
      health.ok(('%s; %s'):format(text, status and status.state .. ': ' .. status.message or 'just started'))
    end
  end
end

local function surroundings()
  health.start('Around it')
  local completion = config.get().completion
  local other = package.loaded['blink.cmp'] and 'blink.cmp' or package.loaded['cmp'] and 'nvim-cmp'
  if completion == 'auto' and other then
    health.ok(('mentions are completed by %s, from its LSP source'):format(other))
  elseif completion == false then
    health.info("Neovim's own completion is off (option completion)")
  else
    health.ok("mentions are completed by Neovim's own completion")
  end
  if vim.fn.has('clipboard') == 1 then
    health.ok('@clipboard brings the system clipboard')
  else
    health.info('no clipboard provider: @clipboard brings the unnamed register')
  end
  local names = require('promptls.consumers').names()
  health.info('prompts can be sent to: ' .. (#names > 0 and table.concat(names, ', ') or 'nothing yet'))
end

function M.check()
  neovim()
  program()
  clients()
  surroundings()
end

return M
