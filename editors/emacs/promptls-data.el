;;; promptls-data.el --- What goes over the wire, as plain Lisp  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; One shape for answers, whichever LSP client brought them: objects are
;; property lists, arrays are lists, null and false are nil.  And the way back:
;; positions, places and the server's settings as it wants them.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'promptls-settings)

;;;; Answers

(defun promptls-plain (value)
  "Return VALUE, a decoded JSON value of any LSP client, as plain Lisp."
  (cond
   ((hash-table-p value)
    (let (pairs)
      (maphash (lambda (key inner)
                 (push (if (keywordp key) key (intern (format ":%s" key))) pairs)
                 (push (promptls-plain inner) pairs))
               value)
      (nreverse pairs)))
   ((vectorp value) (mapcar #'promptls-plain value))
   ((memq value '(:json-false :null)) nil)
   ((and (consp value) (keywordp (car value)))
    (cl-loop for (key inner) on value by #'cddr
             append (list key (promptls-plain inner))))
   ((consp value) (mapcar #'promptls-plain value))
   (t value)))

(defun promptls-get (value &rest path)
  "Return what lies at PATH, keywords, in VALUE, a property list."
  (while (and value path)
    (setq value (plist-get value (pop path))))
  value)

;;;; Requests

(defconst promptls-beyond-unicode "[^\u0000-\ud7ff\ue000-\U0010ffff]"
  "Matches what only Emacs has in its texts: raw bytes and the like.")

(defun promptls-unicode (value)
  "Return VALUE, a part of a message, with U+FFFD for what JSON cannot hold."
  (pcase value
    ((pred stringp)
     (let ((text (string-to-multibyte value)))
       (if (string-match-p promptls-beyond-unicode text)
           (replace-regexp-in-string promptls-beyond-unicode "\ufffd" text t t)
         text)))
    ((pred vectorp) (vconcat (mapcar #'promptls-unicode value)))
    ((pred consp) (mapcar #'promptls-unicode value))
    (_ value)))

;;;; Places

(defun promptls-file (uri)
  "Return the file that URI names, nil if it is no file."
  (when (and (stringp uri) (string-prefix-p "file://" uri))
    (let ((path (decode-coding-string
                 (url-unhex-string (substring uri (length "file://"))) 'utf-8)))
      (if (string-match-p "\\`/[A-Za-z]:" path) (substring path 1) path))))

(declare-function url-unhex-string "url-util" (str &optional allow-newlines))
(autoload 'url-unhex-string "url-util")

(defun promptls-lines (range)
  "Return (FIRST . LAST), 1-based and inclusive, of RANGE, an LSP range."
  (let ((start (or (promptls-get range :start :line) 0))
        (end (or (promptls-get range :end :line) 0)))
    (when (and (> end start) (zerop (or (promptls-get range :end :character) 0)))
      (setq end (1- end)))
    (cons (1+ start) (1+ (max start end)))))

(defun promptls-inside-p (file folder)
  "Return non-nil if FILE lies in FOLDER."
  (string-prefix-p (file-name-as-directory (expand-file-name folder))
                   (file-name-as-directory (expand-file-name file))))

(defun promptls-place (item)
  "Return \"path:first-last\" of ITEM, a property list with :path or :uri.
A path that is not given is told from `default-directory'."
  (let ((path (or (plist-get item :path)
                  (when-let ((file (promptls-file (plist-get item :uri))))
                    (if (promptls-inside-p file default-directory)
                        (file-relative-name file)
                      file))
                  (plist-get item :uri)
                  ""))
        (range (plist-get item :range)))
    (if (null range)
        path
      (pcase-let ((`(,first . ,last) (promptls-lines range)))
        (if (= first last)
            (format "%s:%d" path first)
          (format "%s:%d-%d" path first last))))))

(defun promptls-units (text encoding)
  "Return the length of TEXT in units of ENCODING: \"utf-8\", \"utf-16\" or \"utf-32\"."
  (pcase encoding
    ("utf-8" (string-bytes (encode-coding-string text 'utf-8)))
    ("utf-32" (length text))
    (_ (+ (length text) (cl-count-if (lambda (char) (> char #xffff)) text)))))

(defun promptls-index (text units)
  "Return the index in TEXT that is UNITS UTF-16 units from its start."
  (let ((index 0) (seen 0))
    (while (and (< index (length text)) (< seen units))
      (cl-incf seen (if (> (aref text index) #xffff) 2 1))
      (cl-incf index))
    index))

(defun promptls-position (point encoding)
  "Return the LSP position of POINT in the current buffer, counted in ENCODING."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char point)
      (list :line (1- (line-number-at-pos))
            :character (promptls-units
                        (buffer-substring-no-properties (line-beginning-position) point)
                        encoding)))))

(defun promptls-range (start end encoding)
  "Return the LSP range from START to END in the current buffer, in ENCODING."
  (list :start (promptls-position start encoding)
        :end (promptls-position end encoding)))

(defun promptls-count (number)
  "Return NUMBER with its thousands set apart."
  (let ((digits (number-to-string (or number 0))) parts)
    (while (> (length digits) 3)
      (push (substring digits -3) parts)
      (setq digits (substring digits 0 -3)))
    (string-join (cons digits parts) ",")))

;;;; Settings

(defun promptls-json (value shape)
  "Return VALUE of a setting of SHAPE as JSON encoders want it."
  (pcase shape
    ('boolean (if value t :json-false))
    ('array (vconcat value))
    ('object (if (null value)
                 (make-hash-table)
               (cl-loop for (key . inner) in value
                        append (list (intern (format ":%s" key)) (vconcat inner)))))
    (_ value)))

(defun promptls-settings-object (value base &optional skip-trusted)
  "Return the settings that differ as a nested object, nil if there are none.
VALUE and BASE are functions from a variable to its value; settings for
which both return the same are left out.  With SKIP-TRUSTED leave out
those that count only in the user's own settings."
  (let (sections)
    (pcase-dolist (`(,name ,variable ,shape . ,marks) promptls-settings)
      (let ((new (funcall value variable)))
        (unless (or (equal new (funcall base variable))
                    (and skip-trusted (memq 'trusted marks)))
          (pcase-let ((`(,section ,field) (split-string name "\\.")))
            (push (intern (concat ":" field)) (alist-get section sections nil nil #'equal))
            (push (promptls-json new shape) (alist-get section sections nil nil #'equal))))))
    (cl-loop for (section . fields) in (nreverse sections)
             append (list (intern (concat ":" section)) (nreverse fields)))))

(defun promptls-standard-value (variable)
  "Return the standard value of VARIABLE, a user option."
  (eval (car (get variable 'standard-value)) t))

(defun promptls-user-settings ()
  "Return the user's own settings, as far as they differ from the defaults."
  (promptls-settings-object #'default-value #'promptls-standard-value))

(defvar promptls--initial nil
  "What each variable was when a server was started last: (VARIABLE . VALUE).")

(defun promptls-initialization-options ()
  "Return the user's own settings, to start a server with, and remember them."
  (setq promptls--initial
        (cl-loop for (_ variable) in promptls-settings
                 collect (cons variable (default-value variable))))
  (or (promptls-user-settings) (make-hash-table)))

(defun promptls-initial-value (variable)
  "Return what VARIABLE was when a server was started last."
  (cdr (or (assq variable promptls--initial)
           (cons nil (default-value variable)))))

(defun promptls-workspace-settings ()
  "Return the settings of the current buffer's workspace.
These are all that differ from what the server was started with."
  (or (promptls-settings-object #'symbol-value #'promptls-initial-value t)
      (make-hash-table)))

;; The server itself refuses what a workspace must not decide, so directory
;; variables of the right type can be taken without asking.
(pcase-dolist (`(,_ ,variable ,shape . ,_) promptls-settings)
  (put variable 'safe-local-variable
       (pcase shape
         ('boolean #'booleanp)
         ((or 'array 'object) #'listp)
         (_ (lambda (value) (or (null value) (stringp value) (numberp value)))))))

(provide 'promptls-data)
;;; promptls-data.el ends here
