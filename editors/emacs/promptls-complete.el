;;; promptls-complete.el --- Completion of mentions  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; One function for `completion-at-point-functions', for prompt documents, the
;; minibuffer and chats alike: it asks the server what to offer at point.  The
;; server ranks and matches (it knows the paths and symbols), so Emacs shows
;; its answer as it is.

;;; Code:

(require 'cl-lib)
(require 'promptls-data)
(require 'promptls-server)
(require 'promptls-context)

(defcustom promptls-completion-limit 100
  "How many candidates are asked for."
  :type 'natnum
  :group 'promptls)

(defcustom promptls-complete-on-at t
  "Whether a typed \"@\" shows what can be mentioned.
This holds where no Company and no Corfu is active; these show it
themselves."
  :type 'boolean
  :group 'promptls)

;;;; A style that leaves the choice to the server

(defun promptls-complete--try (string table predicate _point)
  "Complete STRING by TABLE, filtered by PREDICATE, as far as all candidates agree."
  (let ((candidates (all-completions string table predicate)))
    (cond
     ((null candidates) nil)
     ((null (cdr candidates))
      (if (equal (car candidates) string)
          t
        (cons (car candidates) (length (car candidates)))))
     (t
      (let ((common (try-completion string candidates)))
        (if (and (stringp common) (> (length common) (length string)))
            (cons common (length common))
          (cons string (length string))))))))

(defun promptls-complete--all (string table predicate _point)
  "Return all candidates for STRING of TABLE, filtered by PREDICATE."
  (all-completions string table predicate))

(add-to-list 'completion-styles-alist
             '(promptls promptls-complete--try promptls-complete--all
                        "What the promptls server offers, in its order."))
(add-to-list 'completion-category-defaults '(promptls (styles promptls)))

;;;; Asking

(defun promptls-complete--origin ()
  "Return the buffer whose project is asked about; not the minibuffer."
  (if (minibufferp)
      (window-buffer (or (minibuffer-selected-window) (selected-window)))
    (current-buffer)))

(defun promptls-complete--ask (connection text index)
  "Ask CONNECTION what to offer at INDEX of TEXT; nil if it does not answer."
  (with-demoted-errors "promptls: %S"
    (promptls-request "promptls/completeMention"
                      (list :text text
                            :offset (promptls-units (substring text 0 index) "utf-16")
                            :context (promptls-context connection)
                            :limit promptls-completion-limit)
                      :connection connection
                      :timeout 5)))

(defun promptls-complete--candidate (item)
  "Return the candidate for ITEM, which it carries along."
  (propertize (plist-get item :insertText) 'promptls-item item))

(defun promptls-complete--item (candidate)
  "Return what the server said of CANDIDATE."
  (get-text-property 0 'promptls-item candidate))

(defun promptls-complete--annotation (candidate)
  "Return what is shown beside CANDIDATE: detail and cost."
  (when-let ((item (promptls-complete--item candidate)))
    (let ((detail (or (plist-get item :detail) ""))
          (tokens (or (plist-get item :tokens) 0)))
      (concat "  " (string-join
                    (delq nil (list (unless (string-empty-p detail) detail)
                                    (when (> tokens 0)
                                      (format "%s tokens" (promptls-count tokens)))))
                    ", ")))))

(defun promptls-complete--documentation (candidate)
  "Return a buffer with the documentation of CANDIDATE, nil if it has none."
  (let ((text (plist-get (promptls-complete--item candidate) :documentation)))
    (when (and text (not (string-empty-p text)))
      (with-current-buffer (get-buffer-create " *promptls documentation*")
        (erase-buffer)
        (insert text)
        (current-buffer)))))

(defun promptls-complete--kind (candidate)
  "Return the kind of CANDIDATE, as completion frontends call it."
  (pcase (plist-get (promptls-complete--item candidate) :kind)
    ("symbol" 'function)
    ("folder" 'folder)
    ("file" 'file)
    ("workspace" 'module)
    (_ 'keyword)))

(defun promptls-complete--table (connection before after first)
  "Return a completion table for what stands between BEFORE and AFTER.
CONNECTION is asked anew whenever that changes; FIRST is (STRING . ITEMS),
the first answer."
  (let ((known (list first)))
    (lambda (string predicate action)
      (pcase action
        ('metadata
         `(metadata (category . promptls)
                    (annotation-function . ,#'promptls-complete--annotation)
                    (display-sort-function . ,#'identity)
                    (cycle-sort-function . ,#'identity)))
        (`(boundaries . ,_) nil)
        (_
         (let ((items
                (cdr (or (assoc string known)
                         (car (push
                               (cons string
                                     (plist-get
                                      (promptls-complete--ask
                                       connection (concat before string after)
                                       (+ (length before) (length string)))
                                      :items))
                               known))))))
           (let ((candidates (seq-filter (or predicate #'always)
                                         (mapcar #'promptls-complete--candidate items))))
             (pcase action
               ('t candidates)
               ('lambda (and (member string candidates) t))
               ('nil (cond ((null candidates) nil)
                           ((equal candidates (list string)) t)
                           (t (try-completion string candidates))))))))))))

;;;###autoload
(defun promptls-completion-at-point ()
  "Complete the mention at point; for `completion-at-point-functions'."
  ;; An error here would break into the user's typing, and throw away what was
  ;; typed ahead: a server may die at any time.
  (with-demoted-errors "promptls: %S"
    (when (save-excursion (search-backward "@" (line-beginning-position) t))
      (when-let ((connection (with-current-buffer (promptls-complete--origin)
                               (promptls-connection))))
        (when (promptls-connection-ready-p connection)
          (promptls-complete--at-point connection))))))

(defun promptls-complete--at-point (connection)
  "Return what `completion-at-point-functions' want of us, by CONNECTION."
  (let* ((first (if (minibufferp) (minibuffer-prompt-end) (point-min)))
         (text (buffer-substring-no-properties first (point-max)))
         (index (- (point) first))
         (answer (with-current-buffer (promptls-complete--origin)
                   (promptls-complete--ask connection text index)))
         (start (promptls-index text (or (promptls-get answer :replace :start) 0)))
         (end (promptls-index text (or (promptls-get answer :replace :end) 0)))
         (items (plist-get answer :items)))
    (when (and items (<= start index end))
      (list (+ first start) (+ first end)
            (promptls-complete--table
             connection (substring text 0 start) (substring text end)
             (cons (substring text start end) items))
            :annotation-function #'promptls-complete--annotation
            :company-kind #'promptls-complete--kind
            :company-docsig (lambda (candidate)
                              (plist-get (promptls-complete--item candidate) :detail))
            :company-doc-buffer #'promptls-complete--documentation
            :company-prefix-length t))))

(defun promptls-complete-after-insert ()
  "Show what can be mentioned after a typed \"@\", and for what follows it.
For `post-self-insert-hook'."
  (when (and promptls-complete-on-at
             (not (bound-and-true-p company-mode))
             (not (bound-and-true-p corfu-mode))
             (not executing-kbd-macro))
    (with-demoted-errors "promptls: %S"
      (cond
       ((eq last-command-event ?@)
        (unless (memq (char-syntax (or (char-before (1- (point))) ?\s)) '(?w ?_))
          (completion-help-at-point)))
       ((and completion-in-region-mode (get-buffer-window "*Completions*" 0))
        (if (promptls-completion-at-point)
            (completion-help-at-point)
          (completion-in-region-mode -1)))))))

(defun promptls-complete-done ()
  "Take away a list of candidates that is still shown."
  (when completion-in-region-mode
    (completion-in-region-mode -1)))

(provide 'promptls-complete)
;;; promptls-complete.el ends here
