;;; promptls-eglot.el --- The promptls server under Eglot  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; To be loaded after Eglot; `promptls-client-load' does it.  Tells Eglot how
;; prompt documents get our server and implements the methods of
;; promptls-server.el for it.  Eglot gives a buffer one server only, so code
;; keeps its own and our server learns of it by `promptls-sync-mode'.

;;; Code:

(require 'cl-lib)
(require 'eieio)
(require 'promptls-server)
(require 'promptls-context)
(require 'promptls-lens)
(eval-when-compile (require 'eglot nil t))

(declare-function eglot "ext:eglot" (&rest args))
(declare-function eglot--guess-contact "ext:eglot" (&optional interactive))
(declare-function eglot--managed-buffers "ext:eglot" (server))
(declare-function eglot--capabilities "ext:eglot" (server))
(declare-function eglot--path-to-uri "ext:eglot" (path))
(declare-function eglot--project "ext:eglot" (server))
(declare-function eglot--signal-textDocument/didChange "ext:eglot" ())
(declare-function eglot-path-to-uri "ext:eglot" (path &rest rest))
(declare-function eglot-reconnect "ext:eglot" (server &optional interactive))
(declare-function eglot-workspace-folders "ext:eglot" (server))
(declare-function jsonrpc--async-request-1 "jsonrpc" (connection method params &rest args))
(declare-function jsonrpc--process "jsonrpc" (connection))
(declare-function jsonrpc-notify "jsonrpc" (connection method params))
(declare-function jsonrpc-running-p "jsonrpc" (connection))
(declare-function promptls-eglot-server-p "promptls-eglot" (object))
(defvar eglot--servers-by-project)
(defvar eglot-connect-hook)
(defvar eglot-managed-mode-hook)
(defvar eglot-server-initialized-hook)
(defvar eglot-server-programs)
(defvar eglot-sync-connect)

;;;; Registration

(defclass promptls-eglot-server (eglot-lsp-server) ()
  :documentation "Our server, as Eglot knows it.")

(defun promptls-eglot-contact (&rest _)
  "Return how Eglot reaches our server."
  (cons 'promptls-eglot-server (promptls-program "serve" (ignore-errors (promptls-root)))))

;; The language id is the mode's name without "-mode".
(add-to-list 'eglot-server-programs '(promptls-mode . promptls-eglot-contact))

(cl-defmethod eglot-initialization-options ((_server promptls-eglot-server))
  "Return the user's own settings."
  (promptls-initialization-options))

(cl-defmethod eglot-client-capabilities ((_server promptls-eglot-server))
  "Add what we can answer, and take away the watching of files.
The server looks itself."
  (let* ((all (copy-sequence (cl-call-next-method)))
         (workspace (copy-sequence (plist-get all :workspace))))
    (setq workspace (plist-put workspace :didChangeWatchedFiles
                               '(:dynamicRegistration :json-false)))
    (setq all (plist-put all :workspace workspace))
    (plist-put all :experimental
               '(:promptls (:clientContext t :complete :json-false)))))

(cl-defmethod eglot-handle-request
  ((server promptls-eglot-server) (_method (eql workspace/configuration)) &key items)
  "Answer SERVER the workspace's settings, for those of ITEMS that are ours."
  (vconcat
   (mapcar (lambda (item)
             (when (equal (plist-get item :section) "promptls")
               (with-temp-buffer
                 (setq default-directory (car (promptls-connection-roots server)))
                 (setq-local major-mode 'promptls-mode)
                 (hack-dir-local-variables-non-file-buffer)
                 (promptls-workspace-settings))))
           items)))

(cl-defmethod eglot-handle-request
  ((server promptls-eglot-server) (_method (eql promptls/clientContext)) &key kinds)
  "Answer SERVER what the editor knows of KINDS."
  (promptls-client-context server (append kinds nil)))

(cl-defmethod eglot-handle-notification
  ((server promptls-eglot-server) (_method (eql promptls/statusChanged)) &rest status)
  "Remember STATUS of SERVER."
  (promptls-note-status server status))

;; Eglot's way to run commands has changed with Emacs 30: now eglot-execute.
(cl-defmethod eglot-execute ((_server promptls-eglot-server) action)
  "Run ACTION ourselves if its command is one of ours."
  (unless (and (stringp (plist-get action :command))
               (promptls-run-command (plist-get action :command)
                                     (plist-get action :arguments)))
    (cl-call-next-method)))

(unless (get 'eglot-execute-command 'byte-obsolete-info)
  (eval
   '(cl-defmethod eglot-execute-command ((_server promptls-eglot-server) command arguments)
      "Run COMMAND with ARGUMENTS ourselves if it is one of ours."
      (unless (promptls-run-command (format "%s" command) arguments)
        (cl-call-next-method)))
   t))

;;;; Connections

(defvar promptls-eglot--starting nil
  "Servers that have not answered yet; Eglot does not list them.")

(defun promptls-eglot--started (server)
  "Note that SERVER is being started."
  (when (promptls-eglot-server-p server)
    (push server promptls-eglot--starting)))

(defun promptls-eglot--connected (server)
  "Note that SERVER is ready."
  (when (promptls-eglot-server-p server)
    (setq promptls-eglot--starting (delq server promptls-eglot--starting))
    ;; Eglot calls this with a major mode that the current buffer does not have.
    (run-at-time 0 nil #'promptls-connected server)))

(add-hook 'eglot-server-initialized-hook #'promptls-eglot--started)
(add-hook 'eglot-connect-hook #'promptls-eglot--connected)

(defun promptls-eglot--listed ()
  "Return our servers that Eglot lists."
  (seq-filter #'promptls-eglot-server-p
              (apply #'append (hash-table-values eglot--servers-by-project))))

(defun promptls-eglot--managed ()
  "Show lenses in a prompt document that Eglot has begun to manage."
  (promptls-lens-show (promptls-connection)))

(add-hook 'eglot-managed-mode-hook #'promptls-eglot--managed)

;;;; Methods

(cl-defmethod promptls-client-start ((_client (eql eglot)) buffer)
  "Let Eglot manage BUFFER."
  (with-current-buffer buffer
    (let ((eglot-sync-connect nil))
      (apply #'eglot (eglot--guess-contact)))))

(cl-defmethod promptls-client-connections ((_client (eql eglot)))
  "Return our servers, those that start included."
  (setq promptls-eglot--starting
        (seq-filter #'jsonrpc-running-p promptls-eglot--starting))
  (append (promptls-eglot--listed) promptls-eglot--starting))

(cl-defmethod promptls-connection-process ((server promptls-eglot-server))
  "Return the process of SERVER."
  (jsonrpc--process server))

(cl-defmethod promptls-connection-live-p ((server promptls-eglot-server))
  "Return non-nil while SERVER is running."
  (jsonrpc-running-p server))

(cl-defmethod promptls-connection-ready-p ((server promptls-eglot-server))
  "Return non-nil when SERVER has answered the first request."
  (memq server (promptls-eglot--listed)))

(cl-defmethod promptls-connection-roots ((server promptls-eglot-server))
  "Return the folders of SERVER."
  (let ((project (eglot--project server)))
    (cons (project-root project) (project-external-roots project))))

(cl-defmethod promptls-connection-uri ((_server promptls-eglot-server) file)
  "Return the uri of FILE as Eglot spells it."
  (if (fboundp 'eglot-path-to-uri)
      (eglot-path-to-uri file)
    (with-suppressed-warnings ((obsolete eglot--path-to-uri))
      (eglot--path-to-uri file))))

(cl-defmethod promptls-connection-capabilities ((server promptls-eglot-server))
  "Return what SERVER can do."
  (promptls-plain (eglot--capabilities server)))

(cl-defmethod promptls-connection-manages-p ((server promptls-eglot-server) buffer)
  "Return non-nil if Eglot manages BUFFER with SERVER."
  (and (slot-boundp server 'managed-buffers)
       (memq buffer (eglot--managed-buffers server))))

(cl-defmethod promptls-connection-flush ((server promptls-eglot-server))
  "Send the edits that Eglot has not sent to SERVER yet."
  (when (slot-boundp server 'managed-buffers)
    (dolist (buffer (eglot--managed-buffers server))
      (when (buffer-live-p buffer)
        (with-current-buffer buffer
          (eglot--signal-textDocument/didChange))))))

(cl-defmethod promptls-connection-send ((server promptls-eglot-server) method params done failed)
  "Send the request METHOD with PARAMS to SERVER; call DONE or FAILED."
  (let* ((handle (list 'wanted))
         (wanted (lambda (function)
                   (lambda (&rest arguments)
                     (when (car handle) (apply function arguments))))))
    ;; The public function does not tell the id in older versions, and without
    ;; it a request cannot be cancelled.
    (setcdr handle
            (car (jsonrpc--async-request-1
                  server (intern (concat ":" method)) params
                  :timeout nil
                  :success-fn (funcall wanted done)
                  :error-fn (funcall wanted
                                     (lambda (err)
                                       (funcall failed (plist-get err :code)
                                                (plist-get err :message)))))))
    handle))

(cl-defmethod promptls-connection-drop ((server promptls-eglot-server) id)
  "Cancel the request of SERVER whose handle is ID."
  (setcar id nil)
  (jsonrpc-notify server :$/cancelRequest (list :id (cdr id))))

(cl-defmethod promptls-connection-tell ((server promptls-eglot-server) method params)
  "Send the notification METHOD with PARAMS to SERVER."
  (jsonrpc-notify server (intern (concat ":" method)) params))

(cl-defmethod promptls-connection-configure ((server promptls-eglot-server))
  "Let SERVER ask for its settings again."
  (promptls-connection-tell server "workspace/didChangeConfiguration"
                            (list :settings (make-hash-table))))

(cl-defmethod promptls-connection-restart ((server promptls-eglot-server))
  "Restart SERVER."
  (eglot-reconnect server))

(provide 'promptls-eglot)
;;; promptls-eglot.el ends here
