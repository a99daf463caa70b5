-- `:checkhealth promptls`: checks requirements, server, clients and integrations.

local config = require('promptls.config')
local documents = require('promptls.documents')
local server = require('promptls.server')

local M = {}

local health = vim.health
local DOCTOR_TIMEOUT = 60000 -- milliseconds

local function check_neovim()
  health.start('Neovim')
  local version = tostring(vim.version())
  if vim.fn.has('nvim-0.11') == 1 then
    health.ok(version)
  else
    health.error(version .. ' is too old', 'Install Neovim 0.11 or newer.')
  end
  if #vim.api.nvim_get_runtime_file('parser/markdown.*', false) > 0 then
    health.ok('tree-sitter parser of Markdown is installed')
  else
    health.warn('tree-sitter parser of Markdown is missing; prompt documents use the syntax file')
  end
  local help = vim.api.nvim_get_runtime_file('doc/promptls.txt', false)[1]
  if help and not vim.uv.fs_stat(vim.fs.joinpath(vim.fs.dirname(help), 'tags')) then
    health.warn(':help promptls has no tags', 'Run :helptags ALL.')
  end
  local _ = config.get() -- computes config.problems
  for _, problem in ipairs(config.problems) do
    health.error(problem, 'Correct vim.g.promptls or the arguments of setup().')
  end
end

--- Run `promptls doctor` and report its output line by line.
---@param command promptls.ServerCommand
local function run_doctor(command)
  if command.cmd[#command.cmd] ~= 'serve' then
    return health.info('skipped "promptls doctor": the command does not end with "serve"')
  end
  local cmd = vim.list_extend(vim.list_slice(command.cmd, 1, #command.cmd - 1), { 'doctor' })
  local started, job = pcall(vim.system, cmd, { text = true })
  if not started then
    return health.error(('cannot run %s: %s'):format(cmd[1], job), 'Install promptls again.')
  end
  local completed = job:wait(DOCTOR_TIMEOUT)
  local output = vim.trim((completed.stdout or '') .. '\n' .. (completed.stderr or ''))
  if output == '' then
    return health.error(('"%s" printed no output'):format(table.concat(cmd, ' ')), 'Run it in a terminal.')
  end
  for _, line in ipairs(vim.split(output, '\n')) do
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

local function check_server()
  health.start('Server')
  local own = vim.lsp.config.promptls
  if own and type(own.cmd) == 'table' then
    health.info("command from vim.lsp.config('promptls'): " .. table.concat(own.cmd --[[@as string[] ]], ' '))
    return run_doctor({ cmd = own.cmd --[[@as string[] ]], source = 'vim.lsp.config' })
  end
  local command, problem = server.find(documents.root(vim.api.nvim_get_current_buf()))
  if not command then
    return health.error(problem --[[@as string]], ':help promptls-install')
  end
  health.ok(('%s, from %s'):format(table.concat(command.cmd, ' '), command.source))
  run_doctor(command)
end

local function check_clients()
  health.start('Clients')
  local client = require('promptls.client')
  if client.enabled() then
    health.ok('the language server is enabled')
  else
    health.warn(
      'the language server is not enabled: unsaved edits are not used',
      "Add vim.lsp.enable('promptls') to your init.lua."
    )
  end
  local running = vim.lsp.get_clients({ name = client.NAME })
  if #running == 0 then
    local when = client.enabled() and 'a file of a workspace is opened or :Promptls is used' or ':Promptls is used'
    health.info('no server is running; it starts when ' .. when)
  end
  for _, lsp_client in ipairs(running) do
    local status = client.states[lsp_client.id]
    local version = vim.tbl_get(lsp_client, 'server_info', 'version') or 'unknown version'
    local text = ('%s: %s, %d buffers, position encoding %s'):format(
      lsp_client.root_dir or 'no workspace',
      version,
      vim.tbl_count(lsp_client.attached_buffers),
      lsp_client.offset_encoding
    )
    if status and status.state == 'degraded' then
      health.warn(('%s; %s'):format(text, status.message), 'See :Promptls log, then run :Promptls reindex.')
    else
      health.ok(('%s; %s'):format(text, status and status.state .. ': ' .. status.message or 'just started'))
    end
  end
end

local function check_integrations()
  health.start('Integrations')
  local completion = config.get().completion
  local other = package.loaded['blink.cmp'] and 'blink.cmp' or package.loaded['cmp'] and 'nvim-cmp'
  if completion == 'auto' and other then
    health.ok(('completion of mentions: LSP source of %s'):format(other))
  elseif completion == false then
    health.info('completion of mentions: disabled by the option completion')
  else
    health.ok('completion of mentions: built-in completion of Neovim')
  end
  if vim.fn.has('clipboard') == 1 then
    health.ok('@clipboard: system clipboard')
  else
    health.info('@clipboard: unnamed register (no clipboard provider)')
  end
  local names = require('promptls.consumers').names()
  health.info('prompts can be sent to: ' .. (#names > 0 and table.concat(names, ', ') or 'none'))
end

function M.check()
  check_neovim()
  check_server()
  check_clients()
  check_integrations()
end

return M
