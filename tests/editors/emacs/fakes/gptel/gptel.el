;;; gptel.el --- Fake of the documented interface of gptel  -*- lexical-binding: t; -*-

;;; Commentary:

;; Chats that are sent to an OpenAI-compatible server without streaming, after the
;; functions of `gptel-prompt-transform-functions' have changed a copy of the chat.

;;; Code:

(require 'cl-lib)
(require 'json)
(require 'url)

(defvar gptel-backend nil "URL of the server.")
(defvar gptel-model 'test "Name of the model.")
(defvar gptel-stream nil "Whether responses are streamed.")
(defvar gptel-prompt-transform-functions nil "Functions that change a copy of the chat.")
(defvar-local gptel-mode nil "Whether the buffer is a chat.")

(cl-defun gptel-make-openai (_name &key host protocol &allow-other-keys)
  "Return the backend at HOST with PROTOCOL."
  (format "%s://%s/v1/chat/completions" protocol host))

(defun gptel (name &rest _)
  "Return the chat buffer NAME."
  (with-current-buffer (get-buffer-create name)
    (setq gptel-mode t)
    (current-buffer)))

(defun gptel-prompt-prefix-string () "Return the prefix of user messages." "### ")
(defun gptel-response-prefix-string () "Return the prefix of responses." "")
(defun gptel-fsm-info (fsm) "Return the properties of the request FSM." fsm)

(defun gptel-send (&optional _)
  "Send the last message of the chat."
  (let ((chat (current-buffer))
        (functions (remq t gptel-prompt-transform-functions))
        (copy (generate-new-buffer " *gptel-prompt*")))
    (copy-to-buffer copy (point-min) (point-max))
    (with-current-buffer copy
      (gptel--transform functions (list :buffer chat) (lambda () (gptel--request copy chat))))))

(defun gptel--transform (functions info done)
  "Call FUNCTIONS with INFO one after the other, then DONE."
  (if (null functions)
      (funcall done)
    (let ((buffer (current-buffer)))
      (funcall (car functions)
               (lambda () (with-current-buffer buffer (gptel--transform (cdr functions) info done)))
               info))))

(defun gptel--request (prompt chat)
  "Send the text of the buffer PROMPT and add the answer to CHAT."
  (let ((content (with-current-buffer prompt (buffer-substring-no-properties (point-min) (point-max)))))
    (kill-buffer prompt)
    (gptel--post (list (list :role "user" :content content))
                 (lambda (answer)
                   (with-current-buffer chat
                     (goto-char (point-max))
                     (insert "\n\n" (propertize answer 'gptel 'response) "\n\n### "))))))

(cl-defun gptel-request (prompt &key callback system &allow-other-keys)
  "Send PROMPT, a text, with SYSTEM; call CALLBACK with the answer."
  (gptel--post (list (list :role "system" :content system) (list :role "user" :content prompt))
               (lambda (answer) (funcall callback answer nil))))

(defun gptel--post (messages done)
  "Send MESSAGES to the server and call DONE with the answer."
  (let* ((messages (vconcat messages))
         (url-request-method "POST")
         (url-request-extra-headers '(("Content-Type" . "application/json")))
         (url-request-data
          (encode-coding-string (json-encode (list :model gptel-model :messages messages)) 'utf-8)))
    (url-retrieve
     gptel-backend
     (lambda (_)
       (goto-char (point-min))
       (search-forward "\n\n")
       (let* ((choice (aref (alist-get 'choices (json-read)) 0))
              (answer (alist-get 'content (alist-get 'message choice))))
         (funcall done answer))))))

(cl-defstruct gptel-tool function name description args async category)

(defun gptel-make-tool (&rest slots)
  "Return the tool with SLOTS."
  (apply #'make-gptel-tool slots))

(provide 'gptel)
;;; gptel.el ends here
