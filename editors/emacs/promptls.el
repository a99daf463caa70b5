;;; promptls.el --- Prompts with the right code, by @-mentions  -*- lexical-binding: t; -*-

;; Author: The promptls maintainers
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, convenience, languages
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; promptls is a language server that turns a question with @-mentions into the
;; prompt that a language model needs, with the right code of the project and
;; within a budget of tokens.  This package is its client: it starts the server
;; under lsp-mode or Eglot, sends what the editor knows (unsaved edits too) and
;; shows what comes back.
;;
;; M-x promptls-ask asks a question in the minibuffer, M-x promptls-scratch
;; opens a prompt document, M-x promptls-menu shows everything else.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'promptls-settings)
(require 'promptls-data)
(require 'promptls-server)
(require 'promptls-context)
(require 'promptls-sync)
(require 'promptls-complete)
(require 'promptls-lens)
(require 'promptls-preview)
(require 'promptls-pages)

(declare-function eglot-code-actions "ext:eglot" (beg &optional end kind interactive))
(declare-function lsp-execute-code-action "ext:lsp-mode" (action))
(defvar eglot--managed-mode)
(defvar lsp-auto-touch-files)
(defvar lsp-enable-file-watchers)
(defvar lsp-lens-enable)

(autoload 'promptls-menu "promptls-menu" nil t)

(defcustom promptls-connect-automatically t
  "Whether a prompt document starts the server when it is opened."
  :type 'boolean
  :group 'promptls)

(defcustom promptls-scratch-name "scratch.prompt.md"
  "Name of the scratch prompt in the root of a project.
It is no file until you save it."
  :type 'string
  :group 'promptls)

;;;; Prompt documents

(defface promptls-mention '((t :inherit font-lock-constant-face))
  "Face of mentions."
  :group 'promptls-faces)

(defconst promptls-mention-regexp
  (concat "\\(?:^\\|[[:space:]([{,;]\\)"
          "\\(@@?\\(?:\"[^\"\n]+\"\\|[^[:space:]@\"]\\)*[^][:space:]@.,;:!?)}]\\)")
  "Matches what looks like a mention; only for colours.")

(defvar promptls-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'promptls-build)
    (define-key map (kbd "C-c C-w") #'promptls-copy)
    (define-key map (kbd "C-c C-f") #'promptls-fix)
    (define-key map (kbd "C-c C-z") #'promptls-menu)
    map)
  "Keys of `promptls-mode'.")

(defalias 'promptls-parent-mode
  (if (fboundp 'markdown-mode) #'markdown-mode #'text-mode)
  "Mode that `promptls-mode' is derived from.")

;;;###autoload
(define-derived-mode promptls-mode promptls-parent-mode "Prompt"
  "Major mode for prompts: questions with @-mentions.
\\{promptls-mode-map}"
  :group 'promptls
  (font-lock-add-keywords nil `((,promptls-mention-regexp 1 'promptls-mention prepend)))
  ;; A depth, so that the clients' own functions do not come first.
  (add-hook 'completion-at-point-functions #'promptls-completion-at-point -50 t)
  (add-hook 'post-self-insert-hook #'promptls-complete-after-insert nil t)
  ;; The server walks the folders itself; lsp-mode need not watch each for it.
  (setq-local lsp-enable-file-watchers nil)
  (when promptls-lenses
    (setq-local lsp-lens-enable nil))
  (setq-local mode-line-process
              '(:eval (unless promptls-sync-mode (promptls-mode-line))))
  (when (and promptls-connect-automatically (not noninteractive))
    (let ((buffer (current-buffer)))
      (run-at-time 0 nil #'promptls--attach buffer))))

(defun promptls--attach (buffer)
  "Let the server manage BUFFER, a prompt document; start it if it does not run."
  (when (and (buffer-live-p buffer) (buffer-file-name buffer))
    (with-current-buffer buffer
      (unless (seq-some (lambda (connection) (promptls-connection-manages-p connection buffer))
                        (promptls-connections))
        (condition-case err
            (promptls-start buffer)
          (user-error (message "%s" (error-message-string err))))))))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.prompt\\.md\\'" . promptls-mode))

(defun promptls-scratch-buffer (root)
  "Return the scratch prompt of the project at ROOT, made if need be."
  (let* ((file (expand-file-name promptls-scratch-name root))
         (new (not (or (find-buffer-visiting file) (file-exists-p file))))
         (buffer (let ((promptls-connect-automatically nil))
                   (find-file-noselect file))))
    (with-current-buffer buffer
      (unless (derived-mode-p 'promptls-mode)
        (let ((promptls-connect-automatically nil))
          (promptls-mode)))
      (when new
        ;; Nothing is written beside the code before the user saves it.
        (auto-save-mode -1)
        (setq-local create-lockfiles nil
                    lsp-auto-touch-files nil)))
    buffer))

(defun promptls--spell-selection (connection)
  "Return a mention of the lines selected in front of CONNECTION, or nil."
  (when-let* ((selection (promptls-selection connection))
              (file (promptls-file (plist-get selection :uri)))
              (root (seq-find (lambda (root)
                                (promptls-inside-p file (file-truename root)))
                              (promptls-connection-roots connection)))
              (path (file-relative-name file (file-truename root))))
    (pcase-let ((`(,first . ,last) (promptls-lines (plist-get selection :range))))
      ;; A bare word may be a kind of mention: "@map:1" is one.
      (format "@%s:%d-%d"
              (if (string-match-p "\\`[[:alnum:]_-]*[./][[:alnum:]_./-]*\\'" path)
                  path
                (format "\"%s\"" (replace-regexp-in-string "[\"\\]" "\\\\\\&" path)))
              first last))))

;;;###autoload
(defun promptls-scratch ()
  "Show the scratch prompt of this project.
If lines are selected, it mentions them."
  (interactive)
  (let* ((mention (when (region-active-p)
                    (promptls--spell-selection (promptls-connect))))
         (buffer (promptls-scratch-buffer (promptls-root))))
    (promptls--attach buffer)
    (pop-to-buffer buffer)
    (goto-char (point-max))
    (when mention
      (unless (bolp) (insert "\n"))
      (insert mention " "))))

(defun promptls-fix ()
  "Show what can be done about the problem at point, and do it."
  (interactive)
  (cond
   ((bound-and-true-p lsp-mode) (call-interactively #'lsp-execute-code-action))
   ((bound-and-true-p eglot--managed-mode) (call-interactively #'eglot-code-actions))
   (t (user-error "This buffer is not connected; M-x promptls-connect-here starts the server"))))

;;;###autoload
(defun promptls-connect-here ()
  "Start the server for this project, and wait until it is ready."
  (interactive)
  (let ((connection (promptls-connect)))
    (when (and buffer-file-name (derived-mode-p 'promptls-mode))
      (promptls--attach (current-buffer)))
    (message "promptls serves %s" (string-join (promptls-connection-roots connection) ", "))))

;;;; Building

(defun promptls-params (message connection)
  "Return the params that build MESSAGE by CONNECTION, from the current buffer."
  `(:message ,message
    ,@(when (and buffer-file-name (promptls-prompt-buffer-p (current-buffer)))
        (list :document (promptls-buffer-uri connection (current-buffer))))
    :context ,(promptls-context connection)))

(defun promptls--message-here ()
  "Return (MESSAGE . WHOLE): the region, or, WHOLE non-nil, all of this buffer."
  (if (use-region-p)
      (list (buffer-substring-no-properties (region-beginning) (region-end)))
    (save-restriction
      (widen)
      (cons (buffer-substring-no-properties (point-min) (point-max)) t))))

;;;###autoload
(defun promptls-build (&optional then)
  "Build the prompt of the region or the buffer and show it, or call THEN with it.
In a buffer with code the text is no question, so one is asked for."
  (interactive)
  (promptls-complete-done)
  (if (derived-mode-p 'prog-mode)
      (promptls-ask (promptls--read-question) then)
    (pcase-let ((`(,message . ,whole) (promptls--message-here)))
      (when (string-blank-p message)
        (user-error "There is no question here yet; write one, with @-mentions of what it is about"))
      (let ((connection (promptls-connect)))
        (promptls-preview-build (promptls-params message connection) connection
                                (and whole (current-buffer))
                                then)))))

(defun promptls-copy ()
  "Build the prompt of the region or the buffer and copy it.
In a buffer with code the text is no question, so one is asked for."
  (interactive)
  (promptls-build
   (lambda (result)
     (kill-new (promptls-prompt-text result))
     (message "The prompt was copied: %s tokens"
              (promptls-count (promptls-get result :tokens :used))))))

(defun promptls-open-document (uri)
  "Build and show the prompt of the document URI; the server's lenses call this."
  (with-current-buffer (promptls--document uri)
    (deactivate-mark)
    (promptls-build)))

(defun promptls-copy-document (uri)
  "Build and copy the prompt of the document URI; the server's lenses call this."
  (with-current-buffer (promptls--document uri)
    (deactivate-mark)
    (promptls-copy)))

(defun promptls--document (uri)
  "Return the buffer of the document URI."
  (let ((file (promptls-file uri)))
    (or (and file (find-buffer-visiting file))
        (and file (file-exists-p file) (find-file-noselect file))
        (user-error "The document %s is not open any more" (or uri "of this prompt")))))

;;;; Asking

(defvar promptls-message-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map minibuffer-local-map)
    (define-key map "\t" #'completion-at-point)
    (define-key map (kbd "M-RET") #'newline)
    (define-key map (kbd "C-j") #'newline)
    map)
  "Keys while a message is read.")

(defvar promptls-message-history nil
  "Messages that were read.")

(defun promptls-read-message (prompt &optional initial)
  "Read a message with PROMPT, mentions completed, INITIAL inserted."
  (minibuffer-with-setup-hook
      (lambda ()
        (setq-local completion-at-point-functions '(promptls-completion-at-point))
        (add-hook 'post-self-insert-hook #'promptls-complete-after-insert nil t))
    (read-from-minibuffer prompt initial promptls-message-map nil 'promptls-message-history)))

(defun promptls--read-question ()
  "Read a question about what is in front."
  (promptls-connect)
  (promptls-read-message (if (use-region-p) "Ask about the selection: " "Ask: ")))

;;;###autoload
(defun promptls-ask (message &optional then)
  "Build the prompt for MESSAGE, read in the minibuffer, and show it.
Call THEN, if given, with it instead of showing it.
What is selected goes along.  There \"@\" offers what can be mentioned,
\\<promptls-message-map>\\[completion-at-point] completes it."
  (interactive (list (promptls--read-question)))
  (when (string-blank-p message)
    (user-error "There is no question; type one, with @-mentions of what it is about"))
  (let ((connection (promptls-connect)))
    (promptls-preview-build (promptls-params message connection) connection nil then)))

;;;; The server

;;;###autoload
(defun promptls-restart ()
  "Restart the server of this project."
  (interactive)
  (let ((connection (promptls-connection)))
    (if connection
        (promptls-connection-restart connection)
      (promptls-connect))))

(defun promptls-reindex (full)
  "Let the server look at all files again.
With a prefix argument, FULL, it reads each of them anew."
  (interactive "P")
  (promptls-request "promptls/reindex" (and full (list :full t)))
  (message "The server looks at all files again"))

(defun promptls-explain-ignore (file)
  "Tell whether FILE is indexed, and if not by which rule."
  (interactive (list (or buffer-file-name (read-file-name "File: "))))
  (let* ((connection (promptls-connect))
         (answer (promptls-request "promptls/explainIgnore"
                                   (list :uri (promptls-connection-uri connection file))
                                   :connection connection)))
    (message "%s" (or (plist-get answer :reason)
                      (if (plist-get answer :indexed) "It is indexed." "It is not indexed.")))))

(provide 'promptls)
;;; promptls.el ends here
