;;; promptls-lens.el --- Code lenses in the header line  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Displays the code lenses of a prompt document (token count, "Build prompt",
;; "Copy prompt") in the header line.  Eglot does not support code lenses, and
;; lsp-mode displays them as overlays that move the text while you type.

;;; Code:

(require 'cl-lib)
(require 'promptls-data)
(require 'promptls-server)
(require 'promptls-context)

(declare-function lsp-headerline-breadcrumb-mode "ext:lsp-headerline" (&optional arg))
(declare-function promptls--document-buffer "promptls" (uri))
(declare-function promptls-answer "promptls" ())
(declare-function promptls-copy-document "promptls" (uri))
(declare-function promptls-open-document "promptls" (uri))

(defcustom promptls-lenses t
  "Whether the header line of prompt documents shows code lenses."
  :type 'boolean
  :group 'promptls)

(defvar-local promptls-lens--tick nil
  "The `buffer-chars-modified-tick' of the text the header line shows.")

(defvar promptls-lens--timer nil
  "The idle timer that updates the header lines.")

(defun promptls-run-command (command arguments)
  "Run COMMAND, a name, with ARGUMENTS if it is a promptls command.
Return non-nil if it is."
  (let ((uri (plist-get (car (promptls-normalize-json arguments)) :uri)))
    (pcase command
      ("promptls.openPrompt" (promptls-open-document uri) t)
      ("promptls.copyPrompt" (promptls-copy-document uri) t)
      ("promptls.answer" (with-current-buffer (promptls--document-buffer uri) (promptls-answer)) t)
      ("promptls.setBudget" (promptls-lens--set-budget (aref (vconcat arguments) 0)) t))))

(defun promptls-lens--set-budget (params)
  "Set the budget of a document by PARAMS, and update its lenses."
  (let ((buffer (current-buffer)))
    (promptls-request-async
     promptls-buffer-connection "promptls/setBudget" params
     (lambda (_)
       (when (buffer-live-p buffer)
         (with-current-buffer buffer
           (setq promptls-lens--tick nil))))
     (lambda (_code text) (message "Cannot set the budget: %s" text)))))

(defconst promptls-lens--separator " | "
  "Text between two code lenses.")

(defun promptls-lens--short-title (title)
  "Return TITLE without its last part, for narrow windows."
  (replace-regexp-in-string "\\(?:, .*\\| prompt\\)\\'" "" title))

(defun promptls-lens--titles (lenses width)
  "Return the titles of LENSES, shortened if they are wider than WIDTH."
  (let ((titles (mapcar (lambda (lens) (or (promptls-get lens :command :title) "")) lenses)))
    (if (> (string-width (string-join titles promptls-lens--separator)) width)
        (mapcar #'promptls-lens--short-title titles)
      titles)))

(defun promptls-lens-text (lenses width)
  "Return a header line of WIDTH columns for LENSES.
LENSES is the result of textDocument/codeLens."
  (string-join
   (cl-mapcar
    (lambda (lens title)
      (let ((command (plist-get lens :command))
            (map (make-sparse-keymap)))
        (define-key map [header-line mouse-1]
                    (lambda ()
                      (interactive)
                      (promptls-run-command (plist-get command :command)
                                            (plist-get command :arguments))))
        (propertize (replace-regexp-in-string "%" "%%" title)
                    'mouse-face 'highlight
                    'local-map map)))
    lenses (promptls-lens--titles lenses width))
   (propertize promptls-lens--separator 'face 'shadow)))

(defun promptls-lens--refresh ()
  "Request the code lenses of the current buffer if its text has changed."
  (let ((connection promptls-buffer-connection)
        (buffer (current-buffer))
        (tick (buffer-chars-modified-tick)))
    (when (and promptls-lenses
               (not (equal promptls-lens--tick tick))
               connection
               (promptls-connection-live-p connection)
               (promptls-connection-manages-p connection buffer))
      (setq promptls-lens--tick tick)
      (promptls-request-async
       connection "textDocument/codeLens"
       (list :textDocument (list :uri (promptls-buffer-uri connection buffer)))
       (lambda (lenses)
         (when (buffer-live-p buffer)
           (with-current-buffer buffer
             (when (bound-and-true-p lsp-headerline-breadcrumb-mode)
               (lsp-headerline-breadcrumb-mode -1))
             (setq header-line-format
                   `(:eval (promptls-lens-text ',lenses (window-width)))))))
       #'ignore))))

(defun promptls-lens-show (connection)
  "Show the code lenses of CONNECTION in this buffer if it is a document of it."
  (when (or (derived-mode-p 'promptls-mode)
            (and (promptls-instruction-buffer-p)
                 connection
                 (promptls-connection-manages-p connection (current-buffer))))
    (setq promptls-buffer-connection (or connection promptls-buffer-connection)
          promptls-lens--tick nil)
    (unless promptls-lens--timer
      (setq promptls-lens--timer
            (run-with-idle-timer 0.6 t #'promptls-lens--refresh)))))

(provide 'promptls-lens)
;;; promptls-lens.el ends here
