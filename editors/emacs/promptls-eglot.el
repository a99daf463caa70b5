;;; promptls-eglot.el --- Eglot backend of promptls  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Registers the server with Eglot and implements the generic functions of
;; promptls-server.el for Eglot.  `promptls-client-load' loads this file after
;; Eglot.
;;
;; Eglot supports one server per buffer.  Code buffers keep their own language
;; server, and `promptls-sync-mode' sends their text to promptls.

;;; Code:

(require 'cl-lib)
(require 'eieio)
(require 'promptls-server)
(require 'promptls-context)
(require 'promptls-lens)
(require 'promptls-page)
(eval-when-compile (require 'eglot nil t))

(declare-function eglot "ext:eglot" (&rest args))
(declare-function eglot--guess-contact "ext:eglot" (&optional interactive))
(declare-function eglot--managed-buffers "ext:eglot" (server))
(declare-function eglot--capabilities "ext:eglot" (server))
(declare-function eglot--path-to-uri "ext:eglot" (path))
(declare-function eglot--project "ext:eglot" (server))
(declare-function eglot--maybe-activate-editing-mode "ext:eglot" ())
(declare-function eglot-current-server "ext:eglot" ())
(declare-function eglot--signal-textDocument/didChange "ext:eglot" ())
(declare-function eglot-path-to-uri "ext:eglot" (path &rest rest))
(declare-function eglot-reconnect "ext:eglot" (server &optional interactive))
(declare-function eglot-workspace-folders "ext:eglot" (server))
(declare-function jsonrpc--async-request-1 "jsonrpc" (connection method params &rest args))
(declare-function jsonrpc--process "jsonrpc" (connection))
(declare-function jsonrpc-connection-send "jsonrpc" (connection &rest args))
(declare-function jsonrpc-notify "jsonrpc" (connection method params))
(declare-function jsonrpc-running-p "jsonrpc" (connection))
(declare-function promptls-eglot-server-p "promptls-eglot" (object))
(defvar eglot--cached-server)
(defvar eglot--servers-by-project)
(defvar eglot-confirm-server-initiated-edits)
(defvar eglot-connect-hook)
(defvar eglot-managed-mode-hook)
(defvar eglot-server-initialized-hook)
(defvar eglot-server-programs)
(defvar eglot-sync-connect)

;;;; Registration

(defclass promptls-eglot-server (eglot-lsp-server) ()
  :documentation "Eglot server class of promptls.")

(defun promptls-eglot-contact (&rest _)
  "Return the Eglot contact: the server class and its command line."
  (cons 'promptls-eglot-server (promptls-command-line "serve" (ignore-errors (promptls-root)))))

;; Eglot derives the language id from the mode name without "-mode".
(add-to-list 'eglot-server-programs '(promptls-mode . promptls-eglot-contact))

;; In an instruction file it would send the language id of `promptls-mode', or none.
(cl-defmethod jsonrpc-connection-send :around ((server promptls-eglot-server) &rest message)
  "Send MESSAGE to SERVER; replace the language id of an opened instruction file."
  (let ((document (plist-get (plist-get message :params) :textDocument)))
    (when (and (plist-member document :languageId) (promptls-instruction-buffer-p))
      (plist-put document :languageId "markdown")))
  (apply #'cl-call-next-method server message))

(cl-defmethod eglot-initialization-options ((_server promptls-eglot-server))
  "Return the user settings."
  (promptls-initialization-options))

(cl-defmethod eglot-client-capabilities ((_server promptls-eglot-server))
  "Add the capabilities of promptls and disable file watchers.
The server detects file changes itself."
  (let* ((all (copy-sequence (cl-call-next-method)))
         (workspace (copy-sequence (plist-get all :workspace))))
    (setq workspace (plist-put workspace :didChangeWatchedFiles
                               '(:dynamicRegistration :json-false)))
    (setq workspace (plist-put workspace :textDocumentContent
                               '(:dynamicRegistration :json-false)))
    (setq all (plist-put all :workspace workspace))
    (plist-put all :experimental
               (list :promptls (list :clientContext t
                                     :complete (promptls-complete-capability))))))

(cl-defmethod eglot-handle-request
  ((server promptls-eglot-server) (_method (eql workspace/configuration)) &key items)
  "Return the workspace settings of SERVER for the promptls sections of ITEMS."
  (vconcat
   (mapcar (lambda (item)
             (when (equal (plist-get item :section) "promptls")
               (with-temp-buffer
                 (setq default-directory (car (promptls-connection-roots server)))
                 (setq-local major-mode 'promptls-mode
                             ;; A request of the server must not ask the user.
                             enable-local-variables :safe)
                 (hack-dir-local-variables-non-file-buffer)
                 (promptls-workspace-settings))))
           items)))

(cl-defmethod eglot-handle-request
  ((server promptls-eglot-server) (_method (eql promptls/clientContext)) &key kinds)
  "Return the client context of KINDS for SERVER."
  (promptls-client-context server (append kinds nil)))

(cl-defmethod eglot-handle-request
  ((server promptls-eglot-server) (_method (eql workspace/textDocumentContent/refresh)) &key uri)
  "Read the page URI of SERVER again."
  (promptls-page-refresh server uri)
  nil)

;; Eglot answers a request before it reads on, but a language model needs seconds.
(defun promptls-eglot--receive (receive server message)
  "Let the language model answer MESSAGE of SERVER if it is promptls/complete.
Otherwise call RECEIVE."
  (if (not (and (promptls-eglot-server-p server)
                (equal "promptls/complete" (plist-get message :method))))
      (funcall receive server message)
    (let ((reply (lambda (&rest reply)
                   (when (jsonrpc-running-p server)
                     (apply #'jsonrpc-connection-send server :id (plist-get message :id) reply)))))
      (promptls-complete (plist-get message :params)
                         (lambda (result) (funcall reply :result result))
                         (lambda (text)
                           (funcall reply :error (list :code -32603 :message text)))))))

(advice-add 'jsonrpc-connection-receive :around #'promptls-eglot--receive)

;; The edit is the answer that the user asked for; undo removes it.
(cl-defmethod eglot-handle-request
  ((_server promptls-eglot-server) (_method (eql workspace/applyEdit)) &key &allow-other-keys)
  "Apply the edit without a question."
  (let ((eglot-confirm-server-initiated-edits nil))
    (cl-call-next-method)))

(cl-defmethod eglot-handle-notification
  ((server promptls-eglot-server) (_method (eql promptls/statusChanged)) &rest status)
  "Record STATUS of SERVER."
  (promptls-record-status server status))

;; Emacs 30 replaces `eglot-execute-command' with `eglot-execute'.
(cl-defmethod eglot-execute ((_server promptls-eglot-server) action)
  "Run ACTION in Emacs if it is a promptls command."
  (unless (and (stringp (plist-get action :command))
               (promptls-run-command (plist-get action :command)
                                     (plist-get action :arguments)))
    (cl-call-next-method)))

(unless (get 'eglot-execute-command 'byte-obsolete-info)
  (eval
   '(cl-defmethod eglot-execute-command ((_server promptls-eglot-server) command arguments)
      "Run COMMAND with ARGUMENTS in Emacs if it is a promptls command."
      (unless (promptls-run-command (format "%s" command) arguments)
        (cl-call-next-method)))
   t))

;;;; Connections

(defvar promptls-eglot--starting-servers nil
  "Servers that are not initialized yet and thus not listed by Eglot.")

(defun promptls-eglot--server-starting (server)
  "Add SERVER to the starting servers."
  (when (promptls-eglot-server-p server)
    (push server promptls-eglot--starting-servers)))

(defun promptls-eglot--server-connected (server)
  "Mark SERVER as ready."
  (when (promptls-eglot-server-p server)
    (setq promptls-eglot--starting-servers (delq server promptls-eglot--starting-servers))
    ;; Eglot runs this hook with a temporary major mode, so defer the call.
    (run-at-time 0 nil #'promptls-connected server)))

(add-hook 'eglot-server-initialized-hook #'promptls-eglot--server-starting)
(add-hook 'eglot-connect-hook #'promptls-eglot--server-connected)

(defun promptls-eglot--initialized-servers ()
  "Return the initialized promptls servers."
  (seq-filter #'promptls-eglot-server-p
              (apply #'append (hash-table-values eglot--servers-by-project))))

(defun promptls-eglot--after-manage ()
  "Show code lenses in a prompt document; for `eglot-managed-mode-hook'."
  (promptls-lens-show (promptls-connection)))

(add-hook 'eglot-managed-mode-hook #'promptls-eglot--after-manage)

;;;; Generic function implementations

(cl-defmethod promptls-client-start ((_client (eql eglot)) buffer)
  "Start Eglot in BUFFER."
  (with-current-buffer buffer
    ;; Other Markdown files keep their own server.
    (let ((major-mode 'promptls-mode)
          (eglot-sync-connect nil))
      (apply #'eglot (eglot--guess-contact)))))

(cl-defmethod promptls-client-connections ((_client (eql eglot)))
  "Return the promptls servers, including starting ones."
  (setq promptls-eglot--starting-servers
        (seq-filter #'jsonrpc-running-p promptls-eglot--starting-servers))
  (append (promptls-eglot--initialized-servers) promptls-eglot--starting-servers))

(cl-defmethod promptls-connection-manage ((server promptls-eglot-server))
  "Let SERVER manage the current buffer, whatever its major mode."
  (unless (eglot-current-server)
    (setq eglot--cached-server server)
    (eglot--maybe-activate-editing-mode)))

(cl-defmethod promptls-connection-process ((server promptls-eglot-server))
  "Return the process of SERVER."
  (jsonrpc--process server))

(cl-defmethod promptls-connection-live-p ((server promptls-eglot-server))
  "Return non-nil while SERVER is running."
  (jsonrpc-running-p server))

(cl-defmethod promptls-connection-ready-p ((server promptls-eglot-server))
  "Return non-nil if SERVER is initialized."
  (memq server (promptls-eglot--initialized-servers)))

(cl-defmethod promptls-connection-roots ((server promptls-eglot-server))
  "Return the workspace folders of SERVER."
  (let ((project (eglot--project server)))
    (cons (project-root project) (project-external-roots project))))

(cl-defmethod promptls-connection-uri ((_server promptls-eglot-server) file)
  "Return the URI of FILE in Eglot's encoding."
  (if (fboundp 'eglot-path-to-uri)
      (eglot-path-to-uri file)
    (with-suppressed-warnings ((obsolete eglot--path-to-uri))
      (eglot--path-to-uri file))))

(cl-defmethod promptls-connection-capabilities ((server promptls-eglot-server))
  "Return the server capabilities of SERVER as a property list."
  (promptls-normalize-json (eglot--capabilities server)))

(cl-defmethod promptls-connection-manages-p ((server promptls-eglot-server) buffer)
  "Return non-nil if SERVER manages BUFFER."
  (and (slot-boundp server 'managed-buffers)
       (memq buffer (eglot--managed-buffers server))))

(cl-defmethod promptls-connection-flush ((server promptls-eglot-server))
  "Send pending edits of the managed buffers to SERVER."
  (when (slot-boundp server 'managed-buffers)
    (dolist (buffer (eglot--managed-buffers server))
      (when (buffer-live-p buffer)
        (with-current-buffer buffer
          (eglot--signal-textDocument/didChange))))))

(cl-defmethod promptls-connection-send ((server promptls-eglot-server) method params done failed)
  "Send the request METHOD with PARAMS to SERVER; call DONE or FAILED."
  (let* ((handle (list 'active))
         (if-active (lambda (function)
                      (lambda (&rest arguments)
                        (when (car handle) (apply function arguments))))))
    ;; Cancelling needs the request id, which the public function does not
    ;; return in older versions of jsonrpc.
    (setcdr handle
            (car (jsonrpc--async-request-1
                  server (intern (concat ":" method)) params
                  :timeout nil
                  :success-fn (funcall if-active done)
                  :error-fn (funcall if-active
                                     (lambda (err)
                                       (funcall failed (plist-get err :code)
                                                (plist-get err :message)))))))
    handle))

(cl-defmethod promptls-connection-cancel ((server promptls-eglot-server) id)
  "Cancel the request of SERVER with the handle ID."
  (setcar id nil)
  (jsonrpc-notify server :$/cancelRequest (list :id (cdr id))))

(cl-defmethod promptls-connection-notify ((server promptls-eglot-server) method params)
  "Send the notification METHOD with PARAMS to SERVER."
  (jsonrpc-notify server (intern (concat ":" method)) params))

(cl-defmethod promptls-connection-configure ((server promptls-eglot-server))
  "Notify SERVER that its settings have changed."
  (promptls-connection-notify server "workspace/didChangeConfiguration"
                              (list :settings (make-hash-table))))

(cl-defmethod promptls-connection-restart ((server promptls-eglot-server))
  "Restart SERVER."
  (eglot-reconnect server))

(provide 'promptls-eglot)
;;; promptls-eglot.el ends here
