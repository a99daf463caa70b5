-- Fake avante.nvim (interface of commit a9334315): lists the slash commands.
return {
  get_commands = function()
    return require('avante').slash_commands
  end,
}
