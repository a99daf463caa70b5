;;; gptel.el --- Fake of the interface of gptel 0.9.9.5  -*- lexical-binding: t; -*-

;;; Commentary:

;; Chats that are sent to an OpenAI-compatible server without streaming, after the
;; functions of `gptel-prompt-transform-functions' have changed a copy of the chat, as in
;; gptel 0.9.9.5 (commit cd2cd73).  Set PROMPTLS_GPTEL to test with gptel itself.

;;; Code:

(require 'cl-lib)
(require 'json)
(require 'text-property-search)
(require 'url)

(defvar gptel-backend nil "URL of the server.")
(defvar gptel-model 'test "Name of the model.")
(defvar gptel-stream nil "Whether responses are streamed.")
(defvar gptel-track-media nil "Whether files of links are sent.")
(defvar gptel-use-context nil "Where the context is inserted.")
(defvar gptel-prompt-transform-functions '(gptel--transform-apply-preset)
  "Functions that change a copy of the chat.")
(defvar gptel--known-presets nil "Alist of presets and their functions.")
(defvar-local gptel-mode nil "Whether the buffer is a chat.")

(cl-defun gptel-make-openai (_name &key host protocol &allow-other-keys)
  "Return the backend at HOST with PROTOCOL."
  (format "%s://%s/v1/chat/completions" protocol host))

(cl-defun gptel-make-preset (name &key pre &allow-other-keys)
  "Register the preset NAME, which calls PRE."
  (push (cons (symbol-name name) pre) gptel--known-presets))

(defun gptel (name &rest _)
  "Return the chat buffer NAME."
  (with-current-buffer (get-buffer-create name)
    (unless gptel-mode
      (setq gptel-mode t)
      (insert (gptel-prompt-prefix-string)))
    (current-buffer)))

(defun gptel-prompt-prefix-string () "Return the prefix of user messages." "### ")
(defun gptel-response-prefix-string () "Return the prefix of responses." "")
(defun gptel-fsm-info (fsm) "Return the properties of the request FSM." fsm)

(defun gptel--transform-apply-preset (_fsm)
  "Apply the presets that the last message names."
  (text-property-search-backward 'gptel nil t)
  (while (re-search-forward "@\\([^[:space:]]+\\)\\_>" nil t)
    (when-let ((preset (assoc (match-string 1) gptel--known-presets)))
      (replace-match "")
      (funcall (cdr preset)))))

(defun gptel-send (&optional _)
  "Send the chat up to point."
  (let ((chat (current-buffer))
        (functions (if (memq t gptel-prompt-transform-functions)
                       (append (remq t gptel-prompt-transform-functions)
                               (default-value 'gptel-prompt-transform-functions))
                     gptel-prompt-transform-functions))
        (copy (generate-new-buffer " *gptel-prompt*"))
        (count 0))
    (copy-to-buffer copy (point-min) (point))
    (with-current-buffer copy
      (dolist (function (or functions (list #'ignore)))
        (let ((done (lambda ()
                      (when (>= (cl-incf count) (length functions))
                        (gptel--request copy chat)))))
          (with-current-buffer copy
            (goto-char (point-max))
            (if (= 2 (car (func-arity function)))
                (funcall function done (list :buffer chat))
              (funcall function (list :buffer chat))
              (funcall done))))))))

(defun gptel--request (prompt chat)
  "Send the turns of the buffer PROMPT and add the answer to CHAT."
  (let ((messages nil))
    (with-current-buffer prompt
      (goto-char (point-min))
      (while (not (eobp))
        (let* ((role (if (get-text-property (point) 'gptel) "assistant" "user"))
               (end (or (next-single-property-change (point) 'gptel) (point-max)))
               (text (string-trim (buffer-substring-no-properties (point) end) "[ \n#]*")))
          (push (list :role role :content text) messages)
          (goto-char end))))
    (kill-buffer prompt)
    (gptel--post (nreverse messages)
                 (lambda (answer)
                   (with-current-buffer chat
                     (goto-char (point-max))
                     (insert "\n\n" (propertize answer 'gptel 'response) "\n\n"
                             (gptel-prompt-prefix-string)))))))

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
