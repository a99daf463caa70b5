-- Written by scripts/docs from the server's code; do not edit.
-- Types only: what `settings.promptls` of `vim.lsp.config('promptls', …)` may hold.

---@class promptls.settings.Index
---@field maxFileSize? integer Bytes; a larger file is known by name only. Default: 1000000
---@field maxLineLength? integer Characters; a file with a longer line counts as minified. Default: 10000
---@field include? string[] Patterns as in an ignore file; with any, only files that they pick are listed. Default: []
---@field exclude? string[] Patterns as in an ignore file; files that they pick are not listed. Default: []
---@field includeHidden? boolean Whether names that begin with a dot are listed. Default: true
---@field workers? integer Processes for bulk indexing; 0: one a core, at most four. Default: 0
---@field grammars? ('legacy'|'pack')[] Order of the grammar sources, "pack" and "legacy" (tree-sitter-languages). Default: ["pack", "legacy"]

---@class promptls.settings.Embedding
---@field model? string "bundled", a folder with model.onnx and tokenizer.json, or a fastembed model on this machine. Only in your own settings. Default: "bundled"
---@field allowDownload? boolean Let fastembed fetch the model named above; nothing else ever uses the network. Only in your own settings. Default: false

---@class promptls.settings.Budget
---@field tokens? integer Tokens of the whole prompt; 0: by the model. Default: 0
---@field model? string Model whose budget is used; empty: the default budget. Default: ""
---@field counter? string How tokens are counted: "auto", "estimate", "chars4" or the name of an exact counter. Default: "auto"
---@field tokenizer? string A tokenizer.json or rank file on this machine that counts exactly; empty: none. Only in your own settings. Default: ""

---@class promptls.settings.Retrieval
---@field profile? string Constants and stage choices of the pipeline, when a request does not say. Default: "default"
---@field threshold? number Regions with a lower score are left out; null: as the profile has it. Default: null
---@field variant? string How the model is told to use the context, when neither request nor profile says. Default: ""

---@class promptls.settings.Sections
---@field instructions? boolean Short advice to the model for the type of question. Default: true
---@field architecture? boolean Facts of the project, when the question is about it. Default: true
---@field memory? boolean What you have told promptls to remember, when it belongs here. Default: true
---@field rules? boolean AGENTS.md, CLAUDE.md and the like, for the files in the prompt. Default: true
---@field team? boolean Who knows the code, from CODEOWNERS and the history of git. Default: false
---@field rulesTokens? integer At most so many tokens of rules. Default: 2000

---@class promptls.settings.Documents
---@field languages? string[] Languages beside "promptls" and *.prompt.md whose documents are prompts: "markdown", "git-commit". Default: []

---@class promptls.settings.Graph
---@field layers? table<string, string[]> Layer → path segments that mean it; they come before the built-in layers. Default: {}

---@class promptls.settings.Secrets
---@field allowFiles? boolean Let a mention show a file such as .env; its values stay redacted. Only in your own settings. Default: false

---@class promptls.settings.LanguageModel
---@field use? 'editor'|'endpoint'|'off' "off", "editor" (its own model, if it offers one) or "endpoint" (the server below). Only in your own settings. Default: "off"
---@field endpoint? string Address of an OpenAI-compatible server: "http://localhost:11434/v1" is Ollama's. Only in your own settings. Default: ""
---@field model? string Name of the model, as the endpoint calls it. Only in your own settings. Default: ""
---@field key? string The key; better kept in the environment. Only in your own settings. Default: ""
---@field keyEnv? string Environment variable that holds the key. Only in your own settings. Default: "PROMPTLS_API_KEY"
---@field timeoutS? number Seconds for everything, the retry included; then it goes on without. Only in your own settings. Default: 5.0
---@field proxy? string Proxy for the endpoint; the environment's proxies are not used. Only in your own settings. Default: ""
---@field sendCode? boolean Send code that stands in the question along with it. Only in your own settings. Default: false

---@class promptls.settings.Cache
---@field folder? string Folder of the index; what no server has used for 30 days is removed; empty: the user's cache folder. Only in your own settings. Default: ""

---@class promptls.Settings
---@field index? promptls.settings.Index
---@field embedding? promptls.settings.Embedding
---@field budget? promptls.settings.Budget
---@field retrieval? promptls.settings.Retrieval
---@field sections? promptls.settings.Sections
---@field documents? promptls.settings.Documents
---@field graph? promptls.settings.Graph
---@field secrets? promptls.settings.Secrets
---@field languageModel? promptls.settings.LanguageModel
---@field cache? promptls.settings.Cache

return {}
