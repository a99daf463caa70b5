;;; promptls.el --- Prompts with code context from @-mentions  -*- lexical-binding: t; -*-

;; Author: The promptls maintainers
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, convenience, languages
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; promptls is a language server that builds prompts for language models.  It
;; resolves the @-mentions of a question and adds the relevant code of the
;; workspace, within a token budget.  This package starts the server under
;; lsp-mode or Eglot, synchronizes unsaved edits and displays the results.
;;
;; M-x promptls-ask reads a question in the minibuffer, M-x promptls-scratch
;; opens a prompt document, and M-x promptls-menu lists all commands.

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
(require 'promptls-page)
(require 'promptls-commands)

(declare-function eglot-code-actions "ext:eglot" (beg &optional end kind interactive))
(declare-function lsp-execute-code-action "ext:lsp-mode" (action))
(defvar eglot--managed-mode)
(defvar lsp-auto-touch-files)
(defvar lsp-enable-file-watchers)
(defvar lsp-lens-enable)

(autoload 'promptls-menu "promptls-menu" nil t)

(defcustom promptls-connect-automatically t
  "Whether opening a prompt document or an instruction file starts the server.
Instruction files are AGENTS.md, CLAUDE.md, rules and skills of coding agents."
  :type 'boolean
  :group 'promptls)

(defcustom promptls-scratch-name "scratch.promptls.md"
  "File name of the scratch prompt in the project root.
The file is not created until you save the buffer."
  :type 'string
  :group 'promptls)

;;;; Prompt documents

(defface promptls-mention '((t :inherit font-lock-constant-face))
  "Face for mentions."
  :group 'promptls-faces)

(defconst promptls-mention-regexp
  (concat "\\(?:^\\|[[:space:]([{,;]\\)"
          "\\(@@?\\(?:\"[^\"\n]+\"\\|[^[:space:]@\"]\\)*[^][:space:]@.,;:!?)}]\\)")
  "Regexp that matches a mention; used for highlighting only.")

(defvar promptls-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'promptls-build)
    (define-key map (kbd "C-c C-w") #'promptls-copy)
    (define-key map (kbd "C-c C-a") #'promptls-answer)
    (define-key map (kbd "C-c C-f") #'promptls-fix)
    (define-key map (kbd "C-c C-z") #'promptls-menu)
    map)
  "Keymap of `promptls-mode'.")

(defalias 'promptls-parent-mode
  (if (fboundp 'markdown-mode) #'markdown-mode #'text-mode)
  "Parent mode of `promptls-mode'.")

;;;###autoload
(define-derived-mode promptls-mode promptls-parent-mode "Prompt"
  "Major mode for prompt documents: questions with @-mentions.
\\{promptls-mode-map}"
  :group 'promptls
  (font-lock-add-keywords nil `((,promptls-mention-regexp 1 'promptls-mention prepend)))
  ;; The negative depth takes precedence over the clients' completion functions.
  (add-hook 'completion-at-point-functions #'promptls-completion-at-point -50 t)
  (add-hook 'post-self-insert-hook #'promptls-complete-after-insert nil t)
  ;; The server detects file changes itself.
  (setq-local lsp-enable-file-watchers nil)
  (when promptls-lenses
    (setq-local lsp-lens-enable nil))
  (setq-local mode-line-process
              '(:eval (unless promptls-sync-mode (promptls-mode-line))))
  (when (and promptls-connect-automatically (not noninteractive))
    (let ((buffer (current-buffer)))
      (run-at-time 0 nil #'promptls--attach buffer))))

(defun promptls--instruction-file-visited ()
  "Start the server if this buffer visits an instruction file of a project."
  (when (and promptls-connect-automatically (not noninteractive)
             (promptls-instruction-buffer-p)
             (project-current)
             (ignore-errors (promptls-find-program (promptls-indexable-root (current-buffer)))))
    (let ((buffer (current-buffer)))
      ;; Programs visit files, too, and do not show them.
      (run-at-time 0 nil (lambda ()
                           (when (and (get-buffer-window buffer t)
                                      (not (promptls-connection buffer)))
                             (promptls--attach buffer)))))))

(add-hook 'find-file-hook #'promptls--instruction-file-visited)

(defun promptls--attach (buffer)
  "Attach BUFFER, a document with mentions, to the server; start it if needed."
  (when (and (buffer-live-p buffer) (buffer-file-name buffer))
    (with-current-buffer buffer
      (unless (seq-some (lambda (connection) (promptls-connection-manages-p connection buffer))
                        (promptls-connections))
        (condition-case err
            (progn
              (promptls-start buffer)
              ;; For the mode line, which shows that the server is starting.
              (setq promptls-buffer-connection (promptls-connection)))
          (user-error (message "%s" (error-message-string err))))))))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.prompt\\(?:ls\\)?\\.md\\'" . promptls-mode))
;; Prompt documents contain answers of language models.
;;;###autoload
(add-to-list 'inhibit-local-variables-regexps "\\.prompt\\(?:ls\\)?\\.md\\'")

(defun promptls-scratch-buffer (root)
  "Return the scratch prompt buffer of the project at ROOT; create it if needed."
  (let* ((file (expand-file-name promptls-scratch-name root))
         (new (not (or (find-buffer-visiting file) (file-exists-p file))))
         (buffer (let ((promptls-connect-automatically nil))
                   (find-file-noselect file))))
    (with-current-buffer buffer
      (unless (derived-mode-p 'promptls-mode)
        (let ((promptls-connect-automatically nil))
          (promptls-mode)))
      (when new
        ;; Write nothing into the project before the user saves the buffer.
        (auto-save-mode -1)
        (setq-local create-lockfiles nil
                    lsp-auto-touch-files nil)))
    buffer))

(defun promptls--selection-mention (connection)
  "Return a mention of the selected lines for CONNECTION, or nil."
  (when-let* ((selection (promptls-selection connection))
              (file (promptls-uri-to-file (plist-get selection :uri)))
              (root (seq-find (lambda (root)
                                (promptls-file-in-folder-p file (file-truename root)))
                              (promptls-connection-roots connection)))
              (path (file-relative-name file (file-truename root))))
    (pcase-let ((`(,first . ,last) (promptls-range-lines (plist-get selection :range))))
      ;; Quote a bare word: it may be the name of a mention kind, as in "@map:1".
      (format "@%s:%d-%d"
              (if (string-match-p "\\`[[:alnum:]_-]*[./][[:alnum:]_./-]*\\'" path)
                  path
                (format "\"%s\"" (replace-regexp-in-string "[\"\\]" "\\\\\\&" path)))
              first last))))

;;;###autoload
(defun promptls-scratch ()
  "Show the scratch prompt of this project.
If a region is active, append a mention of its lines."
  (interactive)
  (let* ((mention (when (region-active-p)
                    (promptls--selection-mention (promptls-connect))))
         (buffer (promptls-scratch-buffer (promptls-root))))
    (promptls--attach buffer)
    (pop-to-buffer buffer)
    (goto-char (point-max))
    (when mention
      (unless (bolp) (insert "\n"))
      (insert mention " "))))

(defun promptls-fix ()
  "Select and apply a code action for the problem at point."
  (interactive)
  (cond
   ((bound-and-true-p lsp-mode) (call-interactively #'lsp-execute-code-action))
   ((bound-and-true-p eglot--managed-mode) (call-interactively #'eglot-code-actions))
   (t (user-error "Buffer not connected; run M-x promptls-restart"))))

;;;; Building

(defun promptls-build-params (message connection)
  "Return the buildPrompt params for MESSAGE, CONNECTION and the current buffer."
  `(:message ,message
    ,@(when (and buffer-file-name (promptls-prompt-buffer-p (current-buffer)))
        (list :document (promptls-buffer-uri connection (current-buffer))))
    :context ,(promptls-context connection)))

(defun promptls--current-message ()
  "Return (MESSAGE . WHOLE): the text of the region or the buffer.
WHOLE is non-nil if MESSAGE is the whole buffer."
  (if (use-region-p)
      (list (buffer-substring-no-properties (region-beginning) (region-end)))
    (save-restriction
      (widen)
      (cons (buffer-substring-no-properties (point-min) (point-max)) t))))

;;;###autoload
(defun promptls-build (&optional build)
  "Build the prompt of the region or the buffer and show it.
In a code buffer, read the question in the minibuffer instead.
If BUILD is non-nil, call it instead of `promptls-page-build'."
  (interactive)
  (when completion-in-region-mode (completion-in-region-mode -1))
  (if (derived-mode-p 'prog-mode)
      (promptls-ask (promptls--read-question) build)
    (pcase-let ((`(,message . ,whole) (promptls--current-message)))
      (when (string-blank-p message)
        (user-error "No question in this buffer; write one, with @-mentions"))
      (let ((connection (promptls-connect)))
        (funcall (or build #'promptls-page-build)
                 (promptls-build-params message connection) connection whole)))))

;;;###autoload
(defun promptls-copy ()
  "Build the prompt of the region or the buffer and copy it.
In a code buffer, read the question in the minibuffer instead."
  (interactive)
  (promptls-build #'promptls--copy-build))

(defun promptls--copy-build (params connection &optional _whole)
  "Build a prompt from PARAMS by CONNECTION and copy it.
Ask first if it was built from an incomplete index."
  (promptls-page-request
   connection "promptls/buildPrompt" params
   (lambda (result)
     (if (<= 1 (or (promptls-get result :index :complete) 1))
         (promptls-copy-result result)
       ;; Later, because a process filter must not wait for the user.
       (run-at-time 0 nil #'promptls--copy-or-wait result params connection)))))

(defun promptls--copy-or-wait (result params connection)
  "Copy the prompt of RESULT now, or build PARAMS by CONNECTION again later.
Ask the user, because RESULT was built from an incomplete index."
  (if (eq ?c (car (read-multiple-choice "The index is incomplete:"
                                        '((?c "Copy now") (?w "Wait")))))
      (promptls-copy-result result)
    (message "The prompt is copied when the index is complete")
    (promptls-when-indexed connection (lambda () (promptls--copy-build params connection)))))

;;;###autoload
(defun promptls-answer ()
  "Let the language model of the settings answer below the question.
The current buffer must be a prompt document; see
`promptls-language-model-use'."
  (interactive)
  (unless (and buffer-file-name (promptls-prompt-buffer-p (current-buffer)))
    (user-error "Not a prompt document; open one with M-x promptls-scratch"))
  (let ((connection (promptls-connect)))
    (promptls-page-request
     connection "promptls/answer"
     (list :uri (promptls-buffer-uri connection (current-buffer)))
     (lambda (_) (message "Answered")))
    (message "Waiting for the answer…")))

(defun promptls-open-document (uri)
  "Build and show the prompt of the document URI; called by code lenses."
  (with-current-buffer (promptls--document-buffer uri)
    (deactivate-mark)
    (promptls-build)))

(defun promptls-copy-document (uri)
  "Build and copy the prompt of the document URI; called by code lenses."
  (with-current-buffer (promptls--document-buffer uri)
    (deactivate-mark)
    (promptls-copy)))

(defun promptls--document-buffer (uri)
  "Return the buffer of the document URI."
  (let ((file (promptls-uri-to-file uri)))
    (or (and file (find-buffer-visiting file))
        (and file (file-exists-p file) (find-file-noselect file))
        (user-error "Document not open: %s" (or uri "no URI given")))))

;;;; Asking

(defvar promptls-message-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map minibuffer-local-map)
    (define-key map "\t" #'completion-at-point)
    (define-key map (kbd "M-RET") #'newline)
    (define-key map (kbd "C-j") #'newline)
    map)
  "Keymap of `promptls-read-message'.")

(defvar promptls-message-history nil
  "Minibuffer history of `promptls-read-message'.")

(defun promptls-read-message (prompt &optional initial)
  "Read a message with PROMPT, with completion of mentions.
Insert INITIAL into the minibuffer first."
  (minibuffer-with-setup-hook
      (lambda ()
        (setq-local completion-at-point-functions '(promptls-completion-at-point))
        (add-hook 'post-self-insert-hook #'promptls-complete-after-insert nil t))
    (read-from-minibuffer prompt initial promptls-message-map nil 'promptls-message-history)))

(defvar promptls--question nil
  "The overlay in the prompt of the minibuffer that reads a question, or nil.")

(defun promptls--code-region-p ()
  "Return non-nil if there is an active region in this buffer, a code buffer."
  (and (use-region-p)
       buffer-file-name
       (not (promptls-prompt-buffer-p (current-buffer)))))

(defun promptls--update-question (&rest _)
  "Show the state of the server and the cost of the selection in the minibuffer."
  (when-let ((buffer (and promptls--question (overlay-buffer promptls--question)))
             (source (overlay-get promptls--question 'promptls-source)))
    (with-current-buffer source
      (let* ((connection (promptls-ready-connection))
             (state (if connection
                        (promptls-status-summary (promptls-last-status connection))
                      "starting"))
             (question promptls--question)
             (show (lambda (tokens)
                     (let ((parts (delq nil (list (unless (equal state "ready") state)
                                                  (when tokens
                                                    (format "selection: %s tokens"
                                                            (promptls-format-number tokens)))))))
                       (overlay-put question 'before-string
                                    (when parts (format " (%s)" (string-join parts ", "))))))))
        (funcall show nil)
        (when (and connection (promptls--code-region-p))
          (promptls-request-async
           connection "promptls/resolveMentions"
           (list :message "@selection" :context (promptls-context connection))
           (lambda (result) (funcall show (plist-get result :tokens)))
           #'ignore))))))

(add-hook 'promptls-connected-functions #'promptls--update-question)
(add-hook 'promptls-status-functions #'promptls--update-question)

(defun promptls--read-question ()
  "Read a question in the minibuffer, with a mention of the selection.
Start the server if needed; the question can be typed meanwhile."
  (promptls-ensure-started)
  (let ((source (current-buffer)))
    (minibuffer-with-setup-hook
        (lambda ()
          (let ((end (minibuffer-prompt-end)))
            (setq promptls--question (make-overlay (- end 2) (- end 2)))
            (overlay-put promptls--question 'promptls-source source)
            (promptls--update-question)))
      (unwind-protect
          (promptls-read-message "Ask: " (when (promptls--code-region-p) "@selection "))
        (when promptls--question
          (delete-overlay promptls--question))
        (setq promptls--question nil)))))

;;;###autoload
(defun promptls-ask (message &optional build)
  "Build the prompt for MESSAGE, read in the minibuffer, and show it.
If BUILD is non-nil, call it instead of `promptls-page-build'.
The active region is included.  Type \"@\" to list mentions,
\\<promptls-message-map>\\[completion-at-point] completes one."
  (interactive (list (promptls--read-question)))
  (when (string-blank-p message)
    (user-error "No question given; type one, with @-mentions"))
  (let ((connection (promptls-connect)))
    (funcall (or build #'promptls-page-build)
             (promptls-build-params message connection) connection)))

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
  "Rescan all files of the project.
With a prefix argument FULL, rebuild the index of every file."
  (interactive "P")
  (promptls-request "promptls/reindex" (and full (list :full t)))
  (message "Reindexing…"))

(defun promptls-explain-ignore (file)
  "Show whether FILE is indexed, and if not, the rule that excludes it."
  (interactive (list (or buffer-file-name (read-file-name "File: "))))
  (let* ((connection (promptls-connect))
         (result (promptls-request "promptls/explainIgnore"
                                   (list :uri (promptls-connection-uri connection file))
                                   :connection connection)))
    (message "%s" (or (plist-get result :reason)
                      (if (plist-get result :indexed)
                          "The file is indexed."
                        "The file is not indexed.")))))

(provide 'promptls)
;;; promptls.el ends here
