;;; promptls-data.el --- Conversion between LSP data and Lisp  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Results are normalized independently of the LSP client: objects are property
;; lists, arrays are lists, null and false are nil.  Requests need the inverse:
;; positions, locations and server settings as JSON values.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'promptls-settings)

;;;; Results

(defun promptls-normalize-json (value)
  "Return VALUE, a JSON value decoded by an LSP client, in normalized form."
  (cond
   ((hash-table-p value)
    (let (pairs)
      (maphash (lambda (key inner)
                 (push (if (keywordp key) key (intern (format ":%s" key))) pairs)
                 (push (promptls-normalize-json inner) pairs))
               value)
      (nreverse pairs)))
   ((vectorp value) (mapcar #'promptls-normalize-json value))
   ((memq value '(:json-false :null)) nil)
   ((and (consp value) (keywordp (car value)))
    (cl-loop for (key inner) on value by #'cddr
             append (list key (promptls-normalize-json inner))))
   ((consp value) (mapcar #'promptls-normalize-json value))
   (t value)))

(defun promptls-get (value &rest path)
  "Return the element at PATH, keywords, of the nested property list VALUE."
  (while (and value path)
    (setq value (plist-get value (pop path))))
  value)

;;;; Requests

(defconst promptls-invalid-char-regexp "[^\u0000-\ud7ff\ue000-\U0010ffff]"
  "Regexp that matches characters that JSON cannot encode, such as raw bytes.")

(defun promptls-replace-invalid-chars (value)
  "Return VALUE with characters that JSON cannot encode replaced by U+FFFD."
  (pcase value
    ((pred stringp)
     (let ((text (string-to-multibyte value)))
       (if (string-match-p promptls-invalid-char-regexp text)
           (replace-regexp-in-string promptls-invalid-char-regexp "\ufffd" text t t)
         text)))
    ((pred vectorp) (vconcat (mapcar #'promptls-replace-invalid-chars value)))
    ((pred consp) (mapcar #'promptls-replace-invalid-chars value))
    (_ value)))

(defun promptls-one-line (text)
  "Return TEXT with a space instead of line breaks and control characters."
  (replace-regexp-in-string "[[:cntrl:]\u2028\u2029]+" " " text))

;;;; Locations

(defun promptls-uri-to-file (uri)
  "Return the file name of URI, or nil if it is not a file URI."
  (when (and (stringp uri) (string-prefix-p "file://" uri))
    (let ((path (decode-coding-string
                 (url-unhex-string (substring uri (length "file://"))) 'utf-8)))
      (setq path (if (string-match-p "\\`/[A-Za-z]:/" path) (substring path 1) path))
      ;; A name such as "/ssh:host:/file" would connect to a host.
      (unless (file-remote-p path) path))))

(declare-function url-unhex-string "url-util" (str &optional allow-newlines))
(autoload 'url-unhex-string "url-util")

(defun promptls-range-lines (range)
  "Return the lines (FIRST . LAST) of the LSP range RANGE, 1-based and inclusive."
  (let ((start (or (promptls-get range :start :line) 0))
        (end (or (promptls-get range :end :line) 0)))
    (when (and (> end start) (zerop (or (promptls-get range :end :character) 0)))
      (setq end (1- end)))
    (cons (1+ start) (1+ (max start end)))))

(defun promptls-file-in-folder-p (file folder)
  "Return non-nil if FILE is in FOLDER or a subfolder."
  (string-prefix-p (file-name-as-directory (expand-file-name folder))
                   (file-name-as-directory (expand-file-name file))))

(defun promptls-code-units (text encoding)
  "Return the length of TEXT in code units of ENCODING.
ENCODING is \"utf-8\", \"utf-16\" or \"utf-32\"."
  (pcase encoding
    ("utf-8" (string-bytes (encode-coding-string text 'utf-8)))
    ("utf-32" (length text))
    (_ (+ (length text) (cl-count-if (lambda (char) (> char #xffff)) text)))))

(defun promptls-utf16-index (text units)
  "Return the character index in TEXT of the offset UNITS in UTF-16 code units."
  (let ((index 0) (offset 0))
    (while (and (< index (length text)) (< offset units))
      (cl-incf offset (if (> (aref text index) #xffff) 2 1))
      (cl-incf index))
    index))

(defun promptls-position (point encoding)
  "Return the LSP position of POINT in the current buffer.
ENCODING is the position encoding."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char point)
      (list :line (1- (line-number-at-pos))
            :character (promptls-code-units
                        (buffer-substring-no-properties (line-beginning-position) point)
                        encoding)))))

(defun promptls-range (start end encoding)
  "Return the LSP range from START to END in the current buffer.
ENCODING is the position encoding."
  (list :start (promptls-position start encoding)
        :end (promptls-position end encoding)))

(defun promptls-format-number (number)
  "Return NUMBER with thousands separators."
  (let ((digits (number-to-string (or number 0))) parts)
    (while (> (length digits) 3)
      (push (substring digits -3) parts)
      (setq digits (substring digits 0 -3)))
    (string-join (cons digits parts) ",")))

;;;; Settings

(defun promptls-setting-to-json (value shape)
  "Return VALUE, the value of a setting of type SHAPE, as a JSON value."
  (pcase shape
    ('boolean (if value t :json-false))
    ('array (vconcat value))
    ('object (if (null value)
                 (make-hash-table)
               (cl-loop for (key . inner) in value
                        append (list (intern (format ":%s" key)) (vconcat inner)))))
    (_ value)))

(defun promptls-settings-object (value base &optional skip-trusted)
  "Return the changed settings as a nested object, or nil if there are none.
VALUE and BASE are functions that return the current and the base value
of a variable.  If SKIP-TRUSTED is non-nil, omit settings that are
allowed only in the user settings."
  (let (sections)
    (pcase-dolist (`(,name ,variable ,shape . ,marks) promptls-settings)
      (let ((new (funcall value variable)))
        (unless (or (equal new (funcall base variable))
                    (and skip-trusted (memq 'trusted marks)))
          (pcase-let ((`(,section ,field) (split-string name "\\.")))
            (push (intern (concat ":" field)) (alist-get section sections nil nil #'equal))
            (push (promptls-setting-to-json new shape)
                  (alist-get section sections nil nil #'equal))))))
    (cl-loop for (section . fields) in (nreverse sections)
             append (list (intern (concat ":" section)) (nreverse fields)))))

(defun promptls-standard-value (variable)
  "Return the standard value of VARIABLE, a user option."
  (eval (car (get variable 'standard-value)) t))

(defun promptls-user-settings ()
  "Return the user settings that differ from the defaults."
  (promptls-settings-object #'default-value #'promptls-standard-value))

(defvar promptls--initial-values nil
  "Alist of the variables and their values at the last server start.")

(defun promptls-initialization-options ()
  "Return the user settings for the start of a server and record their values."
  (setq promptls--initial-values
        (cl-loop for (_ variable) in promptls-settings
                 collect (cons variable (default-value variable))))
  (or (promptls-user-settings) (make-hash-table)))

(defun promptls-initial-value (variable)
  "Return the value of VARIABLE at the last server start."
  (cdr (or (assq variable promptls--initial-values)
           (cons nil (default-value variable)))))

(defun promptls-workspace-settings ()
  "Return the workspace settings of the current buffer.
Only settings that differ from the initialization options are included."
  (or (promptls-settings-object #'symbol-value #'promptls-initial-value t)
      (make-hash-table)))

;; The server rejects settings that a workspace may not change, so directory
;; variables of the right type are safe.
(pcase-dolist (`(,_ ,variable ,shape . ,_) promptls-settings)
  (put variable 'safe-local-variable
       (pcase shape
         ('boolean #'booleanp)
         ((or 'array 'object) #'listp)
         (_ (lambda (value) (or (null value) (stringp value) (numberp value)))))))

(provide 'promptls-data)
;;; promptls-data.el ends here
