;;; promptls-gptel.el --- Mentions in chats of gptel  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; With `promptls-gptel-mode' in a chat buffer, what you send is built into a
;; prompt first: the code that your mentions name goes along.  The buffer keeps
;; what you typed.  The chat itself is sent by gptel as ever.

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
  "What becomes of a message with mentions.
With `replace' the built prompt is sent in its place, with `before' it
goes before the message."
  :type '(choice (const replace) (const before))
  :group 'promptls)

(defun promptls-gptel--last-message ()
  "Return (START . END) of what the user wrote last in this buffer."
  (save-excursion
    (goto-char (point-max))
    (let ((answer (text-property-search-backward 'gptel nil
                                                 (lambda (_ value) (not (null value))))))
      (cons (if answer (prop-match-end answer) (point-min)) (point-max)))))

(defun promptls-gptel--said (text chat)
  "Return TEXT without blanks and without what CHAT puts before each turn."
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
  "Return the history of the chat used last, without its last message."
  (when-let ((chat (seq-find (lambda (buffer) (buffer-local-value 'gptel-mode buffer))
                             (and (boundp 'gptel-mode) (buffer-list)))))
    (with-current-buffer chat
      (let ((end (car (promptls-gptel--last-message)))
            (at (point-min))
            turns)
        (while (< at end)
          (let* ((next (min end (or (next-single-property-change at 'gptel) end)))
                 (text (promptls-gptel--said (buffer-substring-no-properties at next)
                                             chat)))
            (unless (string-empty-p text)
              (push (list :role (if (eq (get-text-property at 'gptel) 'response)
                                    "assistant"
                                  "user")
                          :content text)
                    turns))
            (setq at next)))
        (vconcat (nreverse turns))))))

(defun promptls-gptel--apply (start end prompt)
  "Put PROMPT to the text from START to END, markers."
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
For `gptel-prompt-transform-functions'; FSM is gptel's request, whose
chat tells the project.  A message without mentions stays as it is."
  (pcase-let* ((prompt-buffer (current-buffer))
               (`(,start . ,end) (promptls-gptel--last-message))
               (chat (plist-get (gptel-fsm-info fsm) :buffer))
               (chat (if (buffer-live-p chat) chat prompt-buffer))
               (message (promptls-gptel--said (buffer-substring-no-properties start end) chat))
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
                   (promptls-gptel--apply start end (promptls-prompt-text result)))
                 (funcall done))
               (lambda (_code text)
                 (message "The message is sent without its mentions: %s" text)
                 (funcall done)))))
        (error
         (message "The message is sent without its mentions: %s" (error-message-string err))
         (funcall done))))))

;;;###autoload
(define-minor-mode promptls-gptel-mode
  "Send messages of this gptel chat with the code that they mention."
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
  "Send PROMPT, a built one, in a chat of its own."
  (let ((chat (gptel "*promptls chat*")))
    (with-current-buffer chat
      (goto-char (point-max))
      (insert prompt)
      (gptel-send))
    (pop-to-buffer chat)))

(provide 'promptls-gptel)
;;; promptls-gptel.el ends here
