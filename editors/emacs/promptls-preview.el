;;; promptls-preview.el --- The built prompt and what went into it  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Shows an answer to promptls/buildPrompt: how the tokens are spent, what is
;; in, what was left out and why, what became of each mention, and the prompt
;; itself; to be copied, opened, sent to gptel or built again.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'promptls-data)
(require 'promptls-server)
(require 'promptls-context)

(declare-function promptls-gptel-send-prompt "promptls-gptel" (prompt))

(defgroup promptls-faces nil
  "How prompts look."
  :group 'promptls)

(defface promptls-heading '((t :inherit bold))
  "Face of headings in previews and pages."
  :group 'promptls-faces)

(defface promptls-bar-1 '((((background dark)) :foreground "#6aa6f8") (t :foreground "#1f5fbf"))
  "Face of the first section in a token bar."
  :group 'promptls-faces)

(defface promptls-bar-2 '((((background dark)) :foreground "#7ecb8a") (t :foreground "#2e7d3a"))
  "Face of the second section in a token bar."
  :group 'promptls-faces)

(defface promptls-bar-3 '((((background dark)) :foreground "#e5c07b") (t :foreground "#a06a00"))
  "Face of the third section in a token bar."
  :group 'promptls-faces)

(defface promptls-bar-4 '((((background dark)) :foreground "#c792ea") (t :foreground "#7b3fa0"))
  "Face of the fourth section in a token bar."
  :group 'promptls-faces)

(defface promptls-bar-5 '((((background dark)) :foreground "#f28b82") (t :foreground "#b3362b"))
  "Face of the fifth section in a token bar."
  :group 'promptls-faces)

(defface promptls-bar-6 '((((background dark)) :foreground "#76c7c0") (t :foreground "#00756b"))
  "Face of the sixth section in a token bar."
  :group 'promptls-faces)

(defface promptls-bar-rest '((t :inherit shadow))
  "Face of what is left of the budget in a token bar."
  :group 'promptls-faces)

(defcustom promptls-preview-omitted 10
  "How many of the places that were left out a preview shows."
  :type 'natnum
  :group 'promptls)

(defconst promptls-preview--bar-faces
  '(promptls-bar-1 promptls-bar-2 promptls-bar-3 promptls-bar-4 promptls-bar-5 promptls-bar-6)
  "Faces of sections, in turn.")

(defconst promptls-preview--bar-width 60
  "Columns of a token bar.")

(defvar-local promptls-preview--params nil
  "The params of the request that this buffer shows.")
(defvar-local promptls-preview--result nil
  "The answer that this buffer shows.")
(defvar-local promptls-preview--source nil
  "The buffer that is the message of this prompt as a whole, if one is.")
(defvar-local promptls-preview--folder nil
  "The folder from which to find a connection when that one is gone.")

;;;; Jumping

(defun promptls-jump (uri &optional range)
  "Show the file of URI in another window, at RANGE if there is one."
  (let ((file (promptls-file uri)))
    (unless file
      (user-error "%s is no file that could be shown" (or uri "This")))
    (unless (file-exists-p file)
      (user-error "The file %s is not there any more" (abbreviate-file-name file)))
    (select-window (display-buffer (find-file-noselect file)
                                   '(nil (inhibit-same-window . t))))
    (when range
      (widen)
      (goto-char (point-min))
      (forward-line (or (promptls-get range :start :line) 0))
      (when (require 'pulse nil t)
        (pulse-momentary-highlight-one-line (point))))))

(declare-function pulse-momentary-highlight-one-line "pulse" (point &optional face))

(defun promptls-insert-place (item &optional text)
  "Insert a button for the place of ITEM, which has an :uri and a :range.
TEXT is its label, by default the place itself."
  (let ((uri (plist-get item :uri)) (range (plist-get item :range)))
    (insert-text-button (or text (promptls-place item))
                        'follow-link t
                        'help-echo "RET: show it in another window"
                        'promptls-uri uri
                        'promptls-range range
                        'action (lambda (_) (promptls-jump uri range)))))

;;;; Rendering

(defun promptls-preview--widths (sections budget)
  "Return (NAME TOKENS FACE COLUMNS) for each of SECTIONS under BUDGET."
  (let ((faces promptls-preview--bar-faces))
    (cl-loop for (name tokens) on sections by #'cddr
             for index from 0
             collect (list (substring (symbol-name name) 1)
                           tokens
                           (nth (mod index (length faces)) faces)
                           (if (> tokens 0)
                               (max 1 (round (* promptls-preview--bar-width tokens)
                                             (max 1 budget)))
                             0)))))

(defun promptls-preview--insert-bar (tokens)
  "Insert the token bar of TOKENS, and what its colours mean."
  (let* ((budget (or (plist-get tokens :budget) 0))
         (parts (promptls-preview--widths (plist-get tokens :sections) budget))
         (filled 0))
    (pcase-dolist (`(,_ ,_ ,face ,columns) parts)
      (insert (propertize (make-string columns ?█) 'face face))
      (cl-incf filled columns))
    (when (< filled promptls-preview--bar-width)
      (insert (propertize (make-string (- promptls-preview--bar-width filled) ?░)
                          'face 'promptls-bar-rest)))
    (insert "\n")
    (let ((left (- budget (or (plist-get tokens :used) 0))))
      (pcase-dolist (`(,name ,count ,face ,_) parts)
        (insert (propertize "█" 'face face) (format " %s %s " name (promptls-count count))))
      (when (> left 0)
        (insert (propertize "░" 'face 'promptls-bar-rest)
                (format " left %s" (promptls-count left)))))
    (insert "\n")))

(defun promptls-preview--heading (text &optional count)
  "Insert TEXT as a heading, with COUNT if there is one."
  (insert "\n" (propertize text 'face 'promptls-heading)
          (if count (propertize (format " (%d)" count) 'face 'shadow) "")
          "\n"))

(defun promptls-preview--insert-item (item)
  "Insert a line for ITEM of the prompt."
  (insert (format "%7s  %-9s %-10s "
                  (promptls-count (plist-get item :tokens))
                  (or (plist-get item :form) "")
                  (or (plist-get item :origin) "")))
  (promptls-insert-place item)
  (when-let ((symbol (plist-get item :symbol)))
    (insert "  " (propertize symbol 'face 'shadow)))
  (when-let ((citation (plist-get item :citation)))
    (insert (propertize (format "  [%s]" citation) 'face 'shadow)))
  (insert "\n"))

(defun promptls-preview--insert-omitted (item)
  "Insert a line for ITEM, which was left out."
  (insert (format "%7s  " (promptls-count (plist-get item :tokens))))
  (promptls-insert-place item)
  (insert "  " (propertize (or (plist-get item :reason) "") 'face 'shadow) "\n"))

(defun promptls-preview--status-face (status)
  "Return the face for STATUS of a mention."
  (pcase status
    ("included" 'success)
    ((or "partial" "omitted") 'warning)
    (_ 'error)))

(defun promptls-preview--insert-mention (mention)
  "Insert a line for MENTION and what became of it."
  (let ((status (or (plist-get mention :status) ""))
        (targets (plist-get mention :targets))
        (candidates (plist-get mention :candidates))
        (suggestion (plist-get mention :suggestion)))
    (insert (propertize (format "%-11s" status) 'face (promptls-preview--status-face status)))
    (if targets
        (promptls-insert-place (car targets) (plist-get mention :text))
      (insert (or (plist-get mention :text) "")))
    (when (> (or (plist-get mention :tokens) 0) 0)
      (insert (format "  %s tokens" (promptls-count (plist-get mention :tokens)))))
    (when-let ((reason (plist-get mention :reason)))
      (insert "  " (propertize reason 'face 'shadow)))
    (when suggestion
      (insert (format "  Did you mean %s?" suggestion)))
    (insert "\n")
    (dolist (candidate candidates)
      (insert "           " candidate "\n"))))

(defun promptls-prompt-text (result)
  "Return the prompt of RESULT as one text."
  (or (plist-get result :prompt)
      (mapconcat (lambda (message)
                   (format "[%s]\n%s" (plist-get message :role) (plist-get message :content)))
                 (plist-get result :messages)
                 "\n\n")))

(defun promptls-preview-insert (result)
  "Insert RESULT, an answer to promptls/buildPrompt, as people read it."
  (let* ((tokens (plist-get result :tokens))
         (items (plist-get result :items))
         (omitted (plist-get result :omitted))
         (mentions (plist-get result :mentions))
         (warnings (plist-get result :warnings))
         (index (plist-get result :index)))
    (insert (propertize (format "%s of %s tokens"
                                (promptls-count (plist-get tokens :used))
                                (promptls-count (plist-get tokens :budget)))
                        'face 'promptls-heading)
            (format "  (%s)\n"
                    (string-join
                     (delete-dups
                      (list (or (plist-get tokens :counter) "estimate")
                            (if (plist-get tokens :exact) "exact" "estimate")))
                     ", ")))
    (promptls-preview--insert-bar tokens)
    (when-let ((line (promptls-get result :trace :line)))
      (insert (propertize line 'face 'shadow) "\n"))
    (when (and index (< (or (plist-get index :complete) 1) 1))
      (insert (propertize (format "The index is not complete yet: %s\n"
                                  (plist-get index :message))
                          'face 'warning)))
    (dolist (warning warnings)
      (insert (propertize (concat "Note: " warning "\n") 'face 'warning)))
    (when mentions
      (promptls-preview--heading "Mentions" (length mentions))
      (mapc #'promptls-preview--insert-mention mentions))
    (promptls-preview--heading "In the prompt" (length items))
    (mapc #'promptls-preview--insert-item items)
    (when omitted
      (promptls-preview--heading "Left out" (length omitted))
      (mapc #'promptls-preview--insert-omitted
            (seq-take omitted promptls-preview-omitted))
      (when (> (length omitted) promptls-preview-omitted)
        (insert (format "         and %d more\n"
                        (- (length omitted) promptls-preview-omitted)))))
    (promptls-preview--heading "Prompt")
    (insert (promptls-prompt-text result))
    (unless (bolp) (insert "\n"))))

;;;; The buffer

(defvar promptls-preview-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "w" #'promptls-preview-copy)
    (define-key map "o" #'promptls-preview-open)
    (define-key map "s" #'promptls-preview-send)
    (define-key map "g" #'promptls-preview-rebuild)
    (define-key map "b" #'promptls-preview-set-budget)
    (define-key map "n" #'forward-button)
    (define-key map "p" #'backward-button)
    (define-key map "\t" #'forward-button)
    (define-key map [backtab] #'backward-button)
    map)
  "Keys of `promptls-preview-mode'.")

(define-derived-mode promptls-preview-mode special-mode "Prompt"
  "Major mode for a built prompt.
\\{promptls-preview-mode-map}"
  :group 'promptls
  (setq-local revert-buffer-function (lambda (&rest _) (promptls-preview-rebuild))
              word-wrap t)
  (setq header-line-format
        (substitute-command-keys
         "\\<promptls-preview-mode-map>\\[promptls-preview-copy] copy  \
\\[promptls-preview-open] open  \\[promptls-preview-send] send  \
\\[promptls-preview-rebuild] build again  \\[promptls-preview-set-budget] budget  \
\\[forward-button] next  \\[quit-window] quit")))

(defun promptls-preview-buffer ()
  "Return the buffer of the preview."
  (get-buffer-create "*promptls prompt*"))

(defun promptls-preview-show (result params connection &optional source)
  "Show RESULT of building PARAMS by CONNECTION.
SOURCE is the buffer that is the message, if one is."
  (let ((folder (car (promptls-connection-roots connection))))
    (with-current-buffer (promptls-preview-buffer)
      (unless (derived-mode-p 'promptls-preview-mode)
        (promptls-preview-mode))
      (setq promptls-preview--params params
            promptls-preview--result result
            promptls-preview--source source
            promptls-preview--folder folder
            default-directory (file-name-as-directory folder))
      (let ((inhibit-read-only t))
        (erase-buffer)
        (promptls-preview-insert result))
      (goto-char (point-min))
      (let ((window (display-buffer (current-buffer))))
        (when window
          (set-window-start window (point-min))
          (set-window-point window (point-min))))
      (current-buffer))))

(defun promptls-preview--text ()
  "Return the prompt of this buffer."
  (unless promptls-preview--result
    (user-error "There is no prompt here yet; M-x promptls-build makes one"))
  (promptls-prompt-text promptls-preview--result))

(defun promptls-preview-copy ()
  "Copy the prompt."
  (interactive)
  (kill-new (promptls-preview--text))
  (message "The prompt was copied: %s tokens"
           (promptls-count (promptls-get promptls-preview--result :tokens :used))))

(defun promptls-preview-open ()
  "Open the prompt in a buffer of its own, to edit or save it."
  (interactive)
  (let ((text (promptls-preview--text))
        (buffer (generate-new-buffer "prompt.md")))
    (with-current-buffer buffer
      (insert text)
      (goto-char (point-min))
      (if (fboundp 'markdown-mode) (funcall 'markdown-mode) (text-mode))
      (set-buffer-modified-p nil))
    (pop-to-buffer buffer)))

(defun promptls-preview-send ()
  "Send the prompt to a chat of gptel."
  (interactive)
  (let ((text (promptls-preview--text)))
    (unless (require 'gptel nil t)
      (user-error "Install gptel to send prompts from here, or copy the prompt with w"))
    (require 'promptls-gptel)
    (promptls-gptel-send-prompt text)))

(defvar promptls-preview--building nil
  "The handle of the request that builds a prompt just now, nil if none does.")

(defun promptls-preview-build (params connection &optional source then)
  "Build a prompt of PARAMS by CONNECTION and show it, without waiting.
What was being built before is cancelled.  SOURCE is the buffer that is
the message, if one is.  Call THEN, if given, with the answer instead of
showing it."
  (promptls-cancel)
  (message "Building the prompt…")
  (setq promptls-preview--building
        (promptls-request-async
         connection "promptls/buildPrompt" params
         (lambda (result)
           (setq promptls-preview--building nil)
           (message nil)
           (if then
               (funcall then result)
             (promptls-preview-show result params connection source)))
         (lambda (_code text)
           (setq promptls-preview--building nil)
           (message "No prompt was built: %s" text)))))

(defun promptls-cancel ()
  "Cancel the prompt that is being built."
  (interactive)
  (let ((handle promptls-preview--building))
    (setq promptls-preview--building nil)
    (when handle
      (promptls-cancel-request handle))
    (when (called-interactively-p 'interactive)
      (message (if handle "Building was cancelled" "No prompt is being built")))))

(defun promptls-preview-rebuild ()
  "Build the prompt of this buffer again, from what the files hold now."
  (interactive)
  (unless promptls-preview--params
    (user-error "There is no prompt here yet; M-x promptls-build makes one"))
  (let* ((connection (let ((default-directory promptls-preview--folder))
                       (promptls-connect)))
         (source promptls-preview--source)
         (params (plist-put (copy-sequence promptls-preview--params)
                            :context (promptls-context connection))))
    (when (buffer-live-p source)
      (setq params (plist-put params :message
                              (with-current-buffer source
                                (save-restriction
                                  (widen)
                                  (buffer-substring-no-properties (point-min) (point-max)))))))
    (promptls-preview-build params connection source)))

(defun promptls-preview-set-budget (tokens)
  "Build the prompt of this buffer again with a budget of TOKENS."
  (interactive (list (read-number "Tokens: " (promptls-get promptls-preview--result
                                                           :tokens :budget))))
  (setq promptls-preview--params
        (plist-put (copy-sequence promptls-preview--params) :budget (list :tokens tokens)))
  (promptls-preview-rebuild))

(provide 'promptls-preview)
;;; promptls-preview.el ends here
