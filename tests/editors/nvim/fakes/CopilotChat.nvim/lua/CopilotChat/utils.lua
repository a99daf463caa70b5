-- Fake CopilotChat.nvim: no scheduling.
return { schedule_main = function() end }
