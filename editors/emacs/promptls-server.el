;;; promptls-server.el --- Server start, connections and requests  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; A layer over the LSP client that runs the server.  The backends
;; (promptls-lsp.el, promptls-eglot.el) implement the generic functions below.
;; Other files send requests with `promptls-request' and
;; `promptls-request-async'.

;;; Code:

(require 'cl-lib)
(require 'project)
(require 'subr-x)
(require 'promptls-data)

(declare-function promptls-gptel-complete "promptls-gptel" (params done failed))
(declare-function promptls-instruction-buffer-p "promptls-context" ())
(declare-function promptls-scratch-buffer "promptls" (root))

;;;; Options

(defcustom promptls-command nil
  "The server program, or a list of the program and its first arguments.
If nil, search the project's .venv (see `promptls-allow-project-server'),
the active Python environment, the variable `exec-path', ~/.local/bin and
the folders in which uv and pipx install programs."
  :type '(choice (const :tag "Search" nil)
                 (file :tag "Program")
                 (repeat :tag "Program and arguments" string))
  :risky t
  :group 'promptls)

(defcustom promptls-allow-project-server nil
  "Whether to start a server from a folder of the project, such as .venv.
This runs a program that the project provides; enable it only for
projects you trust."
  :type 'boolean
  :risky t
  :group 'promptls)

(defcustom promptls-client 'auto
  "The LSP client that runs the server.
With `auto', use the loaded client.  If both or none are loaded, prefer
lsp-mode over Eglot."
  :type '(choice (const auto) (const lsp-mode) (const eglot))
  :group 'promptls)

(defconst promptls--timeout 60
  "Seconds to wait for the start of the server, or for the result of a request.")

;;;; Finding the program

(defun promptls--program-folders ()
  "Return the folders in which the program may be installed, in search order.
An Emacs that was started from a desktop often lacks the last ones in
the variable `exec-path'."
  (let ((environments (list (getenv "VIRTUAL_ENV") (getenv "CONDA_PREFIX")))
        (data (getenv "XDG_DATA_HOME")))
    (seq-filter
     (lambda (folder) (and folder (file-name-absolute-p folder)))
     `(,@(mapcan (lambda (environment)
                   (when environment
                     (list (file-name-concat environment "bin")
                           (file-name-concat environment "Scripts"))))
                 environments)
       ,@exec-path
       "~/.local/bin"
       ,(when-let ((home (getenv "USERPROFILE"))) (file-name-concat home ".local/bin"))
       ,(getenv "UV_TOOL_BIN_DIR")
       ,(getenv "XDG_BIN_HOME")
       ,(when data (file-name-concat data "../bin"))
       ,(getenv "PIPX_BIN_DIR")))))

(defun promptls-find-program (&optional root)
  "Return (COMMAND . ORIGIN) of the program for the project at ROOT, or nil.
ORIGIN describes where the program was found."
  (cond
   ((stringp promptls-command) (cons (list promptls-command) "the option promptls-command"))
   (promptls-command
    (cons (if (equal (car (last promptls-command)) "serve")
              (butlast promptls-command)
            promptls-command)
          "the option promptls-command"))
   (t
    (let* ((root (and root (not (promptls--not-a-project-p root)) root))
           (own (and root promptls-allow-project-server
                     (list (expand-file-name ".venv/bin" root)
                           (expand-file-name ".venv/Scripts" root))))
           ;; A folder of the project may come from VIRTUAL_ENV or PATH, too.
           (folders (seq-remove (lambda (folder)
                                  (and root
                                       (not promptls-allow-project-server)
                                       (file-in-directory-p folder root)))
                                (promptls--program-folders)))
           (program (locate-file "promptls" (append own folders) exec-suffixes
                                 #'file-executable-p)))
      (when program
        (cons (list program)
              (if (and root (file-in-directory-p program root))
                  "a folder of the project"
                "the standard folders")))))))

(defconst promptls--not-found-message
  "Program promptls not found; run \"uv tool install\" with the wheel of a release"
  "Message that says how to install the server.")

(defun promptls-command-line (subcommand &optional root)
  "Return the command line of the promptls SUBCOMMAND in the project at ROOT."
  (let ((command (car (promptls-find-program root))))
    (cond
     ((null command)
      (user-error "%s" promptls--not-found-message))
     ((not (executable-find (car command)))
      (user-error "Cannot run %s; check the option promptls-command" (car command)))
     (t (append command (list subcommand))))))

;;;; Projects

(defun promptls-root (&optional buffer)
  "Return the project root of BUFFER as a directory name.
BUFFER defaults to the current buffer."
  (with-current-buffer (or buffer (current-buffer))
    (let ((folder (if buffer-file-name
                      (file-name-directory buffer-file-name)
                    default-directory)))
      (when (file-remote-p folder)
        (user-error "Remote files are not supported: %s" folder))
      (file-name-as-directory
       (expand-file-name
        (if-let ((project (project-current nil folder)))
            (project-root project)
          folder))))))

(defun promptls--not-a-project-p (root)
  "Return non-nil if ROOT is the home or the root directory."
  (member (file-name-as-directory (file-truename root))
          (list "/" (file-name-as-directory (file-truename "~")))))

(defun promptls-indexable-root (buffer)
  "Return the project root of BUFFER.
Signal an error if it is the home or the root directory."
  (let ((root (promptls-root buffer)))
    (when (promptls--not-a-project-p root)
      (user-error "%s is not a project; move the file to a subfolder or a repository"
                  (abbreviate-file-name root)))
    root))

;;;; Client interface

(defun promptls-client-load (client)
  "Load CLIENT, a symbol, and its backend; return nil if it is not installed."
  (pcase client
    ('lsp-mode (and (require 'lsp-mode nil t) (require 'promptls-lsp)))
    ('eglot (and (require 'eglot nil t) (require 'promptls-eglot)))))

(cl-defgeneric promptls-client-start (client buffer)
  "Start the server by CLIENT for BUFFER, a prompt document, asynchronously.")

(cl-defgeneric promptls-client-connections (client)
  "Return the promptls connections of CLIENT, including starting ones.")

(cl-defgeneric promptls-connection-live-p (connection)
  "Return non-nil while the server of CONNECTION is running.")

(cl-defgeneric promptls-connection-ready-p (connection)
  "Return non-nil if the server of CONNECTION accepts requests.")

(cl-defgeneric promptls-connection-roots (connection)
  "Return the workspace folders of CONNECTION.")

(cl-defgeneric promptls-connection-uri (connection file)
  "Return the URI of FILE in the encoding of CONNECTION's client.")

(cl-defgeneric promptls-connection-capabilities (connection)
  "Return the server capabilities of CONNECTION as a property list.")

(defun promptls-connection-encoding (connection)
  "Return the position encoding of CONNECTION."
  (or (plist-get (promptls-connection-capabilities connection) :positionEncoding)
      "utf-16"))

(cl-defgeneric promptls-connection-manages-p (connection buffer)
  "Return non-nil if the client of CONNECTION manages BUFFER.")

(cl-defgeneric promptls-connection-manage (connection)
  "Let the client of CONNECTION manage the current buffer, an instruction file.
Do nothing if the client has another server for it.")

(cl-defgeneric promptls-connection-flush (connection)
  "Send the pending edits of the buffers that CONNECTION manages.")

(cl-defgeneric promptls-connection-send (connection method params done failed)
  "Send the request METHOD with PARAMS to CONNECTION and return its id.
Call DONE with the result, or FAILED with an error code and a message.")

(cl-defgeneric promptls-connection-cancel (connection id)
  "Cancel the request ID of CONNECTION and ignore its result.")

(cl-defgeneric promptls-connection-notify (connection method params)
  "Send the notification METHOD with PARAMS to CONNECTION.")

(cl-defmethod promptls-connection-send :around (connection method params done failed)
  "Replace invalid characters in PARAMS.
Pass on CONNECTION, METHOD, DONE and FAILED."
  (cl-call-next-method connection method (promptls-replace-invalid-chars params) done failed))

(cl-defmethod promptls-connection-notify :around (connection method params)
  "Replace invalid characters in PARAMS; pass on CONNECTION and METHOD."
  (cl-call-next-method connection method (promptls-replace-invalid-chars params)))

(cl-defgeneric promptls-connection-restart (connection)
  "Restart the server of CONNECTION.")

(cl-defgeneric promptls-connection-configure (connection)
  "Notify the server of CONNECTION that its settings have changed.")

(cl-defgeneric promptls-connection-process (connection)
  "Return the server process of CONNECTION.")

(cl-defmethod promptls-client-connections ((_client symbol))
  "Return nil: the client is not loaded."
  nil)

;;;; Connections

(defvar promptls-connected-functions nil
  "Abnormal hook run with each connection that becomes ready.")

(defvar promptls-before-request-functions nil
  "Abnormal hook run with the connection before each request.")

(defvar-local promptls-buffer-connection nil
  "The connection of this buffer, for the mode line and code lenses.")

(defvar promptls--last-statuses (make-hash-table :test #'eq :weakness 'key)
  "Hash table of the last reported status of each connection.")

(defun promptls-connections ()
  "Return the live connections of all clients."
  (seq-filter #'promptls-connection-live-p
              (append (promptls-client-connections 'lsp-mode)
                      (promptls-client-connections 'eglot))))

(defun promptls-connection (&optional buffer)
  "Return the live connection of BUFFER, or nil.
BUFFER defaults to the current buffer."
  (let* ((buffer (or buffer (current-buffer)))
         (file (with-current-buffer buffer (or buffer-file-name default-directory)))
         (names (delete-dups (list (expand-file-name file) (file-truename file))))
         (connections (promptls-connections))
         best (best-length 0))
    (or (seq-find (lambda (connection) (promptls-connection-manages-p connection buffer))
                  connections)
        (dolist (connection connections best)
          (dolist (root (promptls-connection-roots connection))
            (when (and (>= (length root) best-length)
                       (seq-some (lambda (name) (promptls-file-in-folder-p name root)) names))
              (setq best connection best-length (length root))))))))

(defun promptls-ready-connection ()
  "Return the connection of the current buffer if it accepts requests, or nil."
  (when-let ((connection (promptls-connection)))
    (and (promptls-connection-ready-p connection) connection)))

(defun promptls--choose-client ()
  "Return the client selected by the option `promptls-client'; load it first."
  (let ((clients (pcase promptls-client
                   ('auto (cond ((featurep 'lsp-mode) '(lsp-mode eglot))
                                ((featurep 'eglot) '(eglot lsp-mode))
                                (t '(lsp-mode eglot))))
                   (client (list client)))))
    (or (seq-find #'promptls-client-load clients)
        (user-error "No LSP client found; install lsp-mode or eglot"))))

(defun promptls-start (&optional buffer)
  "Start the server for the project of BUFFER asynchronously.
LSP clients start servers for a document; if BUFFER is neither a prompt
document nor an instruction file, use the scratch prompt of the project."
  (let* ((buffer (or buffer (current-buffer)))
         (root (promptls-indexable-root buffer))
         (document (if (with-current-buffer buffer
                         (and buffer-file-name
                              (or (derived-mode-p 'promptls-mode)
                                  (promptls-instruction-buffer-p))))
                       buffer
                     (promptls-scratch-buffer root)))
         ;; Loads the backend, which implements `promptls-client-start'.
         (client (promptls--choose-client)))
    (promptls-command-line "serve" root)
    (promptls-client-start client document)))

(defun promptls--wait-for-dead-servers ()
  "Wait until the clients have removed connections with a dead server.
Otherwise a client might return a dead connection, or its automatic
restart might start a second server."
  (let ((deadline (+ (float-time) 3)))
    (while (and (< (float-time) deadline)
                (not (seq-every-p #'promptls-connection-live-p
                                  (append (promptls-client-connections 'lsp-mode)
                                          (promptls-client-connections 'eglot)))))
      (accept-process-output nil 0.02))))

(defun promptls-ensure-started ()
  "Start the server of this project unless it is running or starting."
  (unless (promptls-connection)
    (promptls--wait-for-dead-servers)
    (unless (promptls-connection)
      (promptls-start))))

(defun promptls-connect ()
  "Return the connection of this project; start the server if needed."
  (let ((connection nil)
        (deadline (+ (float-time) promptls--timeout))
        (message-shown nil))
    (promptls-ensure-started)
    (while (not (and (setq connection (or (promptls-connection) connection))
                     (promptls-connection-ready-p connection)))
      (unless message-shown
        (setq message-shown t)
        (message "Starting the promptls server…"))
      (accept-process-output nil 0.05)
      (when (and connection (not (promptls-connection-live-p connection)))
        (user-error "The promptls server exited during startup; run M-x promptls-doctor"))
      (when (> (float-time) deadline)
        (user-error "The promptls server did not start within %s s; run M-x promptls-doctor"
                    promptls--timeout)))
    (promptls-connected connection)
    connection))

(defvar promptls--ready-connections (make-hash-table :test #'eq :weakness 'key)
  "Connections for which `promptls-connected-functions' has run.")

(defun promptls-connected (connection)
  "Run `promptls-connected-functions' for CONNECTION once; called by backends."
  (unless (gethash connection promptls--ready-connections)
    (puthash connection t promptls--ready-connections)
    (run-hook-with-args 'promptls-connected-functions connection)
    (dolist (buffer (buffer-list))
      (when (promptls-connection-manages-p connection buffer)
        (with-current-buffer buffer
          (setq promptls-buffer-connection connection))))
    (force-mode-line-update t)))

;;;; Requests

(defconst promptls--server-stopped-message
  "The promptls server exited before it responded; try again"
  "Error message of requests whose server has exited.")

(defun promptls-request-async (connection method params done failed)
  "Send the request METHOD with PARAMS to CONNECTION.
Return a handle for `promptls-cancel-request'.  Call DONE with the
normalized result, or FAILED with an error code and a message."
  (promptls-connection-flush connection)
  (run-hook-with-args 'promptls-before-request-functions connection)
  (cons connection
        (promptls-connection-send connection method (or params (make-hash-table))
                                  (lambda (result) (funcall done (promptls-normalize-json result)))
                                  (lambda (code message)
                                    (funcall failed code
                                             (if (promptls-connection-live-p connection)
                                                 message
                                               promptls--server-stopped-message))))))

(defun promptls-cancel-request (handle)
  "Cancel the request of HANDLE; its callbacks are not called."
  (when (promptls-connection-live-p (car handle))
    (promptls-connection-cancel (car handle) (cdr handle))))

(cl-defun promptls-request (method params &key connection timeout)
  "Send the request METHOD with PARAMS and return the normalized result.
CONNECTION defaults to the connection of the current buffer, TIMEOUT to
60 seconds.  Quitting cancels the request."
  (let* ((connection (or connection (promptls-connect)))
         (timeout (or timeout promptls--timeout))
         (deadline (+ (float-time) timeout))
         state value
         (handle (promptls-request-async
                  connection method params
                  (lambda (result) (setq state 'done value result))
                  (lambda (_code message) (setq state 'failed value message)))))
    (unwind-protect
        (while (null state)
          (accept-process-output nil 0.05)
          (cond
           (state)
           ((not (promptls-connection-live-p connection))
            (setq state 'failed value promptls--server-stopped-message))
           ((> (float-time) deadline)
            (user-error "No response to %s within %s s" method timeout))))
      (unless state
        (promptls-cancel-request handle)))
    (if (eq state 'done)
        value
      (user-error "%s" value))))

;;;; Requests of the server for a language model

(defun promptls-complete-capability ()
  "Return t if the server may ask the model of gptel, else `:json-false'.
The user sets `promptls-language-model-use' to \"editor\"; a project cannot."
  (if (and (equal "editor" (default-value 'promptls-language-model-use))
           (locate-library "gptel"))
      t
    :json-false))

(defun promptls-complete (params done failed)
  "Answer PARAMS of promptls/complete; call DONE with the result or FAILED."
  (require 'promptls-gptel)
  (condition-case err
      (promptls-gptel-complete (promptls-normalize-json params) done failed)
    (error (funcall failed (error-message-string err)))))

;;;; Status

(defvar promptls-status-functions nil
  "Functions of a connection and its status, called when the status changes.")

(defun promptls-record-status (connection status)
  "Record STATUS, a result of promptls/status, for CONNECTION."
  (let ((status (promptls-normalize-json status)))
    (puthash connection status promptls--last-statuses)
    (force-mode-line-update t)
    (run-hook-with-args 'promptls-status-functions connection status)))

(defun promptls-last-status (connection)
  "Return the last reported status of CONNECTION, or nil."
  (gethash connection promptls--last-statuses))

(defun promptls-when-indexed (connection function)
  "Call FUNCTION once when the index of CONNECTION is complete."
  (letrec ((check (lambda (of status)
                    (when (and (eq of connection) (<= 1 (or (plist-get status :complete) 0)))
                      (remove-hook 'promptls-status-functions check)
                      (funcall function)))))
    (add-hook 'promptls-status-functions check)
    (funcall check connection (promptls-last-status connection))))

(defun promptls-status-summary (status)
  "Return a one- or two-word summary of STATUS, a result of promptls/status."
  (let ((complete (or (plist-get status :complete) 0))
        (state (or (plist-get status :state) "starting")))
    (if (and (member state '("indexing" "scanning")) (< 0 complete 1))
        (format "%s %d%%" state (floor (* 100 complete)))
      state)))

(defun promptls-mode-line ()
  "Return the mode line text with the server status of this buffer."
  (let ((connection promptls-buffer-connection))
    (cond
     ((or (null connection) (not (promptls-connection-live-p connection)))
      (if (derived-mode-p 'promptls-mode) " promptls[off]" ""))
     ((not (promptls-connection-ready-p connection)) " promptls[starting]")
     ;; A percent sign starts a construct of the mode line.
     (t (format " promptls[%s]"
                (string-replace "%" "%%"
                                (promptls-status-summary (promptls-last-status connection))))))))

(provide 'promptls-server)
;;; promptls-server.el ends here
