-- Fake avante.nvim: lists the slash commands.
return {
  get_commands = function()
    return require('avante').slash_commands
  end,
}
