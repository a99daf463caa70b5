-- A stand-in for CopilotChat.nvim.
return { schedule_main = function() end }
