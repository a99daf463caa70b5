-- Fake avante.nvim: stores the slash commands of the configuration.

local M = { slash_commands = {} }

function M.setup(opts)
  M.slash_commands = opts.slash_commands
end

return M
