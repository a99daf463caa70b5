;;; check.el --- Helpers of the batch tests  -*- lexical-binding: t; -*-

;;; Commentary:

;; Each check prints one line, "ok NAME" or "FAIL NAME: reason"; suite.py counts
;; them.  Environment variables: EMACS_PACKAGES (folders with lsp-mode and other
;; packages), PROMPTLS_LISP (the package), PROMPTLS_COMMAND (the server),
;; WORKSPACE (a copy that tests may modify).

;;; Code:

(require 'cl-lib)
(require 'package)

(setq load-prefer-newer t
      create-lockfiles nil
      make-backup-files nil
      auto-save-default nil
      enable-local-variables :all
      inhibit-message (not (getenv "PROMPTLS_TEST_LOUD")))

(dolist (folder (split-string (or (getenv "EMACS_PACKAGES") "") ":" t))
  (add-to-list 'package-directory-list folder))
(package-initialize)
(add-to-list 'load-path (getenv "PROMPTLS_LISP"))

(defvar check-failures 0 "Number of failed checks.")

(defun check (name ok &optional info)
  "Report the check NAME as passed if OK is non-nil, else as failed with INFO."
  (unless ok (cl-incf check-failures))
  (let ((inhibit-message nil))
    (princ (if ok
               (format "ok %s\n" name)
             (format "FAIL %s: %s\n" name
                     (replace-regexp-in-string "\n" "\\\\n"
                                               (truncate-string-to-width
                                                (format "%S" info) 600)))))))

(defmacro check-that (name &rest body)
  "Report the check NAME as passed if BODY returns non-nil.
It fails if BODY returns nil or signals an error."
  (declare (indent 1))
  `(condition-case err
       (check ,name (progn ,@body) "returned nil")
     (error (check ,name nil err))
     (quit (check ,name nil 'quit))))

(defun check-equal (name actual expected)
  "Report the check NAME as passed if ACTUAL is equal to EXPECTED."
  (check name (equal actual expected) (list 'actual actual 'expected expected)))

(defun wait-for (predicate &optional seconds)
  "Wait until PREDICATE returns non-nil and return its value.
Return nil after SECONDS, 30 by default."
  (let ((deadline (+ (float-time) (or seconds 30))) value)
    (while (and (not (setq value (funcall predicate)))
                (< (float-time) deadline))
      (accept-process-output nil 0.02))
    value))

(defun workspace (&optional name)
  "Return the absolute path of NAME in the workspace."
  (expand-file-name (or name "") (file-name-as-directory (getenv "WORKSPACE"))))

(defun finish ()
  "Exit Emacs with status 0 if all checks have passed, else 1."
  (dolist (buffer (buffer-list))
    (when (buffer-file-name buffer)
      (with-current-buffer buffer (set-buffer-modified-p nil))))
  (let ((inhibit-message nil))
    (princ "end\n"))
  (kill-emacs (if (zerop check-failures) 0 1)))

(provide 'check)
;;; check.el ends here
