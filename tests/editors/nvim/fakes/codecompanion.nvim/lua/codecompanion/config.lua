-- Fake codecompanion.nvim: the part of its configuration that the adapter changes.
return { interactions = { chat = { opts = {} } } }
