-- Fake plenary.nvim: runs the asynchronous functions of CopilotChat in a coroutine.
return {
  run = function(job)
    coroutine.wrap(job)()
  end,
}
