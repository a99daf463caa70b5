;;; promptls-context.el --- Client context sent to the server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The client context of a request: the active, open and visible documents and
;; the selection.  Diagnostics, terminal output, clipboard, `next-error'
;; locations and chat history are collected only when a message mentions them
;; and the server requests them (promptls/clientContext).

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'promptls-data)
(require 'promptls-server)

(declare-function compilation--ensure-parse "compile" (limit))
(declare-function compilation--message->loc "compile" (message))
(declare-function compilation--loc->file-struct "compile" (loc))
(declare-function compilation--loc->line "compile" (loc))
(declare-function flymake-diagnostics "flymake" (&optional beg end))
(declare-function flymake-diagnostic-backend "flymake" (diag))
(declare-function flymake-diagnostic-beg "flymake" (diag))
(declare-function flymake-diagnostic-data "flymake" (diag))
(declare-function flymake-diagnostic-end "flymake" (diag))
(declare-function flymake-diagnostic-text "flymake" (diag))
(declare-function flymake-diagnostic-type "flymake" (diag))
(declare-function flycheck-error-checker "ext:flycheck" (err))
(declare-function flycheck-error-column "ext:flycheck" (err))
(declare-function flycheck-error-end-column "ext:flycheck" (err))
(declare-function flycheck-error-end-line "ext:flycheck" (err))
(declare-function flycheck-error-id "ext:flycheck" (err))
(declare-function flycheck-error-level "ext:flycheck" (err))
(declare-function flycheck-error-line "ext:flycheck" (err))
(declare-function flycheck-error-message "ext:flycheck" (err))
(declare-function promptls-gptel-history "promptls-gptel" ())
(declare-function xref-item-location "xref" (item))
(declare-function xref-location-group "xref" (location))
(declare-function xref-location-line "xref" (location))
(defvar flycheck-current-errors)
(defvar next-error-last-buffer)

(defcustom promptls-terminal-lines 200
  "Maximum number of terminal lines sent for \"@terminal\"."
  :type 'natnum
  :group 'promptls)

;;;; Buffers

(defconst promptls-file-regexp "\\.prompt\\(?:ls\\)?\\.md\\'"
  "Regexp that matches the names of prompt documents.")

(defun promptls-prompt-buffer-p (buffer)
  "Return non-nil if BUFFER is a prompt document."
  (with-current-buffer buffer
    (or (derived-mode-p 'promptls-mode)
        (and buffer-file-name (string-match-p promptls-file-regexp buffer-file-name)))))

(defconst promptls-instruction-regexp
  (rx (or (seq "/" (or "AGENTS" "CLAUDE" "CLAUDE.local" "GEMINI" "CODEBUDDY" "SKILL"
                       "copilot-instructions")
               ".md" eos)
          (seq "." (or "instructions.md" "mdc" "rule.md" "chatmode.md" "agent.md") eos)
          (seq "/." (or "cursorrules" "windsurfrules" "clinerules" "codebuddyrules") eos)
          (seq "/." (or "cursor/rules" "claude/rules" "claude/commands" "claude/agents"
                        "github/instructions" "github/agents" "windsurf/rules" "clinerules"
                        "roo/rules" "continue/rules" "promptls/rules" "codebuddy/rules"
                        "sourcegraph")
               (? "/" (* nonl)) ".md" eos)))
  "Regexp that matches the names of instruction files of coding agents.
The server checks the names in these files.")

(defun promptls-instruction-buffer-p ()
  "Return non-nil if this buffer visits an instruction file of coding agents."
  (let ((case-fold-search nil))
    (and buffer-file-name
         (not (promptls-prompt-buffer-p (current-buffer)))
         (string-match-p promptls-instruction-regexp buffer-file-name))))

(defun promptls-code-buffer-p (buffer connection)
  "Return non-nil if BUFFER visits a non-prompt file in a folder of CONNECTION."
  (let ((file (buffer-file-name buffer)))
    (and file
         (not (file-remote-p file))
         (not (promptls-prompt-buffer-p buffer))
         (let ((roots (promptls-connection-roots connection)))
           (or (seq-some (lambda (root) (promptls-file-in-folder-p file root)) roots)
               (let ((true (file-truename file)))
                 (seq-some (lambda (root) (promptls-file-in-folder-p true root)) roots)))))))

(defun promptls-code-buffers (connection)
  "Return the code buffers of CONNECTION, most recently used first."
  (seq-filter (lambda (buffer) (promptls-code-buffer-p buffer connection))
              (cons (current-buffer) (remq (current-buffer) (buffer-list)))))

(defun promptls-buffer-uri (connection buffer)
  "Return the URI of BUFFER's file in the encoding of CONNECTION's client."
  (promptls-connection-uri connection (buffer-file-name buffer)))

(defun promptls--visible-buffers ()
  "Return the buffers displayed in visible frames."
  (delete-dups
   (mapcan (lambda (frame)
             (mapcar #'window-buffer (window-list frame 'no-minibuffer)))
           (visible-frame-list))))

(defun promptls-selection (connection)
  "Return the selection in the active document of CONNECTION, or nil."
  (when-let ((buffer (car (promptls-code-buffers connection))))
    (with-current-buffer buffer
      (when (and (region-active-p) (/= (region-beginning) (region-end)))
        (list :uri (promptls-buffer-uri connection buffer)
              :range (promptls-range (region-beginning) (region-end)
                                     (promptls-connection-encoding connection)))))))

(defun promptls-context (connection)
  "Return the client context of a request to CONNECTION."
  (let* ((buffers (promptls-code-buffers connection))
         (visible (promptls--visible-buffers))
         (uri (lambda (buffer) (promptls-buffer-uri connection buffer)))
         (selection (promptls-selection connection)))
    `(,@(when buffers (list :activeDocument (funcall uri (car buffers))))
      ,@(when selection (list :selection selection))
      :openDocuments ,(vconcat (mapcar uri buffers))
      :visibleDocuments ,(vconcat (mapcar uri (seq-filter (lambda (b) (memq b visible))
                                                          buffers))))))

;;;; Context on request

(defun promptls--severity (level)
  "Return the LSP severity of LEVEL, a Flymake type or Flycheck level."
  (let ((name (format "%s" level)))
    (cond ((string-match-p "error" name) 1)
          ((string-match-p "warning" name) 2)
          (t 3))))

(defun promptls--flymake-diagnostics (encoding)
  "Return the Flymake diagnostics of this buffer as LSP diagnostics.
ENCODING is the position encoding."
  (mapcar
   (lambda (diagnostic)
     (let* ((data (flymake-diagnostic-data diagnostic))
            (lsp (and (consp data) (promptls-normalize-json (alist-get 'eglot-lsp-diag data))))
            (code (plist-get lsp :code)))
       `(:range ,(promptls-range (flymake-diagnostic-beg diagnostic)
                                 (flymake-diagnostic-end diagnostic)
                                 encoding)
         :severity ,(promptls--severity (flymake-diagnostic-type diagnostic))
         :source ,(or (plist-get lsp :source)
                      (format "%s" (flymake-diagnostic-backend diagnostic)))
         :message ,(substring-no-properties
                    (or (plist-get lsp :message) (flymake-diagnostic-text diagnostic)))
         ,@(when code (list :code code)))))
   (seq-filter (lambda (d) (number-or-marker-p (flymake-diagnostic-beg d)))
               (flymake-diagnostics))))

(defun promptls--flycheck-diagnostics ()
  "Return the Flycheck errors of this buffer as LSP diagnostics."
  (mapcar
   (lambda (err)
     (let* ((line (1- (or (flycheck-error-line err) 1)))
            (column (1- (or (flycheck-error-column err) 1)))
            (id (flycheck-error-id err)))
       `(:range (:start (:line ,line :character ,column)
                 :end (:line ,(1- (or (flycheck-error-end-line err) (1+ line)))
                       :character ,(1- (or (flycheck-error-end-column err) (+ column 2)))))
         :severity ,(promptls--severity (flycheck-error-level err))
         :source ,(format "%s" (flycheck-error-checker err))
         :message ,(substring-no-properties (or (flycheck-error-message err) ""))
         ,@(when id (list :code (format "%s" id))))))
   (seq-filter #'flycheck-error-line flycheck-current-errors)))

(defun promptls-diagnostics (connection)
  "Return the diagnostics of the code buffers of CONNECTION.
Buffers managed by CONNECTION are excluded: their diagnostics come from
promptls itself."
  (let (files)
    (dolist (buffer (promptls-code-buffers connection))
      (unless (promptls-connection-manages-p connection buffer)
        (with-current-buffer buffer
          (when-let ((diagnostics
                      (append
                       (when (bound-and-true-p flymake-mode)
                         (promptls--flymake-diagnostics (promptls-connection-encoding connection)))
                       (when (bound-and-true-p flycheck-mode)
                         (promptls--flycheck-diagnostics)))))
            (push (list :uri (promptls-buffer-uri connection buffer)
                        :diagnostics (vconcat diagnostics))
                  files)))))
    (vconcat (nreverse files))))

(defun promptls-terminal ()
  "Return the last lines of the most recent terminal buffer, or nil."
  (when-let ((buffer (seq-find
                      (lambda (buffer)
                        (with-current-buffer buffer
                          (derived-mode-p 'comint-mode 'term-mode 'eshell-mode
                                          'vterm-mode 'eat-mode)))
                      (buffer-list))))
    (with-current-buffer buffer
      (save-excursion
        (save-restriction
          (widen)
          (goto-char (point-max))
          (skip-chars-backward " \t\n")
          (let ((end (point)))
            (forward-line (- 1 promptls-terminal-lines))
            (buffer-substring-no-properties (line-beginning-position) end)))))))

(defun promptls-clipboard ()
  "Return the clipboard text or the latest kill, whichever `yank' would insert."
  (when-let ((text (ignore-errors (current-kill 0 t))))
    (substring-no-properties text)))

(defun promptls--property-values (property)
  "Return the values of the text property PROPERTY in this buffer, in order."
  (let ((position (point-min)) values)
    (while position
      (when-let ((value (get-text-property position property)))
        (push value values))
      (setq position (next-single-property-change position property)))
    (nreverse values)))

(defun promptls--compilation-locations ()
  "Return (FILE . LINE) for each location of this compilation or grep buffer."
  (compilation--ensure-parse (point-max))
  (delete-dups
   (mapcan (lambda (message)
             (let* ((loc (compilation--message->loc message))
                    (file (car (compilation--loc->file-struct loc))))
               (when (stringp (car file))
                 (list (cons (expand-file-name (car file) (or (cadr file) default-directory))
                             (or (compilation--loc->line loc) 1))))))
           (promptls--property-values 'compilation-message))))

(defun promptls--xref-locations ()
  "Return (FILE . LINE) for each item of this xref buffer."
  (mapcan (lambda (item)
            (let ((location (xref-item-location item)))
              (when (xref-location-line location)
                (list (cons (expand-file-name (xref-location-group location))
                            (xref-location-line location))))))
          (promptls--property-values 'xref-item)))

(defun promptls-quickfix (connection)
  "Return the `next-error' locations with URIs in the encoding of CONNECTION."
  (let* ((locations-p (lambda (buffer)
                        (with-current-buffer buffer
                          (derived-mode-p 'compilation-mode 'xref--xref-buffer-mode))))
         (buffer (or (and (buffer-live-p next-error-last-buffer)
                          (funcall locations-p next-error-last-buffer)
                          next-error-last-buffer)
                     (seq-find locations-p (buffer-list)))))
    (when buffer
      (vconcat
       (mapcar (pcase-lambda (`(,file . ,line))
                 (list :uri (promptls-connection-uri connection file)
                       :range (list :start (list :line (1- line) :character 0)
                                    :end (list :line line :character 0))))
               (with-current-buffer buffer
                 (if (derived-mode-p 'compilation-mode)
                     (promptls--compilation-locations)
                   (promptls--xref-locations))))))))

(defun promptls-client-context (connection kinds)
  "Return the result of promptls/clientContext for CONNECTION.
KINDS is a list of names of context kinds."
  (let ((result nil)
        (kinds (mapcar (lambda (kind) (format "%s" kind)) kinds)))
    (cl-flet ((put (name value)
                (when value (setq result (append result (list name value))))))
      (dolist (kind kinds)
        (pcase kind
          ("diagnostics" (put :diagnostics (promptls-diagnostics connection)))
          ("terminal" (put :terminal (promptls-terminal)))
          ("clipboard" (put :clipboard (promptls-clipboard)))
          ("quickfix" (put :quickfix (promptls-quickfix connection)))
          ("history" (put :history (and (featurep 'promptls-gptel)
                                        (promptls-gptel-history)))))))
    ;; Always included: cheap, and @selection, @active or @open may need it.
    (promptls-replace-invalid-chars (append result (promptls-context connection)))))

(provide 'promptls-context)
;;; promptls-context.el ends here
