-- A stand-in for codecompanion.nvim: the part of its configuration that the adapter changes.
return { interactions = { chat = { opts = {} } } }
