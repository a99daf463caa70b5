-- A stand-in for plenary.nvim: runs what CopilotChat runs beside the editor.
return {
  run = function(job)
    coroutine.wrap(job)()
  end,
}
