-- Consumers of built prompts: the registers, a terminal, and the chat plugins registered by adapters.

local notify = require('promptls.notify')

local M = {}

---@class promptls.Consumer
---@field title string
---@field send fun(prompt: string, result: table, question: string): boolean? false: the prompt was not sent.
---@field available? fun(): boolean

---@type table<string, promptls.Consumer>
local registry = {}

--- Register a consumer of prompts.
---@param name string
---@param consumer promptls.Consumer
function M.register(name, consumer)
  vim.validate('name', name, 'string')
  vim.validate('consumer.title', consumer.title, 'string')
  vim.validate('consumer.send', consumer.send, 'function')
  registry[name] = consumer
end

--- Return the sorted names of the available consumers.
---@return string[]
function M.names()
  local names = {}
  for name, consumer in pairs(registry) do
    if not consumer.available or consumer.available() then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

--- Copy a text to the unnamed register and the clipboard.
---@param text string
function M.yank(text)
  vim.fn.setreg('"', text)
  if vim.fn.has('clipboard') == 1 then
    vim.fn.setreg('+', text)
  end
end

--- Return the text of a prompt, for both output formats ("text" and "messages").
---@param result table Result of `promptls/buildPrompt`.
---@return string
function M.text(result)
  return result.prompt
    or table.concat(
      vim.tbl_map(function(message)
        return message.content
      end, result.messages or {}),
      '\n\n'
    )
end

--- Copy the prompt of a result to the registers.
---@param result table Result of `promptls/buildPrompt`.
function M.copy(result)
  M.yank(M.text(result))
  notify.info(('Copied the prompt (%s tokens) to the registers.'):format(notify.number(result.tokens.used)))
end

--- Send a prompt to a consumer. Without a name and with several consumers, the user picks one.
---@param prompt string
---@param result table
---@param question string
---@param name? string
---@param on_selected? fun() Called before the prompt is sent.
---@param on_sent? fun() Not called if the consumer fails.
function M.send(prompt, result, question, name, on_selected, on_sent)
  local function send_to(selected)
    if not selected then
      return
    end
    if not registry[selected] then
      return notify.error(
        ("Cannot send the prompt to '%s'. Available: %s."):format(selected, table.concat(M.names(), ', '))
      )
    end
    if on_selected then
      on_selected()
    end
    if registry[selected].send(prompt, result, question) ~= false and on_sent then
      on_sent()
    end
  end
  local names = M.names()
  if name or #names == 1 then
    return send_to(name or names[1])
  elseif #names == 0 then
    local what_to_do = 'Press y to copy the prompt, or open a terminal or set up a chat plugin: :help promptls-adapters'
    return notify.info(what_to_do)
  end
  vim.ui.select(names, {
    prompt = 'Send the prompt to',
    format_item = function(item)
      return registry[item].title
    end,
  }, send_to)
end

local function newest_terminal()
  return require('promptls.documents').most_recent(function(bufnr)
    return vim.bo[bufnr].buftype == 'terminal' and vim.b[bufnr].terminal_job_id ~= nil
  end)[1]
end

M.register('terminal', {
  title = 'the terminal (as the path of a file)',
  available = function()
    return newest_terminal() ~= nil
  end,
  send = function(prompt)
    local bufnr = newest_terminal()
    if not bufnr then
      notify.info('No terminal is open.')
      return false
    end
    -- The text of a prompt is never typed: it quotes files, and a shell would execute its lines. Neovim does not report
    -- which program reads the terminal, nor whether the program has switched bracketed paste on. A path without a line
    -- end does nothing until the user presses Enter; it must not have characters with a meaning in a shell.
    local path, lines = vim.fn.tempname() .. '.md', vim.split(prompt, '\n', { plain = true })
    if path:find('[^%w/._:\\~\128-\255-]') or vim.fn.writefile(lines, path) ~= 0 then
      local problem = 'Cannot write the prompt to %s. Set TMPDIR to another folder.'
      notify.error(problem:format(vim.fn.strtrans(path)))
      return false
    end
    vim.fn.chansend(vim.b[bufnr].terminal_job_id, path .. ' ')
    notify.info('The path of the prompt is in the terminal; the file is deleted when Neovim exits.')
  end,
})

return M
