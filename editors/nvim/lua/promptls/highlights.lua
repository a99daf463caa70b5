-- Highlight groups: links to groups that every colour scheme defines.

local M = {}

local links = {
  PromptlsTitle = 'Title',
  PromptlsDim = 'Comment',
  PromptlsFence = 'NonText',
  PromptlsPath = 'Directory',
  PromptlsSymbol = 'Identifier',
  PromptlsNumber = 'Number',
  PromptlsMention = 'Special',
  PromptlsContext = 'Function',
  PromptlsInstructions = 'DiagnosticHint',
  PromptlsQuestion = 'String',
  PromptlsTask = 'DiagnosticWarn',
  PromptlsHistory = 'Statement',
  PromptlsRules = 'Type',
  PromptlsMemory = 'DiagnosticInfo',
  PromptlsArchitecture = 'Constant',
  PromptlsTeam = 'PreProc',
  PromptlsFrame = 'NonText',
  PromptlsOther = 'Special',
}

--- Define the highlight groups; definitions of the user take precedence.
function M.define()
  for group, target in pairs(links) do
    vim.api.nvim_set_hl(0, group, { default = true, link = target })
  end
end

return M
