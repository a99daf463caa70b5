;;; promptls-settings.el --- Settings of the prompt language server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Written by scripts/docs from the server's code; do not edit.

;;; Code:

(defgroup promptls nil
  "The prompt language server."
  :group 'tools
  :link '(url-link :tag "Read me" "README.md"))

(defcustom promptls-index-max-file-size 1000000
  "Bytes; a larger file is known by name only."
  :type 'integer
  :group 'promptls)

(defcustom promptls-index-max-line-length 10000
  "Characters; a file with a longer line counts as minified."
  :type 'integer
  :group 'promptls)

(defcustom promptls-index-include nil
  "Patterns as in an ignore file; with any, only files that they pick are listed."
  :type '(repeat string)
  :group 'promptls)

(defcustom promptls-index-exclude nil
  "Patterns as in an ignore file; files that they pick are not listed."
  :type '(repeat string)
  :group 'promptls)

(defcustom promptls-index-include-hidden t
  "Whether names that begin with a dot are listed."
  :type 'boolean
  :group 'promptls)

(defcustom promptls-index-workers 0
  "Processes for bulk indexing; 0: one a core, at most four."
  :type 'integer
  :group 'promptls)

(defcustom promptls-index-grammars '("pack" "legacy")
  "Order of the grammar sources, \"pack\" and \"legacy\" (tree-sitter-languages)."
  :type '(repeat string)
  :group 'promptls)

(defcustom promptls-embedding-model "bundled"
  "The server's setting embedding.model.
\"bundled\", a folder with model.onnx and tokenizer.json, or a fastembed model
on this machine."
  :type 'string
  :group 'promptls)

(defcustom promptls-embedding-allow-download nil
  "Let fastembed fetch the model named above; nothing else ever uses the network."
  :type 'boolean
  :group 'promptls)

(defcustom promptls-budget-tokens 0
  "Tokens of the whole prompt; 0: by the model."
  :type 'integer
  :group 'promptls)

(defcustom promptls-budget-model ""
  "Model whose budget is used; empty: the default budget."
  :type 'string
  :group 'promptls)

(defcustom promptls-budget-counter "auto"
  "The server's setting budget.counter.
How tokens are counted: \"auto\", \"estimate\", \"chars4\" or the name of an
exact counter."
  :type 'string
  :group 'promptls)

(defcustom promptls-budget-tokenizer ""
  "The server's setting budget.tokenizer.
A tokenizer.json or rank file on this machine that counts exactly; empty:
none."
  :type 'string
  :group 'promptls)

(defcustom promptls-retrieval-profile "default"
  "Constants and stage choices of the pipeline, when a request does not say."
  :type 'string
  :group 'promptls)

(defcustom promptls-retrieval-threshold nil
  "Regions with a lower score are left out; null: as the profile has it."
  :type '(choice (const :tag "By default" nil) number)
  :group 'promptls)

(defcustom promptls-retrieval-variant ""
  "The server's setting retrieval.variant.
How the model is told to use the context, when neither request nor profile
says."
  :type 'string
  :group 'promptls)

(defcustom promptls-sections-instructions t
  "Short advice to the model for the type of question."
  :type 'boolean
  :group 'promptls)

(defcustom promptls-sections-architecture t
  "Facts of the project, when the question is about it."
  :type 'boolean
  :group 'promptls)

(defcustom promptls-sections-memory t
  "What you have told promptls to remember, when it belongs here."
  :type 'boolean
  :group 'promptls)

(defcustom promptls-sections-rules t
  "AGENTS.md, CLAUDE.md and the like, for the files in the prompt."
  :type 'boolean
  :group 'promptls)

(defcustom promptls-sections-team nil
  "Who knows the code, from CODEOWNERS and the history of git."
  :type 'boolean
  :group 'promptls)

(defcustom promptls-sections-rules-tokens 2000
  "At most so many tokens of rules."
  :type 'integer
  :group 'promptls)

(defcustom promptls-documents-languages nil
  "The server's setting documents.languages.
Languages beside \"promptls\" and *.prompt.md whose documents are prompts:
\"markdown\", \"git-commit\"."
  :type '(repeat string)
  :group 'promptls)

(defcustom promptls-graph-layers nil
  "Layer → path segments that mean it; they come before the built-in layers."
  :type '(alist :key-type string :value-type (repeat string))
  :group 'promptls)

(defcustom promptls-secrets-allow-files nil
  "Let a mention show a file such as .env; its values stay redacted."
  :type 'boolean
  :group 'promptls)

(defcustom promptls-language-model-use "off"
  "The server's setting languageModel.use.
\"off\", \"editor\" (its own model, if it offers one) or \"endpoint\" (the
server below)."
  :type '(choice (const "editor") (const "endpoint") (const "off"))
  :group 'promptls)

(defcustom promptls-language-model-endpoint ""
  "The server's setting languageModel.endpoint.
Address of an OpenAI-compatible server: \"http://localhost:11434/v1\" is
Ollama\\='s."
  :type 'string
  :group 'promptls)

(defcustom promptls-language-model-model ""
  "Name of the model, as the endpoint calls it."
  :type 'string
  :group 'promptls)

(defcustom promptls-language-model-key ""
  "The key; better kept in the environment."
  :type 'string
  :group 'promptls)

(defcustom promptls-language-model-key-env "PROMPTLS_API_KEY"
  "Environment variable that holds the key."
  :type 'string
  :group 'promptls)

(defcustom promptls-language-model-timeout-s 5.0
  "Seconds for everything, the retry included; then it goes on without."
  :type 'number
  :group 'promptls)

(defcustom promptls-language-model-proxy ""
  "Proxy for the endpoint; the environment\\='s proxies are not used."
  :type 'string
  :group 'promptls)

(defcustom promptls-language-model-send-code nil
  "Send code that stands in the question along with it."
  :type 'boolean
  :group 'promptls)

(defcustom promptls-cache-folder ""
  "The server's setting cache.folder.
Folder of the index; what no server has used for 30 days is removed; empty:
the user\\='s cache folder."
  :type 'string
  :group 'promptls)

(defconst promptls-settings
  '(("index.maxFileSize" promptls-index-max-file-size plain)
    ("index.maxLineLength" promptls-index-max-line-length plain)
    ("index.include" promptls-index-include array)
    ("index.exclude" promptls-index-exclude array)
    ("index.includeHidden" promptls-index-include-hidden boolean)
    ("index.workers" promptls-index-workers plain)
    ("index.grammars" promptls-index-grammars array)
    ("embedding.model" promptls-embedding-model plain trusted)
    ("embedding.allowDownload" promptls-embedding-allow-download boolean trusted)
    ("budget.tokens" promptls-budget-tokens plain)
    ("budget.model" promptls-budget-model plain)
    ("budget.counter" promptls-budget-counter plain)
    ("budget.tokenizer" promptls-budget-tokenizer plain trusted)
    ("retrieval.profile" promptls-retrieval-profile plain)
    ("retrieval.threshold" promptls-retrieval-threshold nullable)
    ("retrieval.variant" promptls-retrieval-variant plain)
    ("sections.instructions" promptls-sections-instructions boolean)
    ("sections.architecture" promptls-sections-architecture boolean)
    ("sections.memory" promptls-sections-memory boolean)
    ("sections.rules" promptls-sections-rules boolean)
    ("sections.team" promptls-sections-team boolean)
    ("sections.rulesTokens" promptls-sections-rules-tokens plain)
    ("documents.languages" promptls-documents-languages array)
    ("graph.layers" promptls-graph-layers object)
    ("secrets.allowFiles" promptls-secrets-allow-files boolean trusted)
    ("languageModel.use" promptls-language-model-use plain trusted)
    ("languageModel.endpoint" promptls-language-model-endpoint plain trusted)
    ("languageModel.model" promptls-language-model-model plain trusted)
    ("languageModel.key" promptls-language-model-key plain trusted)
    ("languageModel.keyEnv" promptls-language-model-key-env plain trusted)
    ("languageModel.timeoutS" promptls-language-model-timeout-s plain trusted)
    ("languageModel.proxy" promptls-language-model-proxy plain trusted)
    ("languageModel.sendCode" promptls-language-model-send-code boolean trusted)
    ("cache.folder" promptls-cache-folder plain trusted))
  "Each setting of the server: name, variable, shape and marks.")

(provide 'promptls-settings)
;;; promptls-settings.el ends here
