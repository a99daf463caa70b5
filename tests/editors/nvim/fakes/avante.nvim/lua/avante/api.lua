-- Fake avante.nvim (interface of commit a9334315): submits a question with an autocommand.
return {
  ask = function(opts)
    vim.api.nvim_exec_autocmds('User', { pattern = 'AvanteInputSubmitted', data = { request = opts.question } })
  end,
}
