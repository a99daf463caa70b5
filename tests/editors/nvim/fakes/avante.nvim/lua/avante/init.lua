-- Fake avante.nvim (interface of commit a9334315): stores the slash commands of the configuration.

local M = { slash_commands = {} }

function M.setup(opts)
  M.slash_commands = opts.slash_commands
end

return M
