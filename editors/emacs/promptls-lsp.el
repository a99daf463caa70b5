;;; promptls-lsp.el --- Backend of promptls for lsp-mode  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Registers the server with lsp-mode and implements the generic functions of
;; promptls-server.el for lsp-mode.  `promptls-client-load' loads this file after
;; lsp-mode.
;;
;; The client is an add-on: in the modes of `promptls-lsp-modes' (Markdown or
;; commit messages, for example) it runs in addition to the mode's own server.

;;; Code:

(require 'cl-lib)
(require 'promptls-server)
(require 'promptls-context)
(require 'promptls-lens)
(require 'promptls-page)

(declare-function lsp "ext:lsp-mode" (&optional arg))
(declare-function lsp--flush-delayed-changes "ext:lsp-mode" ())
(declare-function lsp--path-to-uri "ext:lsp-mode" (path))
(declare-function lsp--client-capabilities "ext:lsp-mode" (&optional custom-capabilities))
(declare-function lsp--session-workspaces "ext:lsp-mode" (session))
(declare-function lsp--versioned-text-document-identifier "ext:lsp-mode" ())
(declare-function lsp--workspace-buffers "ext:lsp-mode" (workspace))
(declare-function lsp--workspace-client "ext:lsp-mode" (workspace))
(declare-function lsp--workspace-cmd-proc "ext:lsp-mode" (workspace))
(declare-function lsp--workspace-root "ext:lsp-mode" (workspace))
(declare-function lsp--workspace-server-capabilities "ext:lsp-mode" (workspace))
(declare-function lsp--workspace-status "ext:lsp-mode" (workspace))
(declare-function lsp--client-server-id "ext:lsp-mode" (client))
(declare-function lsp--suggest-project-root "ext:lsp-mode" ())
(declare-function lsp-workspace-folders-add "ext:lsp-mode" (project-root))
(declare-function lsp-cancel-request-by-token "ext:lsp-mode" (cancel-token))
(declare-function lsp-find-session-folder "ext:lsp-mode" (session file-name))
(declare-function lsp-notify "ext:lsp-mode" (method params))
(declare-function lsp-register-client "ext:lsp-mode" (client))
(declare-function lsp-register-custom-settings "ext:lsp-mode" (props))
(declare-function lsp-request-async "ext:lsp-mode" (method params callback &rest rest))
(declare-function lsp-session "ext:lsp-mode" ())
(declare-function lsp-stdio-connection "ext:lsp-mode" (command &optional test-command))
(declare-function lsp-workspace-folders "ext:lsp-mode" (workspace))
(declare-function lsp-workspace-restart "ext:lsp-mode" (workspace))
(declare-function make-lsp-client "ext:lsp-mode" (&rest args))
(declare-function promptls-completion-at-point "promptls-complete" ())
(defvar lsp--cur-workspace)
(defvar lsp-auto-guess-root)
(defvar lsp-enable-file-watchers)
(defvar lsp-enabled-clients)
(defvar lsp-lens-enable)
(defvar lsp-language-id-configuration)

(defcustom promptls-lsp-multi-root nil
  "Whether one server handles all folders of the lsp-mode session.
If non-nil, questions search all folders.  If nil, each project has its
own server."
  :type 'boolean
  :group 'promptls)

(defcustom promptls-lsp-modes nil
  "Additional modes in which mentions are supported.
For example (markdown-mode gfm-mode git-commit-mode).  Add the language
ids to `promptls-documents-languages' as well."
  :type '(repeat symbol)
  :group 'promptls)

;;;; Registration

(defun promptls-lsp--activate-p (file mode)
  "Return non-nil if promptls should manage FILE in MODE."
  (or (provided-mode-derived-p mode 'promptls-mode)
      (and file (string-match-p promptls-file-regexp file))
      (promptls-instruction-buffer-p)
      (memq mode promptls-lsp-modes)
      (seq-some (lambda (minor) (and (boundp minor) (symbol-value minor)))
                promptls-lsp-modes)))

(defun promptls-lsp--setting-function (variable shape)
  "Return a getter for the workspace value of VARIABLE, of type SHAPE.
The getter returns nil if the server was started with the same value."
  (lambda ()
    (unless (equal (symbol-value variable) (promptls-initial-value variable))
      (promptls-setting-to-json (symbol-value variable) shape))))

(defun promptls-lsp--hash-table (&rest pairs)
  "Return a hash table of PAIRS, alternating names and functions."
  (let ((table (make-hash-table :test #'equal)))
    (cl-loop for (name function) on pairs by #'cddr
             do (puthash name function table))
    table))

(defun promptls-lsp--run-command (action)
  "Run ACTION, a promptls command."
  (let ((action (promptls-normalize-json action)))
    (promptls-run-command (plist-get action :command) (plist-get action :arguments))))

;; lsp-mode appends the capabilities of a client to its own, so that they cannot
;; change its workspace capabilities.
(defun promptls-lsp--declare-pages (capabilities)
  "Add the capability textDocumentContent to CAPABILITIES if they are of promptls."
  (if (alist-get 'promptls (alist-get 'experimental capabilities))
      (cons `(workspace (textDocumentContent . ((dynamicRegistration . :json-false)))
                        ,@(alist-get 'workspace capabilities))
            (assq-delete-all 'workspace (copy-sequence capabilities)))
    capabilities))

(advice-add 'lsp--client-capabilities :filter-return #'promptls-lsp--declare-pages)

(defun promptls-lsp-register ()
  "Register the server with lsp-mode."
  (add-to-list 'lsp-language-id-configuration '(promptls-mode . "promptls"))
  (add-to-list 'lsp-language-id-configuration '("\\.prompt\\(?:ls\\)?\\.md\\'" . "promptls"))
  (add-to-list 'lsp-language-id-configuration (cons promptls-instruction-regexp "markdown"))
  (add-to-list 'lsp-language-id-configuration '("/COMMIT_EDITMSG\\'" . "git-commit"))
  (lsp-register-custom-settings
   (cl-loop for (name variable shape . marks) in promptls-settings
            unless (memq 'trusted marks)
            collect (list (concat "promptls." name)
                          (promptls-lsp--setting-function variable shape))))
  (lsp-register-client
   (make-lsp-client
    :new-connection (lsp-stdio-connection
                     (lambda () (promptls-command-line "serve" (ignore-errors (promptls-root))))
                     (lambda () (promptls-find-program (ignore-errors (promptls-root)))))
    :activation-fn #'promptls-lsp--activate-p
    :server-id 'promptls
    :add-on? t
    :priority -1
    :multi-root promptls-lsp-multi-root
    :completion-in-comments? t
    :initialization-options #'promptls-initialization-options
    :custom-capabilities `((experimental
                            . ((promptls . ((clientContext . t)
                                            (complete . ,(promptls-complete-capability)))))))
    :initialized-fn #'promptls-connected
    :notification-handlers (promptls-lsp--hash-table
                            "promptls/statusChanged" #'promptls-record-status)
    :request-handlers (promptls-lsp--hash-table
                       "promptls/clientContext"
                       (lambda (workspace params)
                         (promptls-client-context
                          workspace (plist-get (promptls-normalize-json params) :kinds)))
                       "workspace/textDocumentContent/refresh"
                       (lambda (workspace params)
                         (promptls-page-refresh
                          workspace (plist-get (promptls-normalize-json params) :uri))
                         nil))
    ;; lsp-mode cannot send an error later; the server reports an empty answer.
    :async-request-handlers (promptls-lsp--hash-table
                             "promptls/complete"
                             (lambda (_workspace params done)
                               (promptls-complete params done
                                                  (lambda (text)
                                                    (message "promptls: %s" text)
                                                    (funcall done (list :text ""))))))
    :action-handlers (promptls-lsp--hash-table
                      "promptls.openPrompt" #'promptls-lsp--run-command
                      "promptls.copyPrompt" #'promptls-lsp--run-command))))

;; lsp-mode replaces the completion functions of the buffer.  The function of
;; promptls keeps the server's matching, so it must come first.
(defun promptls-lsp--prioritize-completion ()
  "Move `promptls-completion-at-point' to the front in prompt documents."
  (when (derived-mode-p 'promptls-mode)
    (remove-hook 'completion-at-point-functions #'promptls-completion-at-point t)
    (add-hook 'completion-at-point-functions #'promptls-completion-at-point -50 t)))

(add-hook 'lsp-completion-mode-hook #'promptls-lsp--prioritize-completion)

;; lsp-mode before version 9 counts positions in characters instead of UTF-16
;; code units, so that the server's text differs after an edit next to an emoji.
;; The workaround is to send the whole text again.
(defvar-local promptls-lsp--non-bmp nil
  "Non-nil if this buffer has contained a character outside the BMP.")
(defvar-local promptls-lsp--out-of-sync nil
  "Non-nil if the whole text has to be sent again.")

(defun promptls-lsp--after-change (start end _length)
  "Schedule a full synchronization if START to END has non-BMP characters."
  (unless promptls-lsp--non-bmp
    (setq promptls-lsp--non-bmp
          (save-excursion
            (goto-char start)
            (re-search-forward "[^\u0000-\uffff]" end t))))
  (when promptls-lsp--non-bmp
    (setq promptls-lsp--out-of-sync t)
    (let ((buffer (current-buffer)))
      (run-with-idle-timer 0.2 nil (lambda () (promptls-lsp--resend buffer))))))

(defun promptls-lsp--resend (buffer)
  "Send the whole text of BUFFER if the server's copy may be out of sync."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (let ((workspace promptls-buffer-connection))
        (when (and promptls-lsp--out-of-sync workspace
                   (promptls-connection-live-p workspace)
                   (promptls-connection-manages-p workspace buffer))
          (setq promptls-lsp--out-of-sync nil)
          (promptls-connection-notify
           workspace "textDocument/didChange"
           (list :textDocument (lsp--versioned-text-document-identifier)
                 :contentChanges (vector (list :text (save-restriction
                                                       (widen)
                                                       (buffer-substring-no-properties
                                                        (point-min) (point-max))))))))))))

(defun promptls-lsp--after-open ()
  "Show code lenses and install the workaround for non-BMP characters."
  (when (or (derived-mode-p 'promptls-mode) (promptls-instruction-buffer-p))
    (promptls-lens-show (promptls-connection))
    (when (and promptls-buffer-connection
               (equal "utf-16" (promptls-connection-encoding promptls-buffer-connection))
               (not (assq 'general (lsp--client-capabilities))))
      (add-hook 'after-change-functions #'promptls-lsp--after-change nil t)
      (promptls-lsp--after-change (point-min) (point-max) 0))))

(add-hook 'lsp-after-open-hook #'promptls-lsp--after-open)

;;;; Generic function implementations

(cl-defmethod promptls-client-start ((_client (eql lsp-mode)) buffer)
  "Start lsp-mode in BUFFER."
  (with-current-buffer buffer
    ;; The server detects file changes itself, and the header line shows code lenses.
    (setq-local lsp-enable-file-watchers nil
                lsp-lens-enable (and lsp-lens-enable (not promptls-lenses)))
    ;; Add the project root to the session, so that lsp-mode does not ask for it.
    (let ((folder (lsp-find-session-folder (lsp-session) buffer-file-name)))
      (unless (or folder (lsp--suggest-project-root))
        (lsp-workspace-folders-add (directory-file-name (promptls-root buffer))))
      (let ((lsp-enabled-clients (if (promptls-instruction-buffer-p)
                                     '(promptls)
                                   lsp-enabled-clients))
            (lsp-auto-guess-root
             (or lsp-auto-guess-root
                 (null (lsp-find-session-folder (lsp-session) buffer-file-name)))))
        (lsp)))))

(cl-defmethod promptls-client-connections ((_client (eql lsp-mode)))
  "Return the lsp-mode workspaces of promptls."
  (seq-filter (lambda (workspace)
                (eq 'promptls (lsp--client-server-id (lsp--workspace-client workspace))))
              (lsp--session-workspaces (lsp-session))))

(cl-defmethod promptls-connection-manage ((_workspace lsp--workspace))
  "Open the current buffer by lsp-mode, without other servers."
  (unless (bound-and-true-p lsp-mode)
    (promptls-client-start 'lsp-mode (current-buffer))))

(cl-defmethod promptls-connection-process ((workspace lsp--workspace))
  "Return the process of WORKSPACE."
  (lsp--workspace-cmd-proc workspace))

(cl-defmethod promptls-connection-live-p ((workspace lsp--workspace))
  "Return non-nil while the process of WORKSPACE is running."
  (process-live-p (lsp--workspace-cmd-proc workspace)))

(cl-defmethod promptls-connection-ready-p ((workspace lsp--workspace))
  "Return non-nil if WORKSPACE is initialized."
  (eq 'initialized (lsp--workspace-status workspace)))

(cl-defmethod promptls-connection-roots ((workspace lsp--workspace))
  "Return the folders of WORKSPACE."
  (or (lsp-workspace-folders workspace)
      (list (lsp--workspace-root workspace))))

(cl-defmethod promptls-connection-uri ((workspace lsp--workspace) file)
  "Return the URI of FILE in the encoding of WORKSPACE."
  (let ((lsp--cur-workspace workspace))
    (lsp--path-to-uri file)))

(cl-defmethod promptls-connection-capabilities ((workspace lsp--workspace))
  "Return the server capabilities of WORKSPACE as a property list."
  (promptls-normalize-json (lsp--workspace-server-capabilities workspace)))

(cl-defmethod promptls-connection-manages-p ((workspace lsp--workspace) buffer)
  "Return non-nil if BUFFER is open in WORKSPACE."
  (memq buffer (lsp--workspace-buffers workspace)))

(cl-defmethod promptls-connection-flush ((workspace lsp--workspace))
  "Send pending edits of the managed buffers to WORKSPACE."
  (lsp--flush-delayed-changes)
  (mapc #'promptls-lsp--resend (lsp--workspace-buffers workspace)))

(defvar promptls-lsp--pending-requests nil
  "List of pending requests (TOKEN WORKSPACE FAILED).")

(defun promptls-lsp--remove-request (token)
  "Remove the pending request TOKEN; return non-nil if it was pending."
  (when (assq token promptls-lsp--pending-requests)
    (setq promptls-lsp--pending-requests (assq-delete-all token promptls-lsp--pending-requests))
    t))

;; lsp-mode drops the requests of a terminated server without calling their
;; error handlers.
(defun promptls-lsp--fail-pending-requests (workspace)
  "Call the error handlers of the pending requests of WORKSPACE."
  (pcase-dolist (`(,token ,_ ,failed)
                 (seq-filter (lambda (request) (eq workspace (nth 1 request)))
                             promptls-lsp--pending-requests))
    (when (promptls-lsp--remove-request token)
      (funcall failed nil nil))))

(add-hook 'lsp-after-uninitialized-functions #'promptls-lsp--fail-pending-requests)

(cl-defmethod promptls-connection-send ((workspace lsp--workspace) method params done failed)
  "Send the request METHOD with PARAMS to WORKSPACE; call DONE or FAILED."
  (let ((lsp--cur-workspace workspace)
        (token (make-symbol "promptls-request")))
    (push (list token workspace failed) promptls-lsp--pending-requests)
    (condition-case err
        (lsp-request-async method params
                           (lambda (result)
                             (when (promptls-lsp--remove-request token)
                               (funcall done result)))
                           :mode 'detached
                           :error-handler (lambda (err)
                                            (when (promptls-lsp--remove-request token)
                                              (let ((err (promptls-normalize-json err)))
                                                (funcall failed (plist-get err :code)
                                                         (plist-get err :message)))))
                           :cancel-token token)
      (error
       (promptls-lsp--remove-request token)
       (signal (car err) (cdr err))))
    token))

(cl-defmethod promptls-connection-cancel ((workspace lsp--workspace) id)
  "Cancel the request of WORKSPACE with the token ID."
  (promptls-lsp--remove-request id)
  (let ((lsp--cur-workspace workspace))
    (lsp-cancel-request-by-token id)))

(cl-defmethod promptls-connection-notify ((workspace lsp--workspace) method params)
  "Send the notification METHOD with PARAMS to WORKSPACE."
  (let ((lsp--cur-workspace workspace))
    (lsp-notify method params)))

(cl-defmethod promptls-connection-configure ((workspace lsp--workspace))
  "Notify the server of WORKSPACE that its settings have changed."
  (promptls-connection-notify workspace "workspace/didChangeConfiguration"
                              (list :settings (make-hash-table))))

(cl-defmethod promptls-connection-restart ((workspace lsp--workspace))
  "Restart WORKSPACE."
  (lsp-workspace-restart workspace))

(promptls-lsp-register)

(provide 'promptls-lsp)
;;; promptls-lsp.el ends here
