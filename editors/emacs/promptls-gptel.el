;;; promptls-gptel.el --- Mentions and tools in gptel chats  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; `promptls-gptel-mode' builds the messages of a gptel chat into prompts before
;; gptel sends them, so that the mentioned code is included.  The text of the
;; chat buffer is not modified.
;;
;; Tested with gptel 0.9.9.5 (commit cd2cd73).
;;
;; `promptls-gptel-tools' returns the tools of the server.  The server can ask the
;; model of gptel to choose code: see `promptls-language-model-use'.

;;; Code:

(require 'cl-lib)
(require 'text-property-search)
(require 'promptls)
(require 'promptls-tools)

(declare-function gptel "ext:gptel" (name &optional _ initial interactivep))
(declare-function gptel-send "ext:gptel" (&optional arg))
(declare-function gptel-prompt-prefix-string "ext:gptel" ())
(declare-function gptel-response-prefix-string "ext:gptel" ())
(declare-function gptel-fsm-info "ext:gptel-request" (fsm))
(declare-function gptel-make-tool "ext:gptel-request" (&rest slots))
(declare-function gptel-request "ext:gptel-request" (&optional prompt &rest args))
(defvar gptel-max-tokens)
(defvar gptel-prompt-transform-functions)
(defvar gptel-track-media)
(defvar gptel-use-context)
(defvar gptel-use-tools)

(defun promptls-gptel--last-message ()
  "Return (START . END) of the last user message in this buffer."
  (save-excursion
    (goto-char (point-max))
    (let ((response (text-property-search-backward 'gptel nil
                                                   (lambda (_ value) (not (null value))))))
      (cons (if response (prop-match-end response) (point-min)) (point-max)))))

(defun promptls-gptel--strip-prefix (text chat)
  "Return TEXT trimmed, without the turn prefixes of the buffer CHAT."
  (let ((text (string-trim text)))
    (with-current-buffer chat
      (dolist (prefix (list (and (fboundp 'gptel-prompt-prefix-string)
                                 (gptel-prompt-prefix-string))
                            (and (fboundp 'gptel-response-prefix-string)
                                 (gptel-response-prefix-string))))
        (unless (string-blank-p (or prefix ""))
          (setq text (string-trim (string-remove-prefix (string-trim prefix) text))))))
    text))

(defun promptls-gptel-history ()
  "Return the messages of the most recent gptel chat, except the last one."
  (when-let ((chat (seq-find (lambda (buffer) (buffer-local-value 'gptel-mode buffer))
                             (and (boundp 'gptel-mode) (buffer-list)))))
    (with-current-buffer chat
      (let ((end (car (promptls-gptel--last-message)))
            (start (point-min))
            turns)
        (while (< start end)
          (let* ((next (min end (or (next-single-property-change start 'gptel) end)))
                 (text (promptls-gptel--strip-prefix
                        (buffer-substring-no-properties start next) chat)))
            (unless (string-empty-p text)
              (push (list :role (if (eq (get-text-property start 'gptel) 'response)
                                    "assistant"
                                  "user")
                          :content text)
                    turns))
            (setq start next)))
        (vconcat (nreverse turns))))))

(defun promptls-gptel--insert-prompt (start end prompt)
  "Replace the text from START to END, which are markers, with PROMPT."
  (save-excursion
    (goto-char start)
    (delete-region start end)
    (insert prompt))
  ;; Otherwise gptel sends the files that quoted text links to.
  (setq-local gptel-track-media nil))

(defun promptls-gptel-transform (done fsm)
  "Build the last message of this buffer into a prompt, then call DONE.
A `gptel-prompt-transform-functions' function.  FSM is the gptel request;
its chat buffer determines the project.  A message without mentions is
not modified."
  (pcase-let ((`(,start . ,end) (promptls-gptel--last-message))
              (chat (plist-get (gptel-fsm-info fsm) :buffer)))
    ;; gptel calls all functions at once.  This one is continued after the presets of
    ;; the message were applied, so that none is taken from quoted text, and after the
    ;; context of gptel was inserted before the message.
    (run-at-time 0 nil #'promptls-gptel--build done (copy-marker start t) (copy-marker end t)
                 (if (buffer-live-p chat) chat (current-buffer)))))

(defun promptls-gptel--build (done start end chat)
  "Replace the message from START to END by its prompt, then call DONE.
START and END are markers in a copy of the buffer CHAT."
  (when-let ((copy (marker-buffer start)))
    (let* ((message (with-current-buffer copy
                      (promptls-gptel--strip-prefix (buffer-substring-no-properties start end)
                                                    chat)))
           (done (lambda ()
                   (when (buffer-live-p copy)
                     (with-current-buffer copy
                       (funcall done)))))
           (failed (lambda (_code text)
                     (message "Sending the message without the mentioned code: %s" text)
                     (funcall done))))
      (if (not (string-match-p "@" message))
          (funcall done)
        (condition-case err
            (with-current-buffer chat
              (let ((connection (promptls-connect)))
                (promptls-request-async
                 connection "promptls/buildPrompt"
                 (list :message message :context (promptls-context connection))
                 (lambda (result)
                   (when (and (plist-get result :mentions) (buffer-live-p copy))
                     (with-current-buffer copy
                       (promptls-gptel--insert-prompt start end (promptls-prompt-text result))))
                   (funcall done))
                 failed)))
          (error (funcall failed nil (error-message-string err))))))))

;;;###autoload
(define-minor-mode promptls-gptel-mode
  "Toggle inclusion of mentioned code in the messages of this gptel chat."
  :lighter " @"
  :group 'promptls
  (if promptls-gptel-mode
      (progn
        (ignore-errors (promptls-ensure-started))
        (add-hook 'gptel-prompt-transform-functions #'promptls-gptel-transform -10 t)
        (add-hook 'completion-at-point-functions #'promptls-completion-at-point nil t)
        (add-hook 'post-self-insert-hook #'promptls-complete-after-insert nil t))
    (remove-hook 'gptel-prompt-transform-functions #'promptls-gptel-transform t)
    (remove-hook 'completion-at-point-functions #'promptls-completion-at-point t)
    (remove-hook 'post-self-insert-hook #'promptls-complete-after-insert t)))

(defun promptls-gptel-send-prompt (prompt)
  "Send PROMPT in the gptel chat buffer of promptls."
  (let ((chat (gptel "*promptls chat*")))
    (with-current-buffer chat
      (goto-char (point-max))
      (insert prompt)
      ;; gptel would read presets, mentions and links in quoted files.
      (let ((gptel-prompt-transform-functions
             (seq-difference (default-value 'gptel-prompt-transform-functions)
                             '(gptel--transform-apply-preset promptls-gptel-transform)))
            (gptel-track-media nil))
        (gptel-send)))
    (pop-to-buffer chat)))

;;;; Tools

(defun promptls-gptel--call-tool (tool callback values)
  "Call TOOL, an element of `promptls-tools', with VALUES of its arguments.
Call CALLBACK with the text of the result or of the error."
  (let ((failed (lambda (_code text) (funcall callback (concat "Error: " text))))
        (arguments (cl-loop for argument in (plist-get tool :args)
                            for value in values
                            unless (memq value '(nil :null))
                            append (list (intern (concat ":" (plist-get argument :name))) value))))
    (condition-case err
        (promptls-request-async
         (promptls-connect) "promptls/callTool"
         (list :name (plist-get tool :name)
               :arguments (or arguments (make-hash-table)))
         (lambda (result) (funcall callback (plist-get result :text)))
         failed)
      (error (funcall failed nil (error-message-string err))))))

;;;###autoload
(defun promptls-gptel-tools ()
  "Return the tools of the server, for the variable `gptel-tools'."
  (require 'gptel)
  (mapcar (lambda (tool)
            (apply #'gptel-make-tool
                   :function (lambda (callback &rest values)
                               (promptls-gptel--call-tool tool callback values))
                   :async t
                   :category "promptls"
                   (copy-tree tool t)))
          promptls-tools))

;;;; The language model of gptel, for the server

(defun promptls-gptel-complete (params done failed)
  "Answer PARAMS of promptls/complete with the model of gptel.
Call DONE with the result, or FAILED with a message."
  (require 'gptel)
  (let (system turns)
    (dolist (message (plist-get params :messages))
      (push (plist-get message :content)
            (if (equal (plist-get message :role) "system") system turns)))
    ;; Not the current buffer: a chat may have its own model, tools and context.
    (with-current-buffer (get-buffer-create " *promptls gptel*")
      (let ((gptel-max-tokens (plist-get params :maxTokens))
            (gptel-use-context nil)
            (gptel-use-tools nil))
        (gptel-request (if (cdr turns) (nreverse turns) (car turns))
          :system (string-join (nreverse system) "\n\n")
          :stream nil
          :callback (lambda (response info)
                      (cond
                       ((stringp response) (funcall done (list :text response)))
                       ((consp response))
                       (t (funcall failed (format "gptel: %s" (or (plist-get info :status)
                                                                  "no response")))))))))))

(provide 'promptls-gptel)
;;; promptls-gptel.el ends here
