;;; promptls-lsp.el --- The promptls server under lsp-mode  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; To be loaded after lsp-mode; `promptls-client-load' does it.  Registers the
;; server and implements the methods of promptls-server.el for it.  The client
;; is an add-on: in documents that have a server of their own (Markdown, commit
;; messages, if you add their modes to `promptls-lsp-modes') it runs beside
;; that one.

;;; Code:

(require 'cl-lib)
(require 'promptls-server)
(require 'promptls-context)
(require 'promptls-lens)

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
(defvar lsp-language-id-configuration)

(defcustom promptls-lsp-multi-root nil
  "Whether one server serves all folders of the lsp-mode session.
Questions then search all of them; else each project has a server of its
own."
  :type 'boolean
  :group 'promptls)

(defcustom promptls-lsp-modes nil
  "Modes in which mentions are looked at beside `promptls-mode'.
For example (markdown-mode gfm-mode git-commit-mode).  The server has to
be told as well, by its setting documents.languages."
  :type '(repeat symbol)
  :group 'promptls)

;;;; Registration

(defun promptls-lsp--wants-p (file mode)
  "Return non-nil if our server should manage FILE, shown in MODE."
  (or (provided-mode-derived-p mode 'promptls-mode)
      (and file (string-suffix-p ".prompt.md" file))
      (memq mode promptls-lsp-modes)
      (seq-some (lambda (minor) (and (boundp minor) (symbol-value minor)))
                promptls-lsp-modes)))

(defun promptls-lsp--setting (variable shape)
  "Return a function for the workspace's value of VARIABLE, of SHAPE.
Its value is nil where the server was started with the same."
  (lambda ()
    (unless (equal (symbol-value variable) (promptls-initial-value variable))
      (promptls-json (symbol-value variable) shape))))

(defun promptls-lsp--table (&rest pairs)
  "Return a hash table of PAIRS: names and functions, in turn."
  (let ((table (make-hash-table :test #'equal)))
    (cl-loop for (name function) on pairs by #'cddr
             do (puthash name function table))
    table))

(defun promptls-lsp--run (action)
  "Run ACTION, an LSP command of ours."
  (let ((action (promptls-plain action)))
    (promptls-run-command (plist-get action :command) (plist-get action :arguments))))

(defun promptls-lsp-register ()
  "Register the server with lsp-mode."
  (add-to-list 'lsp-language-id-configuration '(promptls-mode . "promptls"))
  (add-to-list 'lsp-language-id-configuration '("\\.prompt\\.md\\'" . "promptls"))
  (add-to-list 'lsp-language-id-configuration '("/COMMIT_EDITMSG\\'" . "git-commit"))
  (lsp-register-custom-settings
   (cl-loop for (name variable shape . marks) in promptls-settings
            unless (memq 'trusted marks)
            collect (list (concat "promptls." name) (promptls-lsp--setting variable shape))))
  (lsp-register-client
   (make-lsp-client
    :new-connection (lsp-stdio-connection
                     (lambda () (promptls-program "serve" (ignore-errors (promptls-root))))
                     (lambda () (promptls-find-program (ignore-errors (promptls-root)))))
    :activation-fn #'promptls-lsp--wants-p
    :server-id 'promptls
    :add-on? t
    :priority -1
    :multi-root promptls-lsp-multi-root
    :completion-in-comments? t
    :initialization-options #'promptls-initialization-options
    :custom-capabilities '((experimental
                            . ((promptls . ((clientContext . t)
                                            (complete . :json-false))))))
    :initialized-fn #'promptls-connected
    :notification-handlers (promptls-lsp--table
                            "promptls/statusChanged" #'promptls-note-status)
    :request-handlers (promptls-lsp--table
                       "promptls/clientContext"
                       (lambda (workspace params)
                         (promptls-client-context
                          workspace (plist-get (promptls-plain params) :kinds))))
    :action-handlers (promptls-lsp--table
                      "promptls.openPrompt" #'promptls-lsp--run
                      "promptls.copyPrompt" #'promptls-lsp--run))))

;; lsp-mode puts its own completion in the place of all others.  Ours asks the
;; same server, but matches as the server does.
(defun promptls-lsp--complete-ourselves ()
  "Let prompt documents complete by `promptls-completion-at-point' first."
  (when (derived-mode-p 'promptls-mode)
    (remove-hook 'completion-at-point-functions #'promptls-completion-at-point t)
    (add-hook 'completion-at-point-functions #'promptls-completion-at-point -50 t)))

(add-hook 'lsp-completion-mode-hook #'promptls-lsp--complete-ourselves)

;; lsp-mode before version 9 counts positions in characters where the protocol
;; means UTF-16 units: one emoji, and server and buffer differ from then on.
;; Sending the whole text once more puts that right.
(defvar-local promptls-lsp--wide nil
  "Non-nil once this buffer has held a character beyond UTF-16's single units.")
(defvar-local promptls-lsp--stale nil
  "Non-nil if the whole text has to be sent once more.")

(defun promptls-lsp--changed (start end _length)
  "Note whether the text from START to END breaks lsp-mode's counting."
  (unless promptls-lsp--wide
    (setq promptls-lsp--wide
          (save-excursion
            (goto-char start)
            (re-search-forward "[^\u0000-\uffff]" end t))))
  (when promptls-lsp--wide
    (setq promptls-lsp--stale t)
    (let ((buffer (current-buffer)))
      (run-with-idle-timer 0.2 nil (lambda () (promptls-lsp--resend buffer))))))

(defun promptls-lsp--resend (buffer)
  "Send the whole text of BUFFER if the server's may differ."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (let ((workspace promptls-own-connection))
        (when (and promptls-lsp--stale workspace
                   (promptls-connection-live-p workspace)
                   (promptls-connection-manages-p workspace buffer))
          (setq promptls-lsp--stale nil)
          (promptls-connection-tell
           workspace "textDocument/didChange"
           (list :textDocument (lsp--versioned-text-document-identifier)
                 :contentChanges (vector (list :text (save-restriction
                                                       (widen)
                                                       (buffer-substring-no-properties
                                                        (point-min) (point-max))))))))))))

(defun promptls-lsp--opened ()
  "Show lenses, and watch for what breaks lsp-mode's counting."
  (when (derived-mode-p 'promptls-mode)
    (promptls-lens-show (promptls-connection))
    (when (and promptls-own-connection
               (equal "utf-16" (promptls-connection-encoding promptls-own-connection))
               (not (assq 'general (lsp--client-capabilities))))
      (add-hook 'after-change-functions #'promptls-lsp--changed nil t)
      (promptls-lsp--changed (point-min) (point-max) 0))))

(add-hook 'lsp-after-open-hook #'promptls-lsp--opened)

;;;; Methods

(cl-defmethod promptls-client-start ((_client (eql lsp-mode)) buffer)
  "Let lsp-mode manage BUFFER."
  (with-current-buffer buffer
    ;; The server walks the folders itself; watching each for it is a waste.
    (setq-local lsp-enable-file-watchers nil)
    ;; A question about a project was asked, so its root need not be asked for.
    (let ((known (lsp-find-session-folder (lsp-session) buffer-file-name)))
      (unless (or known (lsp--suggest-project-root))
        (lsp-workspace-folders-add (directory-file-name (promptls-root buffer))))
      (let ((lsp-auto-guess-root
             (or lsp-auto-guess-root
                 (null (lsp-find-session-folder (lsp-session) buffer-file-name)))))
        (lsp)))))

(cl-defmethod promptls-client-connections ((_client (eql lsp-mode)))
  "Return the workspaces of our server."
  (seq-filter (lambda (workspace)
                (eq 'promptls (lsp--client-server-id (lsp--workspace-client workspace))))
              (lsp--session-workspaces (lsp-session))))

(cl-defmethod promptls-connection-process ((workspace lsp--workspace))
  "Return the process of WORKSPACE."
  (lsp--workspace-cmd-proc workspace))

(cl-defmethod promptls-connection-live-p ((workspace lsp--workspace))
  "Return non-nil while the process of WORKSPACE is running."
  (process-live-p (lsp--workspace-cmd-proc workspace)))

(cl-defmethod promptls-connection-ready-p ((workspace lsp--workspace))
  "Return non-nil when WORKSPACE is initialized."
  (eq 'initialized (lsp--workspace-status workspace)))

(cl-defmethod promptls-connection-roots ((workspace lsp--workspace))
  "Return the folders of WORKSPACE."
  (or (lsp-workspace-folders workspace)
      (list (lsp--workspace-root workspace))))

(cl-defmethod promptls-connection-uri ((workspace lsp--workspace) file)
  "Return the uri of FILE as WORKSPACE spells it."
  (let ((lsp--cur-workspace workspace))
    (lsp--path-to-uri file)))

(cl-defmethod promptls-connection-capabilities ((workspace lsp--workspace))
  "Return what the server of WORKSPACE can do."
  (promptls-plain (lsp--workspace-server-capabilities workspace)))

(cl-defmethod promptls-connection-manages-p ((workspace lsp--workspace) buffer)
  "Return non-nil if BUFFER is open in WORKSPACE."
  (memq buffer (lsp--workspace-buffers workspace)))

(cl-defmethod promptls-connection-flush ((workspace lsp--workspace))
  "Send the edits that lsp-mode has not sent to WORKSPACE yet."
  (lsp--flush-delayed-changes)
  (mapc #'promptls-lsp--resend (lsp--workspace-buffers workspace)))

(defvar promptls-lsp--pending nil
  "Requests that are not answered: (TOKEN WORKSPACE FAILED).")

(defun promptls-lsp--forget (token)
  "Forget the request that has TOKEN; return nil if it is known no more."
  (when (assq token promptls-lsp--pending)
    (setq promptls-lsp--pending (assq-delete-all token promptls-lsp--pending))
    t))

;; lsp-mode forgets the requests of a server that has ended, and tells nobody.
(defun promptls-lsp--ended (workspace)
  "Fail what WORKSPACE, which has ended, was asked."
  (pcase-dolist (`(,token ,_ ,failed)
                 (seq-filter (lambda (request) (eq workspace (nth 1 request)))
                             promptls-lsp--pending))
    (when (promptls-lsp--forget token)
      (funcall failed nil nil))))

(add-hook 'lsp-after-uninitialized-functions #'promptls-lsp--ended)

(cl-defmethod promptls-connection-send ((workspace lsp--workspace) method params done failed)
  "Send the request METHOD with PARAMS to WORKSPACE; call DONE or FAILED."
  (let ((lsp--cur-workspace workspace)
        (token (make-symbol "promptls-request")))
    (push (list token workspace failed) promptls-lsp--pending)
    (condition-case err
        (lsp-request-async method params
                           (lambda (result)
                             (when (promptls-lsp--forget token)
                               (funcall done result)))
                           :mode 'detached
                           :error-handler (lambda (err)
                                            (when (promptls-lsp--forget token)
                                              (let ((err (promptls-plain err)))
                                                (funcall failed (plist-get err :code)
                                                         (plist-get err :message)))))
                           :cancel-token token)
      (error
       (promptls-lsp--forget token)
       (signal (car err) (cdr err))))
    token))

(cl-defmethod promptls-connection-drop ((workspace lsp--workspace) id)
  "Cancel the request of WORKSPACE that has the token ID."
  (promptls-lsp--forget id)
  (let ((lsp--cur-workspace workspace))
    (lsp-cancel-request-by-token id)))

(cl-defmethod promptls-connection-tell ((workspace lsp--workspace) method params)
  "Send the notification METHOD with PARAMS to WORKSPACE."
  (let ((lsp--cur-workspace workspace))
    (lsp-notify method params)))

(cl-defmethod promptls-connection-configure ((workspace lsp--workspace))
  "Let the server of WORKSPACE ask for its settings again."
  (promptls-connection-tell workspace "workspace/didChangeConfiguration"
                            (list :settings (make-hash-table))))

(cl-defmethod promptls-connection-restart ((workspace lsp--workspace))
  "Restart WORKSPACE."
  (lsp-workspace-restart workspace))

(promptls-lsp-register)

(provide 'promptls-lsp)
;;; promptls-lsp.el ends here
