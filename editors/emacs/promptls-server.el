;;; promptls-server.el --- Finding, starting and asking the server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; One small layer over whichever LSP client runs the server.  A client is a
;; file (promptls-lsp.el, promptls-eglot.el) with methods for the generic
;; functions below; everything else asks through `promptls-request' and
;; `promptls-request-async'.

;;; Code:

(require 'cl-lib)
(require 'project)
(require 'subr-x)
(require 'promptls-data)

(declare-function promptls-scratch-buffer "promptls" (root))

;;;; Options

(defcustom promptls-command nil
  "The program `promptls', or a list of it and its first arguments.
If nil it is looked for: in the project's .venv if you allow that (see
`promptls-allow-project-server'), then in the variable `exec-path'."
  :type '(choice (const :tag "Look for it" nil)
                 (file :tag "Program")
                 (repeat :tag "Program and arguments" string))
  :risky t
  :group 'promptls)

(defcustom promptls-allow-project-server nil
  "Whether a server in the .venv of the project may be started.
That runs a program which the project brought along, so it is yours to
allow."
  :type 'boolean
  :risky t
  :group 'promptls)

(defcustom promptls-client 'auto
  "The LSP client that runs the server.
With `auto' it is lsp-mode or Eglot, whichever is loaded; lsp-mode if
both are, or if none is and it is installed."
  :type '(choice (const auto) (const lsp-mode) (const eglot))
  :group 'promptls)

(defcustom promptls-connect-timeout 60
  "Seconds to wait for the server to start."
  :type 'number
  :group 'promptls)

(defcustom promptls-request-timeout 60
  "Seconds to wait for an answer."
  :type 'number
  :group 'promptls)

;;;; Finding the program

(defun promptls-find-program (&optional root)
  "Return (COMMAND . ORIGIN) for the project at ROOT, nil if there is none.
ORIGIN tells which of the places it was found in."
  (let ((ours (and promptls-allow-project-server root
                   (seq-find #'file-executable-p
                             (mapcar (lambda (name) (expand-file-name name root))
                                     '(".venv/bin/promptls" ".venv/Scripts/promptls.exe"))))))
    (cond
     ((stringp promptls-command) (cons (list promptls-command) "the option promptls-command"))
     (promptls-command
      (cons (if (equal (car (last promptls-command)) "serve")
                (butlast promptls-command)
              promptls-command)
            "the option promptls-command"))
     (ours (cons (list ours) "the project's .venv"))
     (t (when-let ((program (executable-find "promptls")))
          (cons (list program) "exec-path"))))))

(defun promptls-program (verb &optional root)
  "Return the command line for VERB of promptls in the project at ROOT."
  (let ((found (car (promptls-find-program root))))
    (cond
     ((null found)
      (user-error "The program promptls was not found; run pip install . in its clone, or set promptls-command"))
     ((not (executable-find (car found)))
      (user-error "%s cannot be run; correct the option promptls-command" (car found)))
     (t (append found (list verb))))))

;;;; Projects

(defun promptls-root (&optional buffer)
  "Return the root of the project of BUFFER or the current one, with a slash."
  (with-current-buffer (or buffer (current-buffer))
    (let ((folder (if buffer-file-name
                      (file-name-directory buffer-file-name)
                    default-directory)))
      (when (file-remote-p folder)
        (user-error "This is a file of another machine; promptls works on local files only"))
      (file-name-as-directory
       (expand-file-name
        (if-let ((project (project-current nil folder)))
            (project-root project)
          folder))))))

(defun promptls-own-root (buffer)
  "Return the root of the project of BUFFER, unless that is too much to index."
  (let ((root (promptls-root buffer)))
    (when (member (file-truename root)
                  (list "/" (file-name-as-directory (file-truename "~"))))
      (user-error "%s is no project; put this file into a folder of its own, or under version control"
                  (abbreviate-file-name root)))
    root))

;;;; What a client must do

(defun promptls-client-load (client)
  "Make CLIENT, a symbol, ready for use; return nil if it is not installed."
  (pcase client
    ('lsp-mode (and (require 'lsp-mode nil t) (require 'promptls-lsp)))
    ('eglot (and (require 'eglot nil t) (require 'promptls-eglot)))))

(cl-defgeneric promptls-client-start (client buffer)
  "Let CLIENT start the server for BUFFER, a prompt document, without waiting.")

(cl-defgeneric promptls-client-connections (client)
  "Return the connections of CLIENT to our server, those that start included.")

(cl-defgeneric promptls-connection-live-p (connection)
  "Return non-nil while the server of CONNECTION is running.")

(cl-defgeneric promptls-connection-ready-p (connection)
  "Return non-nil when the server of CONNECTION takes requests.")

(cl-defgeneric promptls-connection-roots (connection)
  "Return the folders that the server of CONNECTION works for.")

(cl-defgeneric promptls-connection-uri (connection file)
  "Return the uri of FILE as the client of CONNECTION spells it.")

(cl-defgeneric promptls-connection-capabilities (connection)
  "Return what the server of CONNECTION can do, as plain Lisp.")

(defun promptls-connection-encoding (connection)
  "Return the position encoding of CONNECTION."
  (or (plist-get (promptls-connection-capabilities connection) :positionEncoding)
      "utf-16"))

(defun promptls-connection-offers-p (connection capability)
  "Return non-nil if the server of CONNECTION has CAPABILITY, a keyword."
  (plist-get (promptls-connection-capabilities connection) capability))

(cl-defgeneric promptls-connection-manages-p (connection buffer)
  "Return non-nil if the client of CONNECTION manages BUFFER.")

(cl-defgeneric promptls-connection-flush (connection)
  "Send the edits that the client of CONNECTION has not sent yet.")

(cl-defgeneric promptls-connection-send (connection method params done failed)
  "Send the request METHOD with PARAMS to CONNECTION and return its id.
Call DONE with the result, or FAILED with a code and a message.")

(cl-defgeneric promptls-connection-drop (connection id)
  "Cancel the request ID of CONNECTION and forget its answer.")

(cl-defgeneric promptls-connection-tell (connection method params)
  "Send the notification METHOD with PARAMS to CONNECTION.")

(cl-defmethod promptls-connection-send :around (connection method params done failed)
  "Make PARAMS fit for JSON; CONNECTION, METHOD, DONE and FAILED stay as they are."
  (cl-call-next-method connection method (promptls-unicode params) done failed))

(cl-defmethod promptls-connection-tell :around (connection method params)
  "Make PARAMS fit for JSON; CONNECTION and METHOD stay as they are."
  (cl-call-next-method connection method (promptls-unicode params)))

(cl-defgeneric promptls-connection-restart (connection)
  "Stop the server of CONNECTION and start it anew.")

(cl-defgeneric promptls-connection-configure (connection)
  "Tell the server of CONNECTION that settings have changed.")

(cl-defgeneric promptls-connection-process (connection)
  "Return the process of the server of CONNECTION.")

(cl-defmethod promptls-client-connections ((_client symbol))
  "Return none: this client is not loaded."
  nil)

;;;; Connections

(defvar promptls-connected-functions nil
  "Functions called with a connection that has become ready.")

(defvar promptls-before-request-functions nil
  "Functions called with a connection before each request.")

(defvar-local promptls-own-connection nil
  "The connection that this buffer is known to belong to; for the mode line.")

(defvar promptls--statuses (make-hash-table :test #'eq :weakness 'key)
  "What each connection's server last told of itself.")

(defun promptls-connections ()
  "Return all live connections, of all clients."
  (seq-filter #'promptls-connection-live-p
              (append (promptls-client-connections 'lsp-mode)
                      (promptls-client-connections 'eglot))))

(defun promptls-connection (&optional buffer)
  "Return the live connection that BUFFER or the current one belongs to, or nil."
  (let* ((buffer (or buffer (current-buffer)))
         (file (with-current-buffer buffer (or buffer-file-name default-directory)))
         (names (delete-dups (list (expand-file-name file) (file-truename file))))
         (connections (promptls-connections))
         best (length-of-best 0))
    (or (seq-find (lambda (connection) (promptls-connection-manages-p connection buffer))
                  connections)
        (dolist (connection connections best)
          (dolist (root (promptls-connection-roots connection))
            (when (and (>= (length root) length-of-best)
                       (seq-some (lambda (name) (promptls-inside-p name root)) names))
              (setq best connection length-of-best (length root))))))))

(defun promptls--choose-client ()
  "Return the client to start the server with, loaded."
  (let ((wanted (pcase promptls-client
                  ('auto (cond ((featurep 'lsp-mode) '(lsp-mode eglot))
                               ((featurep 'eglot) '(eglot lsp-mode))
                               (t '(lsp-mode eglot))))
                  (client (list client)))))
    (or (seq-find #'promptls-client-load wanted)
        (user-error "No LSP client was found; install lsp-mode or eglot"))))

(defun promptls-start (&optional buffer)
  "Start the server for the project of BUFFER, without waiting.
Needs a prompt document to hang on to; where BUFFER is none, the
project's scratch prompt is it."
  (let* ((buffer (or buffer (current-buffer)))
         (root (promptls-own-root buffer))
         (document (if (with-current-buffer buffer
                         (and buffer-file-name (derived-mode-p 'promptls-mode)))
                       buffer
                     (promptls-scratch-buffer root)))
         ;; First this: it loads the file with the client's methods.
         (client (promptls--choose-client)))
    (promptls-program "serve" root)
    (promptls-client-start client document)))

(defun promptls--let-go ()
  "Wait until the clients have noticed which servers have died.
They would else hand out a dead one, or one that they start anew by
themselves would be a second one."
  (let ((deadline (+ (float-time) 3)))
    (while (and (< (float-time) deadline)
                (not (seq-every-p #'promptls-connection-live-p
                                  (append (promptls-client-connections 'lsp-mode)
                                          (promptls-client-connections 'eglot)))))
      (accept-process-output nil 0.02))))

(defun promptls-connect ()
  "Return the connection of this project, starting the server if need be."
  (let ((connection (promptls-connection))
        (deadline (+ (float-time) promptls-connect-timeout))
        (reporter nil))
    (unless connection
      (promptls--let-go)
      (unless (setq connection (promptls-connection))
        (promptls-start)))
    (while (not (and (setq connection (or (promptls-connection) connection))
                     (promptls-connection-ready-p connection)))
      (unless reporter
        (setq reporter t)
        (message "Starting the promptls server…"))
      (accept-process-output nil 0.05)
      (when (and connection (not (promptls-connection-live-p connection)))
        (user-error "The promptls server ended while it started; M-x promptls-doctor tells what is wrong"))
      (when (> (float-time) deadline)
        (user-error "The promptls server has not started within %s seconds; M-x promptls-doctor tells what is wrong"
                    promptls-connect-timeout)))
    (promptls-connected connection)
    connection))

(defvar promptls--connected (make-hash-table :test #'eq :weakness 'key)
  "The connections that `promptls-connected-functions' have been told of.")

(defun promptls-connected (connection)
  "Note that CONNECTION is ready; clients call this."
  (unless (gethash connection promptls--connected)
    (puthash connection t promptls--connected)
    (run-hook-with-args 'promptls-connected-functions connection)
    (dolist (buffer (buffer-list))
      (when (promptls-connection-manages-p connection buffer)
        (with-current-buffer buffer
          (setq promptls-own-connection connection))))
    (force-mode-line-update t)))

;;;; Requests

(defconst promptls--stopped
  "The promptls server stopped before it answered; try again, it is started anew"
  "What is told of requests whose server has ended.")

(defun promptls-request-async (connection method params done failed)
  "Send the request METHOD with PARAMS to CONNECTION.
Return a handle for `promptls-cancel-request'.  Call DONE with the
result as plain Lisp, or FAILED with a code and a message."
  (promptls-connection-flush connection)
  (run-hook-with-args 'promptls-before-request-functions connection)
  (cons connection
        (promptls-connection-send connection method (or params (make-hash-table))
                                  (lambda (result) (funcall done (promptls-plain result)))
                                  (lambda (code message)
                                    (funcall failed code
                                             (if (promptls-connection-live-p connection)
                                                 message
                                               promptls--stopped))))))

(defun promptls-cancel-request (handle)
  "Cancel the request of HANDLE; nothing more is heard of it."
  (when (promptls-connection-live-p (car handle))
    (promptls-connection-drop (car handle) (cdr handle))))

(cl-defun promptls-request (method params &key connection timeout)
  "Return the answer to the request METHOD with PARAMS as plain Lisp.
CONNECTION is that of the current buffer by default, TIMEOUT is
`promptls-request-timeout' seconds.  Quitting cancels the request."
  (let* ((connection (or connection (promptls-connect)))
         (timeout (or timeout promptls-request-timeout))
         (deadline (+ (float-time) timeout))
         state answer
         (handle (promptls-request-async
                  connection method params
                  (lambda (result) (setq state 'done answer result))
                  (lambda (_code message) (setq state 'failed answer message)))))
    (unwind-protect
        (while (null state)
          (accept-process-output nil 0.05)
          (cond
           (state)
           ((not (promptls-connection-live-p connection))
            (setq state 'failed answer promptls--stopped))
           ((> (float-time) deadline)
            (user-error "The promptls server has not answered %s within %s seconds" method timeout))))
      (unless state
        (promptls-cancel-request handle)))
    (if (eq state 'done)
        answer
      (user-error "%s" answer))))

;;;; Status

(defun promptls-note-status (connection status)
  "Remember STATUS, an answer to promptls/status, as that of CONNECTION."
  (puthash connection (promptls-plain status) promptls--statuses)
  (force-mode-line-update t))

(defun promptls-known-status (connection)
  "Return what CONNECTION's server last told of itself, nil before it has."
  (gethash connection promptls--statuses))

(defun promptls-status-word (status)
  "Return STATUS, an answer to promptls/status, in a word or two."
  (let ((complete (or (plist-get status :complete) 0))
        (state (or (plist-get status :state) "starting")))
    (if (and (member state '("indexing" "scanning")) (< 0 complete 1))
        (format "%s %d%%" state (floor (* 100 complete)))
      state)))

(defun promptls-mode-line ()
  "Return the state of the server of this buffer for the mode line."
  (let ((connection promptls-own-connection))
    (cond
     ((or (null connection) (not (promptls-connection-live-p connection)))
      (if (derived-mode-p 'promptls-mode) " promptls[off]" ""))
     ((not (promptls-connection-ready-p connection)) " promptls[starting]")
     (t (format " promptls[%s]" (promptls-status-word (promptls-known-status connection)))))))

(provide 'promptls-server)
;;; promptls-server.el ends here
