-- Fake CopilotChat.nvim 4: functions of the configuration, as documented.

local M = { config = { functions = {} } }

function M.setup(opts)
  M.config = vim.tbl_deep_extend('force', M.config, opts)
end

function M.ask() end

return M
