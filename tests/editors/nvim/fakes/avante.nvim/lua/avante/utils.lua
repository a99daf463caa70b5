-- A stand-in for avante.nvim.
return {
  get_commands = function()
    return require('avante').slash_commands
  end,
}
