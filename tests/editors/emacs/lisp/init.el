;;; init.el --- User configuration of the terminal tests  -*- lexical-binding: t; -*-

;;; Commentary:

;; The minimal configuration of the README.  CLIENT, PROMPTLS_COMMAND and the
;; folders are environment variables.

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
      ;; The test terminal does not answer capability queries.
      xterm-extra-capabilities nil
      split-width-threshold 120)
(menu-bar-mode -1)
(xterm-mouse-mode 1)
(load-theme 'modus-vivendi t)

(add-to-list 'load-path (getenv "PROMPTLS_LISP"))
(require 'promptls)
(setq promptls-client (intern (getenv "CLIENT"))
      promptls-command (split-string (getenv "PROMPTLS_COMMAND")))
;; On a busy machine, candidates may take longer than the default timeout.
(setq promptls-complete--timeout 30)
(global-set-key (kbd "C-c p") #'promptls-menu)

;;; init.el ends here
