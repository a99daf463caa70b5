;;; promptls-menu.el --- Everything at a key  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The menu of all commands; loaded when it is first called.

;;; Code:

(require 'transient)
(require 'promptls)

;;;###autoload (autoload 'promptls-menu "promptls-menu" nil t)
(transient-define-prefix promptls-menu ()
  "Prompts with the right code."
  [["Prompt"
    ("a" "Ask a question" promptls-ask)
    ("b" "Build this buffer or region" promptls-build)
    ("w" "Build and copy" promptls-copy)
    ("r" "Choose a recipe" promptls-recipes)
    ("p" "Scratch prompt" promptls-scratch)
    ("c" "Cancel building" promptls-cancel)]
   ["Code"
    ("s" "Search" promptls-search)
    ("e" "Explain" promptls-explain)
    ("g" "Knowledge graph" promptls-graph)
    ("m" "Memory" promptls-memory)
    ("i" "Why is a file ignored?" promptls-explain-ignore)]
   ["Server"
    ("t" "Status" promptls-status)
    ("d" "Doctor" promptls-doctor)
    ("x" "Look at all files again" promptls-reindex)
    ("R" "Restart" promptls-restart)]])

(provide 'promptls-menu)
;;; promptls-menu.el ends here
