;;; readme.el --- Tests of the installation in the README  -*- lexical-binding: t; -*-

;;; Commentary:

;; Evaluates the init files of the README in new Emacs processes with an empty home
;; folder: with and without use-package, and as `promptls install emacs' writes it.

;;; Code:

(load (expand-file-name "check.el" (file-name-directory load-file-name)) nil t)

(defvar readme-folder (getenv "PROMPTLS_LISP") "The folder of the package.")

(defun readme-snippets (text)
  "Return the Lisp examples of the README that contain TEXT."
  (with-temp-buffer
    (insert-file-contents (expand-file-name "README.md" readme-folder))
    (let ((snippets nil))
      (while (re-search-forward "^```elisp\n\\(\\(?:.*\n\\)*?\\)```" nil t)
        (push (match-string 1) snippets))
      (seq-filter (lambda (snippet) (string-search text snippet)) snippets))))

(defvar readme-check
  '(progn
     (unless (eq (key-binding (kbd "C-c p")) 'promptls-menu)
       (princ "C-c p is not bound. "))
     (dolist (command '(promptls-ask promptls-menu promptls-scratch))
       (unless (commandp command)
         (princ (format "%s is not a command. " command))))
     (find-file (expand-file-name "x.prompt.md" (getenv "HOME")))
     (unless (derived-mode-p 'promptls-mode)
       (princ "A prompt document is not in promptls-mode. "))
     (require 'transient)
     (autoload-do-load (symbol-function 'promptls-menu) 'promptls-menu)
     (autoload-do-load (symbol-function 'promptls-menu) 'promptls-menu)
     (unless (get 'promptls-menu 'transient--prefix)
       (princ "The menu is not loaded. ")))
  "The form that a new Emacs evaluates after the init file.")

(defun readme-run (init &rest arguments)
  "Return the output of a new Emacs with the init file INIT and ARGUMENTS."
  (let* ((home (make-temp-file "home" t))
         (file (expand-file-name "init.el" home))
         (process-environment (cons (concat "HOME=" home) process-environment)))
    (write-region (replace-regexp-in-string "/path/to/promptls/editors/emacs"
                                            (directory-file-name readme-folder) init t t)
                  nil file nil 'quiet)
    (prog1 (with-temp-buffer
             (apply #'call-process (expand-file-name invocation-name invocation-directory)
                    nil t nil "-Q" "--batch"
                    (append arguments (list "-l" file "--eval" (format "%S" readme-check))))
             (buffer-string))
      (delete-directory home t))))

(let ((loading (readme-snippets "(require 'promptls)"))
      (with-use-package (readme-snippets "(use-package promptls")))
  (check-equal "the README has one init file with and one without use-package"
               (list (length loading) (length with-use-package)) '(1 1))
  (check-equal "the init file without use-package works"
               (readme-run (car loading)) "")
  (check-equal "the init file with use-package works"
               (readme-run (car with-use-package)
                           "--eval" (format "(setq package-directory-list '%S)" package-directory-list)
                           "--eval" "(progn (require 'package) (package-initialize) (require 'use-package))")
               ""))

(let* ((home (make-temp-file "home" t))
       (process-environment (append (list (concat "HOME=" home) "XDG_CONFIG_HOME") process-environment)))
  (call-process (getenv "PROMPTLS_COMMAND") nil nil nil "install" "emacs")
  (let ((init (with-temp-buffer
                (insert-file-contents (expand-file-name ".emacs.d/init.el" home))
                (buffer-string))))
    (check-equal "the init file of `promptls install emacs' works" (readme-run init) "")
    (check-equal "the init file names the server"
                 (readme-run (concat init "(princ (file-executable-p (car promptls-command)))")) "t"))
  (delete-directory home t))

(finish)
;;; readme.el ends here
