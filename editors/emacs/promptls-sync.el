;;; promptls-sync.el --- The server sees unsaved edits of all buffers  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; An LSP client tells the server only of the buffers that it manages: here the
;; prompt documents.  The code that prompts are about belongs to servers of its
;; own language (with Eglot a buffer can have one server only), or to none.  So
;; this minor mode opens the other file buffers of the project at the server
;; and sends their edits: after a short rest, and before each request.

;;; Code:

(require 'seq)
(require 'promptls-server)
(require 'promptls-context)

(defcustom promptls-sync-automatically t
  "Whether `promptls-sync-mode' is turned on when a server has started."
  :type 'boolean
  :group 'promptls)

(defcustom promptls-sync-max-size 1000000
  "Characters; larger buffers are not sent, the server reads their files."
  :type 'natnum
  :group 'promptls)

(defcustom promptls-sync-delay 0.5
  "Seconds of rest after which edits are sent."
  :type 'number
  :group 'promptls)

(defvar-local promptls-sync--connection nil
  "The connection that this buffer is open at, by us.")
(defvar-local promptls-sync--uri nil
  "The uri under which this buffer is open.")
(defvar-local promptls-sync--version 0
  "The version of the text that was sent last.")
(defvar-local promptls-sync--dirty nil
  "Non-nil if the text has changed since it was sent.")

(defvar promptls-sync--timer nil
  "The idle timer that sends edits.")

(defun promptls-sync--text ()
  "Return the whole text of this buffer."
  (save-restriction
    (widen)
    (buffer-substring-no-properties (point-min) (point-max))))

(defun promptls-sync--language ()
  "Return the language id of this buffer."
  (let ((name (string-remove-suffix "-mode" (symbol-name major-mode))))
    (pcase name
      ("gfm" "markdown")
      (_ (string-remove-suffix "-ts" name)))))

(defun promptls-sync--open-p ()
  "Return non-nil if this buffer is open at a living server, by us."
  (and promptls-sync--connection
       (promptls-connection-live-p promptls-sync--connection)))

(defun promptls-sync--decoded-p (buffer)
  "Return non-nil if Emacs knows the encoding of BUFFER's file.
A picture or a broken file is bytes to it; the server reads those itself."
  (let ((coding (buffer-local-value 'buffer-file-coding-system buffer)))
    (not (and coding (eq 'raw-text (coding-system-type coding))))))

(defun promptls-sync--wanted-p (buffer connection)
  "Return non-nil if BUFFER should be open at CONNECTION by us."
  (and (not (string-prefix-p " " (buffer-name buffer)))
       (not (buffer-base-buffer buffer))
       (promptls-sync--decoded-p buffer)
       (<= (buffer-size buffer) promptls-sync-max-size)
       (promptls-code-buffer-p buffer connection)
       (not (promptls-connection-manages-p connection buffer))))

(defun promptls-sync--open (connection)
  "Open the current buffer at CONNECTION."
  (let ((uri (promptls-buffer-uri connection (current-buffer))))
    (promptls-connection-tell connection "textDocument/didOpen"
                              (list :textDocument
                                    (list :uri uri
                                          :languageId (promptls-sync--language)
                                          :version 0
                                          :text (promptls-sync--text))))
    (setq promptls-sync--connection connection
          promptls-own-connection connection
          promptls-sync--uri uri
          promptls-sync--version 0
          promptls-sync--dirty nil))
  (add-hook 'after-change-functions #'promptls-sync--changed nil t)
  (add-hook 'after-save-hook #'promptls-sync--saved nil t)
  (add-hook 'after-revert-hook #'promptls-sync--mark nil t)
  (add-hook 'kill-buffer-hook #'promptls-sync--close nil t)
  (add-hook 'change-major-mode-hook #'promptls-sync--close nil t)
  (add-hook 'after-set-visited-file-name-hook #'promptls-sync--renamed nil t))

(defun promptls-sync--close ()
  "Close the current buffer at its server."
  (when (promptls-sync--open-p)
    (with-demoted-errors "promptls: %S"
      (promptls-connection-tell promptls-sync--connection "textDocument/didClose"
                                (list :textDocument (list :uri promptls-sync--uri)))))
  (setq promptls-sync--connection nil
        promptls-own-connection nil
        promptls-sync--dirty nil)
  (remove-hook 'after-change-functions #'promptls-sync--changed t)
  (remove-hook 'after-save-hook #'promptls-sync--saved t)
  (remove-hook 'after-revert-hook #'promptls-sync--mark t)
  (remove-hook 'kill-buffer-hook #'promptls-sync--close t)
  (remove-hook 'change-major-mode-hook #'promptls-sync--close t)
  (remove-hook 'after-set-visited-file-name-hook #'promptls-sync--renamed t))

(defun promptls-sync--mark ()
  "Note that the text of this buffer has to be sent."
  (setq promptls-sync--dirty t)
  (unless (timerp promptls-sync--timer)
    (setq promptls-sync--timer
          (run-with-idle-timer promptls-sync-delay nil #'promptls-sync--rest))))

(defun promptls-sync--changed (&rest _)
  "Note that the text of this buffer has to be sent."
  (promptls-sync--mark))

(defun promptls-sync--saved ()
  "Tell the server that this buffer was saved."
  (when (promptls-sync--open-p)
    (promptls-sync--send)
    (promptls-connection-tell promptls-sync--connection "textDocument/didSave"
                              (list :textDocument (list :uri promptls-sync--uri)))))

(defun promptls-sync--renamed ()
  "Open this buffer under its new name."
  (promptls-sync--close)
  (promptls-sync--look))

(defun promptls-sync--send ()
  "Send the text of this buffer if it has changed."
  (when (and promptls-sync--dirty (promptls-sync--open-p))
    (setq promptls-sync--dirty nil)
    (promptls-connection-tell promptls-sync--connection "textDocument/didChange"
                              (list :textDocument
                                    (list :uri promptls-sync--uri
                                          :version (setq promptls-sync--version
                                                         (1+ promptls-sync--version)))
                                    ;; The whole text: right in every position encoding.
                                    :contentChanges (vector (list :text (promptls-sync--text)))))))

(defun promptls-sync--rest ()
  "Send all edits; called when the user rests."
  (setq promptls-sync--timer nil)
  (dolist (buffer (buffer-list))
    (when (buffer-local-value 'promptls-sync--dirty buffer)
      (with-current-buffer buffer
        (with-demoted-errors "promptls: %S"
          (promptls-sync--send))))))

(defun promptls-sync--look ()
  "Open the current buffer if a server wants it, close it if none does any more."
  (when buffer-file-name
    (let ((connection (promptls-connection)))
      (cond
       ((and connection
             (promptls-connection-ready-p connection)
             (promptls-sync--wanted-p (current-buffer) connection))
        (unless (and (promptls-sync--open-p)
                     (eq connection promptls-sync--connection))
          (promptls-sync--open connection)))
       (promptls-sync--connection
        (promptls-sync--close))))))

(defun promptls-sync-buffers (connection)
  "Open all buffers that CONNECTION should know, and send their edits."
  (dolist (buffer (promptls-code-buffers connection))
    (with-current-buffer buffer
      (unless (and (eq connection promptls-sync--connection)
                   (not (promptls-connection-manages-p connection buffer)))
        (promptls-sync--look))
      (promptls-sync--send))))

(defun promptls-sync--connected (connection)
  "Open the buffers of the project at CONNECTION, which is new."
  (cond
   (promptls-sync-mode (promptls-sync-buffers connection))
   (promptls-sync-automatically (promptls-sync-mode 1))))

(defun promptls-sync--found ()
  "Look at a buffer that has just visited a file."
  ;; An error here would keep the user from the file: a server may die at any time.
  (with-demoted-errors "promptls: %S"
    (when (promptls-connections)
      (promptls-sync--look))))

;;;###autoload
(define-minor-mode promptls-sync-mode
  "Keep the promptls server informed of all file buffers of its project.
Unsaved edits then count in every prompt, whichever language server the
buffers have beside it."
  :global t
  :group 'promptls
  :lighter (:eval (promptls-mode-line))
  (if promptls-sync-mode
      (progn
        (add-hook 'find-file-hook #'promptls-sync--found)
        (add-hook 'promptls-before-request-functions #'promptls-sync-buffers)
        (mapc #'promptls-sync-buffers
              (seq-filter #'promptls-connection-ready-p (promptls-connections))))
    (remove-hook 'find-file-hook #'promptls-sync--found)
    (remove-hook 'promptls-before-request-functions #'promptls-sync-buffers)
    (dolist (buffer (buffer-list))
      (with-current-buffer buffer
        (when promptls-sync--connection
          (promptls-sync--close))))))

(add-hook 'promptls-connected-functions #'promptls-sync--connected)

(provide 'promptls-sync)
;;; promptls-sync.el ends here
