;;; static.el --- Byte compilation, linters and installation  -*- lexical-binding: t; -*-

;;; Commentary:

;; Byte-compiles every file with warnings as errors, runs checkdoc and
;; package-lint, and installs the folder with package.el.  Without EMACS_PACKAGES
;; only the compilation runs: it must succeed without an installed LSP client.

;;; Code:

(load (expand-file-name "check.el" (file-name-directory load-file-name)) nil t)
(require 'checkdoc)
(require 'bytecomp)

(defvar static-folder
  (let ((folder (make-temp-file "promptls" t)))
    (dolist (file (directory-files (getenv "PROMPTLS_LISP") t "\\.el\\'"))
      (copy-file file (file-name-as-directory folder)))
    folder)
  "Temporary copy of the package, for the compiled files.")

(defvar static-files (directory-files static-folder t "\\`promptls.*\\.el\\'")
  "Source files of the package.")

(setq load-path (cons static-folder (delete (getenv "PROMPTLS_LISP") load-path)))

(defun static-compile (name)
  "Check that all files compile without warnings; NAME names the check."
  (let ((byte-compile-error-on-warn t)
        (byte-compile-warnings t)
        (problems nil))
    (dolist (file static-files)
      (unless (eq t (byte-compile-file file))
        (push (cons (file-name-nondirectory file)
                    (with-current-buffer "*Compile-Log*" (buffer-string)))
              problems)))
    (check name (null problems) problems)))

(static-compile (if (getenv "EMACS_PACKAGES")
                    "compiles without warnings"
                  "compiles without warnings without an LSP client"))

(when (getenv "EMACS_PACKAGES")
  (let ((problems nil))
    (dolist (file static-files)
      (let ((checkdoc-create-error-function
             (lambda (text start _end &optional _unfixable)
               (push (format "%s:%s: %s" (file-name-nondirectory file)
                             (if start (line-number-at-pos start) "") text)
                     problems)
               nil))
            (checkdoc-autofix-flag 'never)
            (checkdoc-spellcheck-documentation-flag nil))
        (with-current-buffer (find-file-noselect file)
          (checkdoc-current-buffer t)
          (kill-buffer))))
    (check "checkdoc reports no problems" (null problems) problems))

  (let ((found nil))
    (dolist (file static-files)
      (with-temp-buffer
        (insert-file-contents file)
        (while (re-search-forward (concat "shell-command\\|shell-file-name\\|process-send\\|-send-\\(string\\|input\\)"
                                          "\\|browse-url\\|(start-process\\|(call-process\\|eval-\\(buffer\\|region\\)")
                                  nil t)
          (push (list (file-name-nondirectory file) (match-string 0)) found))))
    (check "nothing is sent to a shell, a terminal or a browser" (null found) found))

  (when (require 'package-lint nil t)
    (let ((problems nil)
          (package-lint-main-file (expand-file-name "promptls.el" static-folder)))
      (dolist (file static-files)
        (with-current-buffer (find-file-noselect file)
          (setq-local package-lint-main-file package-lint-main-file)
          (dolist (problem (package-lint-buffer))
            ;; Ignored: old versions do not know Emacs 28, new versions report the
            ;; optional Eglot, and the package has no home page.
            (unless (string-match-p "all released Emacs versions\\|need .\\(eglot\\|jsonrpc\\)\\|Homepage or URL"
                                    (nth 3 problem))
              (push (cons (file-name-nondirectory file) problem) problems)))
          (kill-buffer)))
      (check "package-lint reports no problems" (null problems) problems)))
  (check "package-lint is installed" (featurep 'package-lint))

  (setq package-user-dir (make-temp-file "elpa" t))
  (check-that "installs as a package"
    (package-install-file static-folder)
    (assq 'promptls package-alist))
  (let* ((program
          '(progn
             (package-initialize)
             (dolist (command '(promptls-ask promptls-build promptls-copy promptls-search promptls-explain
                                promptls-graph promptls-mention-kinds promptls-memory promptls-recipes promptls-status
                                promptls-restart promptls-doctor promptls-scratch promptls-menu
                                promptls-mode promptls-sync-mode promptls-gptel-mode
                                promptls-gptel-tools))
               (unless (autoloadp (symbol-function command))
                 (princ (format "%s is not autoloaded. " command))))
             (find-file (expand-file-name "x.prompt.md" temporary-file-directory))
             (unless (and (derived-mode-p 'promptls-mode) (featurep 'promptls))
               (princ "A prompt document is not in promptls-mode."))))
         (output (with-temp-buffer
                   (call-process (expand-file-name invocation-name invocation-directory)
                                 nil t nil "-Q" "--batch"
                                 "--eval" "(require 'package)"
                                 "--eval" (format "(setq package-user-dir %S)" package-user-dir)
                                 "--eval" (format "%S" program))
                   (buffer-string))))
    (check-equal "autoloads of the installed package load commands and the major mode"
                 output ""))
  (check-that "the menu opens"
    (require 'promptls-menu)
    (get 'promptls-menu 'transient--prefix))
  (delete-directory package-user-dir t))

(delete-directory static-folder t)
(finish)
;;; static.el ends here
