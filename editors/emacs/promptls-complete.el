;;; promptls-complete.el --- Completion of mentions  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Completion of mentions in prompt documents, the minibuffer and gptel chats, by
;; `completion-at-point-functions'.  The server matches and ranks the candidates;
;; Emacs displays them in the server's order.

;;; Code:

(require 'cl-lib)
(require 'promptls-data)
(require 'promptls-server)
(require 'promptls-context)

(defcustom promptls-completion-limit 100
  "Maximum number of completion candidates requested from the server."
  :type 'natnum
  :group 'promptls)

(defcustom promptls-complete-on-at t
  "Whether typing \"@\" shows the completion list.
Ignored where Company is active, or Corfu with `corfu-auto'; they show
candidates themselves."
  :type 'boolean
  :group 'promptls)

(declare-function company-idle-begin "ext:company" (buf win tick pos))

;;;; Completion style that keeps the server's matches and order

(defun promptls-complete--try (string table predicate _point)
  "Complete STRING to the common prefix of its candidates.
TABLE and PREDICATE are as for `all-completions'."
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
  "Return all candidates for STRING from TABLE, filtered by PREDICATE."
  (all-completions string table predicate))

(add-to-list 'completion-styles-alist
             '(promptls promptls-complete--try promptls-complete--all
                        "Candidates of the promptls server, in its order."))
(add-to-list 'completion-category-defaults '(promptls (styles promptls)))
;; The first candidate is the likeliest, so that TAB may insert it.
(add-to-list 'completion-category-defaults '(promptls-cycle (styles promptls) (cycle . t)))

;;;; Candidates

(defun promptls-complete--source-buffer ()
  "Return the current buffer, or in the minibuffer the buffer it was called from."
  (if (minibufferp)
      (window-buffer (or (minibuffer-selected-window) (selected-window)))
    (current-buffer)))

(defconst promptls-complete--timeout 0.5
  "Seconds to wait for candidates; Emacs does not respond in this time.")

(defun promptls-complete--request (connection text index)
  "Request the candidates at INDEX of TEXT from CONNECTION.
Return nil if the request fails or takes longer than typing can wait."
  (ignore-errors
    (promptls-request "promptls/completeMention"
                      (list :text text
                            :offset (promptls-code-units (substring text 0 index) "utf-16")
                            :context (promptls-context connection)
                            :limit promptls-completion-limit)
                      :connection connection
                      :timeout promptls-complete--timeout)))

(defun promptls-complete--candidate (item)
  "Return the candidate string for ITEM, with ITEM as a text property."
  (propertize (plist-get item :insertText) 'promptls-item item))

(defun promptls-complete--item (candidate)
  "Return the server's completion item of CANDIDATE."
  (get-text-property 0 'promptls-item candidate))

(defun promptls-complete--annotation (candidate)
  "Return the annotation of CANDIDATE: its detail and token cost."
  (when-let ((item (promptls-complete--item candidate)))
    (let* ((detail (promptls-one-line (or (plist-get item :detail) "")))
           (tokens (or (plist-get item :tokens) 0))
           (cost (when (> tokens 0) (format "%s tokens" (promptls-format-number tokens))))
           (width (- (frame-width) (string-width candidate) (length cost) 6)))
      (concat "  " (string-join
                    (delq nil (list (unless (string-empty-p detail)
                                      (truncate-string-to-width detail (max 12 width) nil nil t))
                                    cost))
                    ", ")))))

(defun promptls-complete--documentation (candidate)
  "Return a buffer with the documentation of CANDIDATE, or nil."
  (let ((text (plist-get (promptls-complete--item candidate) :documentation)))
    (when (and text (not (string-empty-p text)))
      (with-current-buffer (get-buffer-create " *promptls documentation*")
        (erase-buffer)
        (insert text)
        (current-buffer)))))

(defun promptls-complete--kind (candidate)
  "Return the `:company-kind' of CANDIDATE."
  (pcase (plist-get (promptls-complete--item candidate) :kind)
    ("symbol" 'function)
    ("folder" 'folder)
    ("file" 'file)
    ("workspace" 'module)
    (_ 'keyword)))

(defun promptls-complete--table (connection before after first)
  "Return a completion table for the text between BEFORE and AFTER.
The table sends a request to CONNECTION for each new string and caches
the items.  FIRST is the first cache entry, (STRING . ITEMS)."
  (let ((cache (list first)))
    (lambda (string predicate action)
      (pcase action
        ('metadata
         ;; Corfu would insert a candidate instead of showing all.
         `(metadata (category . ,(if (bound-and-true-p corfu-mode) 'promptls 'promptls-cycle))
                    (annotation-function . ,#'promptls-complete--annotation)
                    (display-sort-function . ,#'identity)
                    (cycle-sort-function . ,#'identity)))
        (`(boundaries . ,_) nil)
        (_
         (let* ((cached (assoc string cache))
                (result (unless cached
                          (promptls-complete--request
                           connection (concat before string after)
                           (+ (length before) (length string)))))
                (items (if cached (cdr cached) (plist-get result :items))))
           ;; A failed request is sent again next time.
           (when result
             (push (cons string items) cache))
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
  ;; The server may exit at any time, and an error here would discard typeahead.
  (with-demoted-errors "promptls: %S"
    (when (save-excursion (search-backward "@" (line-beginning-position) t))
      (when-let ((connection (with-current-buffer (promptls-complete--source-buffer)
                               (promptls-ready-connection))))
        (promptls-complete--at-point connection)))))

(defun promptls-complete--at-point (connection)
  "Return the completion data at point from CONNECTION."
  (let* ((first (if (minibufferp) (minibuffer-prompt-end) (point-min)))
         (text (buffer-substring-no-properties first (point-max)))
         (index (- (point) first))
         (result (with-current-buffer (promptls-complete--source-buffer)
                   (promptls-complete--request connection text index)))
         (start (promptls-utf16-index text (or (promptls-get result :replace :start) 0)))
         (end (promptls-utf16-index text (or (promptls-get result :replace :end) 0)))
         (items (plist-get result :items)))
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

(defvar promptls-complete--waiting nil
  "The buffer in which a mention was typed before the server was ready, or nil.")

(defun promptls-complete--in-mention-p ()
  "Return non-nil if a mention that has been started ends at point."
  (looking-back "\\(?:\\`\\|[^[:word:]]\\)@[^[:space:]]*" (line-beginning-position)))

(defun promptls-complete--when-ready (&rest _)
  "Show the candidates of a mention that was typed before the server was ready."
  (when promptls-complete--waiting
    ;; Later, because a process filter must not wait for a response.
    (run-at-time 0 nil #'promptls-complete--show-waiting)))

(defun promptls-complete--show-waiting ()
  "Show the candidates of the mention at point if it is waited for."
  (if (not (and (eq promptls-complete--waiting (window-buffer))
                (with-current-buffer (window-buffer)
                  (promptls-complete--in-mention-p))))
      (setq promptls-complete--waiting nil)
    (with-current-buffer (window-buffer)
      ;; There are none until the names of the files are indexed.
      (when (promptls-completion-at-point)
        (setq promptls-complete--waiting nil)
        (promptls-complete--show)))))

(defun promptls-complete--show ()
  "Show the candidates at point, by Company or Corfu if one is active."
  (cond ((bound-and-true-p company-mode)
         (company-idle-begin (current-buffer) (selected-window)
                             (buffer-chars-modified-tick) (point)))
        ((bound-and-true-p corfu-mode) (completion-at-point))
        (t (completion-help-at-point))))

(add-hook 'promptls-connected-functions #'promptls-complete--when-ready)
(add-hook 'promptls-status-functions #'promptls-complete--when-ready)

(defun promptls-complete-after-insert ()
  "Show or update the completion list after \"@\" and the text that follows.
For `post-self-insert-hook'."
  (when (and promptls-complete-on-at (eq last-command-event ?@))
    (setq promptls-complete--waiting
          (unless (with-current-buffer (promptls-complete--source-buffer)
                    (promptls-ready-connection))
            (current-buffer))))
  (when (and promptls-complete-on-at
             (not (eq promptls-complete--waiting (current-buffer)))
             (not (bound-and-true-p company-mode))
             (not (and (bound-and-true-p corfu-mode) (bound-and-true-p corfu-auto)))
             (not executing-kbd-macro))
    (with-demoted-errors "promptls: %S"
      (cond
       ((eq last-command-event ?@)
        (unless (memq (char-syntax (or (char-before (1- (point))) ?\s)) '(?w ?_))
          (promptls-complete--show)))
       ((and completion-in-region-mode (get-buffer-window "*Completions*" 0))
        (if (promptls-completion-at-point)
            (completion-help-at-point)
          (completion-in-region-mode -1)))))))

(provide 'promptls-complete)
;;; promptls-complete.el ends here
