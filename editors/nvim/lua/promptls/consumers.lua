-- Where a finished prompt can go: the registers, a terminal, and what adapters register for chat plugins.

local tell = require('promptls.tell')

local M = {}

---@class promptls.Consumer
---@field title string
---@field send fun(prompt: string, result: table, question: string)
---@field available? fun(): boolean

---@type table<string, promptls.Consumer>
local known = {}

--- Offer a place to send prompts to.
---@param name string
---@param consumer promptls.Consumer
function M.register(name, consumer)
  vim.validate('name', name, 'string')
  vim.validate('consumer.title', consumer.title, 'string')
  vim.validate('consumer.send', consumer.send, 'function')
  known[name] = consumer
end

---@param name string
function M.unregister(name)
  known[name] = nil
end

---@return string[]
function M.names()
  local names = {}
  for name, consumer in pairs(known) do
    if not consumer.available or consumer.available() then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

--- Put a prompt into the registers from which `p` and other programs paste.
---@param prompt string
function M.yank(prompt)
  vim.fn.setreg('"', prompt)
  if vim.fn.has('clipboard') == 1 then
    vim.fn.setreg('+', prompt)
  end
end

--- Send a prompt to a consumer; with several and no name, the user picks one.
---@param prompt string
---@param result table
---@param question string
---@param name? string
---@param done? fun(name: string)
function M.send(prompt, result, question, name, done)
  local function to(chosen)
    if not chosen then
      return
    end
    if not known[chosen] then
      return tell.error(
        ("There is no consumer '%s'; there are: %s."):format(chosen, table.concat(M.names(), ', '))
      )
    end
    if done then
      done(chosen)
    end
    known[chosen].send(prompt, result, question)
  end
  local names = M.names()
  if name or #names == 1 then
    return to(name or names[1])
  elseif #names == 0 then
    return tell.info('Nothing is there to send to: open a terminal, or set up an adapter (:help promptls-adapters).')
  end
  vim.ui.select(names, {
    prompt = 'Send the prompt to',
    format_item = function(one)
      return known[one].title
    end,
  }, to)
end

local function newest_terminal()
  return require('promptls.documents').recent(function(bufnr)
    return vim.bo[bufnr].buftype == 'terminal' and vim.b[bufnr].terminal_job_id ~= nil
  end)[1]
end

M.register('terminal', {
  title = 'the terminal (as pasted text)',
  available = function()
    return newest_terminal() ~= nil
  end,
  send = function(prompt)
    local bufnr = newest_terminal()
    if not bufnr then
      return tell.info('No terminal is open.')
    end
    -- Between the marks of a paste a program takes the text as text; a control character could end the paste.
    local plain = prompt:gsub('\r\n?', '\n'):gsub('[%z\1-\8\11-\31\127]', ''):gsub('\194[\128-\159]', '')
    vim.fn.chansend(vim.b[bufnr].terminal_job_id, '\27[200~' .. plain .. '\27[201~')
  end,
})

return M
