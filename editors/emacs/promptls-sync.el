;;; promptls-sync.el --- Synchronization of unsaved edits  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; An LSP client synchronizes only the buffers that it manages; for promptls,
;; these are the prompt documents.  Code buffers are managed by their own
;; language server (Eglot supports one server per buffer) or by none.
;;
;; `promptls-sync-mode' opens the code buffers of the project at the promptls
;; server (textDocument/didOpen).  It sends edits after an idle delay and before
;; each request.

;;; Code:

(require 'seq)
(require 'promptls-server)
(require 'promptls-context)

(defcustom promptls-sync-automatically t
  "Whether to enable `promptls-sync-mode' when a server starts."
  :type 'boolean
  :group 'promptls)

(defcustom promptls-sync-max-size 1000000
  "Maximum buffer size in characters; larger buffers are read from disk."
  :type 'natnum
  :group 'promptls)

(defcustom promptls-sync-delay 0.5
  "Idle time in seconds after which edits are sent."
  :type 'number
  :group 'promptls)

(defvar-local promptls-sync--connection nil
  "The connection at which `promptls-sync-mode' has opened this buffer.")
(defvar-local promptls-sync--uri nil
  "The URI under which this buffer is open.")
(defvar-local promptls-sync--version 0
  "The document version of the text sent last.")
(defvar-local promptls-sync--dirty nil
  "Non-nil if the text has changed since it was sent last.")

(defvar promptls-sync--timer nil
  "The idle timer that sends edits.")

(defun promptls-sync--text ()
  "Return the whole text of this buffer."
  (save-restriction
    (widen)
    (buffer-substring-no-properties (point-min) (point-max))))

(defun promptls-sync--language ()
  "Return the LSP language id of this buffer."
  (let ((name (string-remove-suffix "-mode" (symbol-name major-mode))))
    (pcase name
      ("gfm" "markdown")
      (_ (string-remove-suffix "-ts" name)))))

(defun promptls-sync--open-p ()
  "Return non-nil if `promptls-sync-mode' has opened this buffer at a live server."
  (and promptls-sync--connection
       (promptls-connection-live-p promptls-sync--connection)))

(defun promptls-sync--decoded-p (buffer)
  "Return non-nil if Emacs has decoded the text of BUFFER.
Binary files and files with an invalid encoding are read by the server."
  (let ((coding (buffer-local-value 'buffer-file-coding-system buffer)))
    (not (and coding (eq 'raw-text (coding-system-type coding))))))

(defun promptls-sync--syncable-p (buffer connection)
  "Return non-nil if `promptls-sync-mode' should open BUFFER at CONNECTION."
  (and (not (string-prefix-p " " (buffer-name buffer)))
       (not (buffer-base-buffer buffer))
       (promptls-sync--decoded-p buffer)
       (<= (buffer-size buffer) promptls-sync-max-size)
       (promptls-code-buffer-p buffer connection)
       (not (promptls-connection-manages-p connection buffer))))

(defun promptls-sync--open (connection)
  "Open the current buffer at CONNECTION."
  (let ((uri (promptls-buffer-uri connection (current-buffer))))
    (promptls-connection-notify connection "textDocument/didOpen"
                                (list :textDocument
                                      (list :uri uri
                                            :languageId (promptls-sync--language)
                                            :version 0
                                            :text (promptls-sync--text))))
    (setq promptls-sync--connection connection
          promptls-buffer-connection connection
          promptls-sync--uri uri
          promptls-sync--version 0
          promptls-sync--dirty nil))
  (add-hook 'after-change-functions #'promptls-sync--after-change nil t)
  (add-hook 'after-save-hook #'promptls-sync--after-save nil t)
  (add-hook 'after-revert-hook #'promptls-sync--mark-dirty nil t)
  (add-hook 'kill-buffer-hook #'promptls-sync--close nil t)
  (add-hook 'change-major-mode-hook #'promptls-sync--close nil t)
  (add-hook 'after-set-visited-file-name-hook #'promptls-sync--after-rename nil t))

(defun promptls-sync--close ()
  "Close the current buffer at its server."
  (when (promptls-sync--open-p)
    (with-demoted-errors "promptls: %S"
      (promptls-connection-notify promptls-sync--connection "textDocument/didClose"
                                  (list :textDocument (list :uri promptls-sync--uri)))))
  (setq promptls-sync--connection nil
        promptls-buffer-connection nil
        promptls-sync--dirty nil)
  (remove-hook 'after-change-functions #'promptls-sync--after-change t)
  (remove-hook 'after-save-hook #'promptls-sync--after-save t)
  (remove-hook 'after-revert-hook #'promptls-sync--mark-dirty t)
  (remove-hook 'kill-buffer-hook #'promptls-sync--close t)
  (remove-hook 'change-major-mode-hook #'promptls-sync--close t)
  (remove-hook 'after-set-visited-file-name-hook #'promptls-sync--after-rename t))

(defun promptls-sync--mark-dirty ()
  "Mark this buffer as changed and start the idle timer."
  (setq promptls-sync--dirty t)
  (unless (timerp promptls-sync--timer)
    (setq promptls-sync--timer
          (run-with-idle-timer promptls-sync-delay nil #'promptls-sync--send-all))))

(defun promptls-sync--after-change (&rest _)
  "Mark this buffer as changed; for `after-change-functions'."
  (promptls-sync--mark-dirty))

(defun promptls-sync--after-save ()
  "Send pending edits and textDocument/didSave; for `after-save-hook'."
  (when (promptls-sync--open-p)
    (promptls-sync--send)
    (promptls-connection-notify promptls-sync--connection "textDocument/didSave"
                                (list :textDocument (list :uri promptls-sync--uri)))))

(defun promptls-sync--after-rename ()
  "Reopen this buffer under its new file name."
  (promptls-sync--close)
  (promptls-sync--update-buffer))

(defun promptls-sync--send ()
  "Send the text of this buffer if it has changed (textDocument/didChange)."
  (when (and promptls-sync--dirty (promptls-sync--open-p))
    (setq promptls-sync--dirty nil
          promptls-sync--version (1+ promptls-sync--version))
    (promptls-connection-notify
     promptls-sync--connection "textDocument/didChange"
     (list :textDocument (list :uri promptls-sync--uri :version promptls-sync--version)
           ;; The whole text is independent of the position encoding.
           :contentChanges (vector (list :text (promptls-sync--text)))))))

(defun promptls-sync--send-all ()
  "Send the edits of all buffers; called by the idle timer."
  (setq promptls-sync--timer nil)
  (dolist (buffer (buffer-list))
    (when (buffer-local-value 'promptls-sync--dirty buffer)
      (with-current-buffer buffer
        (with-demoted-errors "promptls: %S"
          (promptls-sync--send))))))

(defun promptls-sync--update-buffer ()
  "Open or close the current buffer at its server as required."
  (when buffer-file-name
    (let ((connection (promptls-connection)))
      (cond
       ((and connection
             (promptls-connection-ready-p connection)
             (promptls-sync--syncable-p (current-buffer) connection))
        (unless (and (promptls-sync--open-p)
                     (eq connection promptls-sync--connection))
          (when (promptls-instruction-buffer-p)
            (promptls-connection-manage connection))
          (unless (promptls-connection-manages-p connection (current-buffer))
            (promptls-sync--open connection))))
       (promptls-sync--connection
        (promptls-sync--close))))))

(defun promptls-sync-buffers (connection)
  "Open the code buffers of CONNECTION and send their pending edits."
  (dolist (buffer (promptls-code-buffers connection))
    (with-current-buffer buffer
      (unless (and (eq connection promptls-sync--connection)
                   (not (promptls-connection-manages-p connection buffer)))
        (promptls-sync--update-buffer))
      (promptls-sync--send))))

(defun promptls-sync--connected (connection)
  "Open the code buffers of the project at the new CONNECTION."
  (cond
   (promptls-sync-mode (promptls-sync-buffers connection))
   (promptls-sync-automatically (promptls-sync-mode 1))))

(defun promptls-sync--file-visited ()
  "Open the current buffer at its server; for `find-file-hook'."
  ;; The server may exit at any time, and an error here would abort `find-file'.
  (with-demoted-errors "promptls: %S"
    (when (promptls-connections)
      (promptls-sync--update-buffer))))

;;;###autoload
(define-minor-mode promptls-sync-mode
  "Synchronize the file buffers of a project with its promptls server.
Prompts then include unsaved edits.  The mode is independent of other
language servers of the buffers."
  :global t
  :group 'promptls
  :lighter (:eval (promptls-mode-line))
  (if promptls-sync-mode
      (progn
        (add-hook 'find-file-hook #'promptls-sync--file-visited)
        (add-hook 'promptls-before-request-functions #'promptls-sync-buffers)
        (mapc #'promptls-sync-buffers
              (seq-filter #'promptls-connection-ready-p (promptls-connections))))
    (remove-hook 'find-file-hook #'promptls-sync--file-visited)
    (remove-hook 'promptls-before-request-functions #'promptls-sync-buffers)
    (dolist (buffer (buffer-list))
      (with-current-buffer buffer
        (when promptls-sync--connection
          (promptls-sync--close))))))

(add-hook 'promptls-connected-functions #'promptls-sync--connected)

(provide 'promptls-sync)
;;; promptls-sync.el ends here
