;;; sending.el --- Prompts sent to a server by gptel  -*- lexical-binding: t; -*-

;;; Commentary:

;; Runs in batch with gptel, or the fake of its interface, in the folders of
;; GPTEL_PATH, and a local server at CHAT_HOST.

;;; Code:

(load (expand-file-name "check.el" (file-name-directory load-file-name)) nil t)
(dolist (folder (parse-colon-path (getenv "GPTEL_PATH")))
  (add-to-list 'load-path folder))
(require 'promptls)
(require 'promptls-gptel)
(require 'gptel)
(require 'gptel-openai nil t)

(defvar gptel-backend)
(defvar gptel-model)
(defvar gptel-stream)
(declare-function gptel-make-openai "gptel" (name &rest options))
(declare-function gptel-send "gptel" (&optional arg))

(setq promptls-client 'eglot
      promptls-command (split-string (getenv "PROMPTLS_COMMAND"))
      gptel-stream nil
      gptel-model 'test
      gptel-backend (gptel-make-openai "test"
                      :host (getenv "CHAT_HOST") :protocol "http" :key "none"
                      :stream nil :models '(test)))

(defun sending-answered-p (buffer)
  "Return non-nil if the answer of the server is in BUFFER."
  (with-current-buffer buffer
    (string-match-p "Half up\\." (buffer-string))))

(switch-to-buffer (find-file-noselect (workspace "shop/cart.py")))
(let ((chat (gptel "*chat*")))
  (with-current-buffer chat
    (setq default-directory (workspace))
    (promptls-gptel-mode 1)
    (goto-char (point-max))
    (insert "How is it rounded? @#rounded")
    (gptel-send))
  (check-that "gptel shows the answer to a message with mentions"
    (wait-for (lambda () (sending-answered-p chat)) 60))
  (check-that "the chat shows the question and not the prompt"
    (with-current-buffer chat
      (and (string-match-p "@#rounded" (buffer-string))
           (not (string-match-p "def rounded" (buffer-string)))))))

(promptls-gptel-send-prompt "The built prompt.")
(check-that "gptel shows the answer to a prompt of the preview"
  (wait-for (lambda () (sending-answered-p "*promptls chat*")) 60))

(finish)
;;; sending.el ends here
