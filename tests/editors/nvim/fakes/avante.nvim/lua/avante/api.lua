-- A stand-in for avante.nvim: a question is submitted to the sidebar by an autocommand.
return {
  ask = function(opts)
    vim.api.nvim_exec_autocmds('User', { pattern = 'AvanteInputSubmitted', data = { request = opts.question } })
  end,
}
