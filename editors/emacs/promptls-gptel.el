;;; promptls-gptel.el --- Mentions in gptel chats  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; `promptls-gptel-mode' builds the messages of a gptel chat into prompts before
;; gptel sends them, so that the mentioned code is included.  The text of the
;; chat buffer is not modified.

;;; Code:

(require 'cl-lib)
(require 'text-property-search)
(require 'promptls)

(declare-function gptel "ext:gptel" (name &optional _ initial interactivep))
(declare-function gptel-send "ext:gptel" (&optional arg))
(declare-function gptel-prompt-prefix-string "ext:gptel" ())
(declare-function gptel-response-prefix-string "ext:gptel" ())
(declare-function gptel-fsm-info "ext:gptel-request" (fsm))
(defvar gptel-prompt-transform-functions)

(defcustom promptls-gptel-style 'replace
  "How the built prompt is combined with a message that has mentions.
With `replace', the prompt replaces the message.  With `before', the
prompt is inserted before the message."
  :type '(choice (const replace) (const before))
  :group 'promptls)

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
  "Insert PROMPT at START, or replace the text from START to END with it.
START and END are markers; see `promptls-gptel-style'."
  (when (buffer-live-p (marker-buffer start))
    (with-current-buffer (marker-buffer start)
      (save-excursion
        (goto-char start)
        (if (eq promptls-gptel-style 'before)
            (insert prompt "\n\n")
          (delete-region start end)
          (insert prompt))))))

(defun promptls-gptel-transform (done fsm)
  "Build the last message of this buffer into a prompt, then call DONE.
A `gptel-prompt-transform-functions' function.  FSM is the gptel request;
its chat buffer determines the project.  A message without mentions is
not modified."
  (pcase-let* ((prompt-buffer (current-buffer))
               (`(,start . ,end) (promptls-gptel--last-message))
               (chat (plist-get (gptel-fsm-info fsm) :buffer))
               (chat (if (buffer-live-p chat) chat prompt-buffer))
               (message (promptls-gptel--strip-prefix
                         (buffer-substring-no-properties start end) chat))
               (start (copy-marker start))
               (end (copy-marker end t)))
    (if (not (string-match-p "@" message))
        (funcall done)
      (condition-case err
          (with-current-buffer chat
            (let ((connection (promptls-connect)))
              (promptls-request-async
               connection "promptls/buildPrompt"
               (list :message message :context (promptls-context connection))
               (lambda (result)
                 (when (plist-get result :mentions)
                   (promptls-gptel--insert-prompt start end (promptls-prompt-text result)))
                 (funcall done))
               (lambda (_code text)
                 (message "Sending the message without the mentioned code: %s" text)
                 (funcall done)))))
        (error
         (message "Sending the message without the mentioned code: %s"
                  (error-message-string err))
         (funcall done))))))

;;;###autoload
(define-minor-mode promptls-gptel-mode
  "Toggle inclusion of mentioned code in the messages of this gptel chat."
  :lighter " @"
  :group 'promptls
  (if promptls-gptel-mode
      (progn
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
      (gptel-send))
    (pop-to-buffer chat)))

(provide 'promptls-gptel)
;;; promptls-gptel.el ends here
