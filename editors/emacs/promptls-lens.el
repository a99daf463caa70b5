;;; promptls-lens.el --- The server's lenses in the header line  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; What the server puts above a prompt (its tokens, "Build prompt", "Copy
;; prompt") stands in the header line: Eglot shows no lenses, and those of
;; lsp-mode stand in the way of the text that is being typed.

;;; Code:

(require 'promptls-data)
(require 'promptls-server)
(require 'promptls-context)

(declare-function lsp-headerline-breadcrumb-mode "ext:lsp-headerline" (&optional arg))
(declare-function promptls-copy-document "promptls" (uri))
(declare-function promptls-open-document "promptls" (uri))

(defcustom promptls-lenses t
  "Whether the header line of prompts shows their tokens and what to do."
  :type 'boolean
  :group 'promptls)

(defvar-local promptls-lens--tick nil
  "The state of the text that the header line was made of.")

(defvar promptls-lens--timer nil
  "The idle timer that keeps header lines up to date.")

(defun promptls-run-command (command arguments)
  "Run COMMAND, a name, with ARGUMENTS if it is one of ours.
Return non-nil if it is."
  (let ((uri (plist-get (car (promptls-plain arguments)) :uri)))
    (pcase command
      ("promptls.openPrompt" (promptls-open-document uri) t)
      ("promptls.copyPrompt" (promptls-copy-document uri) t))))

(defun promptls-lens-text (lenses)
  "Return LENSES, an answer to textDocument/codeLens, as a header line."
  (mapconcat
   (lambda (lens)
     (let* ((command (plist-get lens :command))
            (map (make-sparse-keymap)))
       (define-key map [header-line mouse-1]
                   (lambda ()
                     (interactive)
                     (promptls-run-command (plist-get command :command)
                                           (plist-get command :arguments))))
       (propertize (replace-regexp-in-string "%" "%%" (or (plist-get command :title) ""))
                   'mouse-face 'highlight
                   'local-map map)))
   lenses
   (propertize "  |  " 'face 'shadow)))

(defun promptls-lens--refresh ()
  "Ask for the lenses of the current buffer if its text has changed."
  (let ((connection promptls-own-connection)
        (buffer (current-buffer))
        (tick (buffer-chars-modified-tick)))
    (when (and promptls-lenses
               (derived-mode-p 'promptls-mode)
               (not (equal promptls-lens--tick tick))
               connection
               (promptls-connection-live-p connection)
               (promptls-connection-manages-p connection buffer)
               (promptls-connection-offers-p connection :codeLensProvider))
      (setq promptls-lens--tick tick)
      (promptls-request-async
       connection "textDocument/codeLens"
       (list :textDocument (list :uri (promptls-buffer-uri connection buffer)))
       (lambda (lenses)
         (when (buffer-live-p buffer)
           (with-current-buffer buffer
             (when (bound-and-true-p lsp-headerline-breadcrumb-mode)
               (lsp-headerline-breadcrumb-mode -1))
             (setq header-line-format (promptls-lens-text lenses)))))
       #'ignore))))

(defun promptls-lens-show (connection)
  "Show lenses in this buffer, which CONNECTION manages, if it is a prompt."
  (when (derived-mode-p 'promptls-mode)
    (setq promptls-own-connection (or connection promptls-own-connection)
          promptls-lens--tick nil)
    (unless promptls-lens--timer
      (setq promptls-lens--timer
            (run-with-idle-timer 0.6 t #'promptls-lens--refresh)))))

(provide 'promptls-lens)
;;; promptls-lens.el ends here
