;;; init.el --- What a user of the terminal tests has configured  -*- lexical-binding: t; -*-

;;; Commentary:

;; As little as the README asks for.  CLIENT, PROMPTLS_COMMAND and the folders
;; come from the environment.

;;; Code:

(require 'package)
(dolist (folder (split-string (getenv "EMACS_PACKAGES") ":" t))
  (add-to-list 'package-directory-list folder))
(package-initialize)

(setq inhibit-startup-screen t
      initial-scratch-message nil
      ring-bell-function #'ignore
      make-backup-files nil
      create-lockfiles nil
      use-short-answers t
      custom-file (expand-file-name "custom.el" (getenv "HOME"))
      lsp-session-file (expand-file-name "lsp-session" (getenv "HOME"))
      ;; What the terminal understands need not be asked for: it does not answer.
      xterm-extra-capabilities nil
      split-width-threshold 120)
(menu-bar-mode -1)
(load-theme 'modus-vivendi t)

(add-to-list 'load-path (getenv "PROMPTLS_LISP"))
(require 'promptls)
(setq promptls-client (intern (getenv "CLIENT"))
      promptls-command (split-string (getenv "PROMPTLS_COMMAND")))
(global-set-key (kbd "C-c p") #'promptls-menu)

;;; init.el ends here
