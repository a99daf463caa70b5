;;; check.el --- What all batch tests of the Emacs package share  -*- lexical-binding: t; -*-

;;; Commentary:

;; Checks print one line each, "ok NAME" or "FAIL NAME: why", which suite.py
;; counts.  The environment says where things are: EMACS_PACKAGES (folder with
;; lsp-mode and the like), PROMPTLS_LISP (the package), PROMPTLS_COMMAND,
;; WORKSPACE (a copy that may be changed).

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

(defvar check-failures 0 "How many checks have failed.")

(defun check (name ok &optional info)
  "Report the check NAME: passed if OK is non-nil, else failed because of INFO."
  (unless ok (cl-incf check-failures))
  (let ((inhibit-message nil))
    (princ (if ok
               (format "ok %s\n" name)
             (format "FAIL %s: %s\n" name
                     (replace-regexp-in-string "\n" "\\\\n"
                                               (truncate-string-to-width
                                                (format "%S" info) 600)))))))

(defmacro check-that (name &rest body)
  "Report the check NAME: passed if BODY returns non-nil, failed if it does not or errs."
  (declare (indent 1))
  `(condition-case err
       (check ,name (progn ,@body) "it returned nil")
     (error (check ,name nil err))
     (quit (check ,name nil 'quit))))

(defun check-equal (name got wanted)
  "Report the check NAME: GOT must be equal to WANTED."
  (check name (equal got wanted) (list 'got got 'wanted wanted)))

(defun wait-for (predicate &optional seconds)
  "Wait until PREDICATE returns non-nil, at most SECONDS, 30 by default; return its value."
  (let ((deadline (+ (float-time) (or seconds 30))) value)
    (while (and (not (setq value (funcall predicate)))
                (< (float-time) deadline))
      (accept-process-output nil 0.02))
    value))

(defun workspace (&optional name)
  "Return the path of NAME in the workspace."
  (expand-file-name (or name "") (file-name-as-directory (getenv "WORKSPACE"))))

(defun finish ()
  "End Emacs, with the verdict as exit status."
  (dolist (buffer (buffer-list))
    (when (buffer-file-name buffer)
      (with-current-buffer buffer (set-buffer-modified-p nil))))
  (let ((inhibit-message nil))
    (princ "end\n"))
  (kill-emacs (if (zerop check-failures) 0 1)))

(provide 'check)
;;; check.el ends here
