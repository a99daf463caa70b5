-- Fake of the adapters of codecompanion.nvim: OpenAI-compatible servers without streaming.

local M = {}

function M.extend(_, options)
  return { url = options.env.url .. options.env.chat_url, model = options.schema.model.default }
end

return M
