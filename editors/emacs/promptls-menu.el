;;; promptls-menu.el --- Transient menu of all commands  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The transient menu of all commands, loaded on first use.

;;; Code:

(require 'transient)
(require 'promptls)

;;;###autoload (autoload 'promptls-menu "promptls-menu" nil t)
(transient-define-prefix promptls-menu ()
  "Show the menu of all promptls commands."
  [["Prompt"
    ("a" "Ask a question" promptls-ask)
    ("b" "Build buffer or region" promptls-build)
    ("w" "Build and copy" promptls-copy)
    ("r" "Run a recipe" promptls-recipes)
    ("p" "Scratch prompt" promptls-scratch)
    ("A" "Answer in document" promptls-answer)
    ("c" "Cancel build" promptls-cancel)]
   ["Code"
    ("s" "Search" promptls-search)
    ("e" "Explain" promptls-explain)
    ("g" "Knowledge graph" promptls-graph)
    ("m" "Memory" promptls-memory)
    ("k" "Mention kinds" promptls-mention-kinds)
    ("i" "Explain ignored file" promptls-explain-ignore)]
   ["Server"
    ("t" "Status" promptls-status)
    ("d" "Doctor" promptls-doctor)
    ("x" "Reindex" promptls-reindex)
    ("R" "Restart" promptls-restart)]])

(provide 'promptls-menu)
;;; promptls-menu.el ends here
