;;; promptls-preview.el --- Preview of a built prompt  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Displays a result of promptls/buildPrompt: the token usage, the outcome of
;; each mention, the included and the omitted items, and the prompt itself.  The
;; prompt can be copied, opened in a buffer, sent to gptel or built again.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'promptls-data)
(require 'promptls-server)
(require 'promptls-context)

(declare-function promptls-gptel-send-prompt "promptls-gptel" (prompt))

(defgroup promptls-faces nil
  "Faces of promptls."
  :group 'promptls)

(defface promptls-heading '((t :inherit bold))
  "Face for headings in previews and pages."
  :group 'promptls-faces)

(defface promptls-bar-1 '((((background dark)) :foreground "#6aa6f8") (t :foreground "#1f5fbf"))
  "Face for the first section of the token bar."
  :group 'promptls-faces)

(defface promptls-bar-2 '((((background dark)) :foreground "#7ecb8a") (t :foreground "#2e7d3a"))
  "Face for the second section of the token bar."
  :group 'promptls-faces)

(defface promptls-bar-3 '((((background dark)) :foreground "#e5c07b") (t :foreground "#a06a00"))
  "Face for the third section of the token bar."
  :group 'promptls-faces)

(defface promptls-bar-4 '((((background dark)) :foreground "#c792ea") (t :foreground "#7b3fa0"))
  "Face for the fourth section of the token bar."
  :group 'promptls-faces)

(defface promptls-bar-5 '((((background dark)) :foreground "#f28b82") (t :foreground "#b3362b"))
  "Face for the fifth section of the token bar."
  :group 'promptls-faces)

(defface promptls-bar-6 '((((background dark)) :foreground "#76c7c0") (t :foreground "#00756b"))
  "Face for the sixth section of the token bar."
  :group 'promptls-faces)

(defface promptls-bar-rest '((t :inherit shadow))
  "Face for the unused budget in the token bar."
  :group 'promptls-faces)

(defcustom promptls-preview-omitted 10
  "Maximum number of omitted items shown in the preview."
  :type 'natnum
  :group 'promptls)

(defconst promptls-preview--bar-faces
  '(promptls-bar-1 promptls-bar-2 promptls-bar-3 promptls-bar-4 promptls-bar-5 promptls-bar-6)
  "Faces of the sections in the token bar, used in turn.")

(defconst promptls-preview--bar-width 60
  "Width of the token bar in columns.")

(defvar-local promptls-preview--params nil
  "The buildPrompt params of the result in this buffer.")
(defvar-local promptls-preview--result nil
  "The buildPrompt result shown in this buffer.")
(defvar-local promptls-preview--source-buffer nil
  "The buffer whose whole text is the message of this prompt, or nil.")
(defvar-local promptls-preview--folder nil
  "The workspace folder used to find a connection for rebuilding.")

;;;; Navigation

(defun promptls-jump (uri &optional range)
  "Show the file of URI in another window, at RANGE if non-nil."
  (let ((file (promptls-uri-to-file uri)))
    (unless file
      (user-error "Not a file: %s" (or uri "no URI given")))
    (unless (file-exists-p file)
      (user-error "File not found: %s" (abbreviate-file-name file)))
    (select-window (display-buffer (find-file-noselect file)
                                   '(nil (inhibit-same-window . t))))
    (when range
      (widen)
      (goto-char (point-min))
      (forward-line (or (promptls-get range :start :line) 0))
      (when (require 'pulse nil t)
        (pulse-momentary-highlight-one-line (point))))))

(declare-function pulse-momentary-highlight-one-line "pulse" (point &optional face))

(defun promptls-insert-location (item &optional text)
  "Insert a button for the location of ITEM, given by its :uri and :range.
An item of a notebook has a :location of its own, in the JSON.
TEXT is the label of the button and defaults to the location."
  (let* ((shown (or (plist-get item :location) item))
         (uri (plist-get shown :uri))
         (range (plist-get shown :range)))
    (insert-text-button (or text (promptls-format-location item))
                        'follow-link t
                        'help-echo "RET: show in another window"
                        'promptls-uri uri
                        'promptls-range range
                        'action (lambda (_) (promptls-jump uri range)))))

;;;; Rendering

(defun promptls-preview--bar-segments (sections budget)
  "Return a list of (NAME TOKENS FACE COLUMNS) for SECTIONS under BUDGET."
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
  "Insert the token bar of TOKENS and its legend."
  (let* ((budget (or (plist-get tokens :budget) 0))
         (segments (promptls-preview--bar-segments (plist-get tokens :sections) budget))
         (filled 0))
    (pcase-dolist (`(,_ ,_ ,face ,columns) segments)
      (insert (propertize (make-string columns ?█) 'face face))
      (cl-incf filled columns))
    (when (< filled promptls-preview--bar-width)
      (insert (propertize (make-string (- promptls-preview--bar-width filled) ?░)
                          'face 'promptls-bar-rest)))
    (insert "\n")
    (let ((free (- budget (or (plist-get tokens :used) 0))))
      (pcase-dolist (`(,name ,count ,face ,_) segments)
        (insert (propertize "█" 'face face)
                (format " %s %s " name (promptls-format-number count))))
      (when (> free 0)
        (insert (propertize "░" 'face 'promptls-bar-rest)
                (format " free %s" (promptls-format-number free)))))
    (insert "\n")))

(defun promptls-preview--heading (text &optional count)
  "Insert TEXT as a heading, followed by COUNT if non-nil."
  (insert "\n" (propertize text 'face 'promptls-heading)
          (if count (propertize (format " (%d)" count) 'face 'shadow) "")
          "\n"))

(defun promptls-preview--insert-item (item)
  "Insert a line for ITEM, an included item."
  (insert (format "%7s  %-9s %-16s "
                  (promptls-format-number (plist-get item :tokens))
                  (or (plist-get item :form) "")
                  (or (plist-get item :why) "")))
  (promptls-insert-location item)
  (when-let ((symbol (plist-get item :symbol)))
    (insert "  " (propertize symbol 'face 'shadow)))
  (when-let ((citation (plist-get item :citation)))
    (insert (propertize (format "  [%s]" citation) 'face 'shadow)))
  (insert "\n"))

(defun promptls-preview--insert-omitted (item)
  "Insert a line for ITEM, an omitted item."
  (insert (format "%7s  " (promptls-format-number (plist-get item :tokens))))
  (promptls-insert-location item)
  (insert "  " (propertize (or (plist-get item :reason) "") 'face 'shadow) "\n"))

(defun promptls-preview--status-face (status)
  "Return the face for the mention status STATUS."
  (pcase status
    ("included" 'success)
    ((or "partial" "omitted") 'warning)
    (_ 'error)))

(defun promptls-preview--insert-mention (mention)
  "Insert a line for MENTION and its outcome."
  (let ((status (or (plist-get mention :status) ""))
        (targets (plist-get mention :targets))
        (candidates (plist-get mention :candidates))
        (suggestion (plist-get mention :suggestion)))
    (insert (propertize (format "%-11s" status) 'face (promptls-preview--status-face status)))
    (if targets
        (promptls-insert-location (car targets) (plist-get mention :text))
      (insert (or (plist-get mention :text) "")))
    (when (> (or (plist-get mention :tokens) 0) 0)
      (insert (format "  %s tokens" (promptls-format-number (plist-get mention :tokens)))))
    (when-let ((reason (plist-get mention :reason)))
      (insert "  " (propertize reason 'face 'shadow)))
    (when suggestion
      (insert (format "  Did you mean %s?" suggestion)))
    (insert "\n")
    (dolist (candidate candidates)
      (insert "           " candidate "\n"))))

(defun promptls-prompt-text (result)
  "Return the prompt of RESULT as a single string."
  (or (plist-get result :prompt)
      (mapconcat (lambda (message)
                   (format "[%s]\n%s" (plist-get message :role) (plist-get message :content)))
                 (plist-get result :messages)
                 "\n\n")))

(defun promptls-preview-insert (result)
  "Insert RESULT, a result of promptls/buildPrompt, in readable form."
  (let* ((tokens (plist-get result :tokens))
         (items (plist-get result :items))
         (omitted (plist-get result :omitted))
         (mentions (plist-get result :mentions))
         (warnings (plist-get result :warnings)))
    (insert (propertize (format "%s of %s tokens"
                                (promptls-format-number (plist-get tokens :used))
                                (promptls-format-number (plist-get tokens :budget)))
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
    (when (promptls-preview--incomplete-p result)
      (insert (propertize "The prompt is built again when the index is complete.\n" 'face 'warning)))
    (dolist (warning warnings)
      (insert (propertize (concat "Warning: " warning "\n") 'face 'warning)))
    (when mentions
      (promptls-preview--heading "Mentions" (length mentions))
      (mapc #'promptls-preview--insert-mention mentions))
    (promptls-preview--heading "In the prompt" (length items))
    (mapc #'promptls-preview--insert-item items)
    (when omitted
      (promptls-preview--heading "Omitted" (length omitted))
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
  "Keymap of `promptls-preview-mode'.")

(define-derived-mode promptls-preview-mode special-mode "Prompt"
  "Major mode for the preview of a built prompt.
\\{promptls-preview-mode-map}"
  :group 'promptls
  (setq-local revert-buffer-function (lambda (&rest _) (promptls-preview-rebuild))
              word-wrap t)
  (setq header-line-format
        (substitute-command-keys
         "\\<promptls-preview-mode-map>\\[promptls-preview-copy] copy  \
\\[promptls-preview-open] open  \\[promptls-preview-send] send  \
\\[promptls-preview-rebuild] rebuild  \\[promptls-preview-set-budget] budget  \
\\[forward-button] next  \\[quit-window] quit")))

(defun promptls-preview-buffer ()
  "Return the preview buffer; create it if needed."
  (get-buffer-create "*promptls prompt*"))

(defun promptls-preview-show (result params connection &optional source)
  "Show RESULT, the prompt that CONNECTION built from PARAMS.
SOURCE is the buffer whose whole text is the message, or nil."
  (let ((folder (car (promptls-connection-roots connection))))
    (with-current-buffer (promptls-preview-buffer)
      (unless (derived-mode-p 'promptls-preview-mode)
        (promptls-preview-mode))
      (setq promptls-preview--params params
            promptls-preview--result result
            promptls-preview--source-buffer source
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

(defun promptls-preview--prompt ()
  "Return the prompt of this preview."
  (unless promptls-preview--result
    (user-error "No prompt in this buffer; run M-x promptls-build"))
  (promptls-prompt-text promptls-preview--result))

(defun promptls-preview-copy ()
  "Copy the prompt to the kill ring."
  (interactive)
  (kill-new (promptls-preview--prompt))
  (message "Prompt copied: %s tokens"
           (promptls-format-number (promptls-get promptls-preview--result :tokens :used))))

(defun promptls-preview-open ()
  "Open the prompt in a new buffer to edit or save it."
  (interactive)
  (let ((text (promptls-preview--prompt))
        (buffer (generate-new-buffer "prompt.md")))
    (with-current-buffer buffer
      (insert text)
      (goto-char (point-min))
      (if (fboundp 'markdown-mode) (funcall 'markdown-mode) (text-mode))
      (set-buffer-modified-p nil))
    (pop-to-buffer buffer)))

(defun promptls-preview-send ()
  "Send the prompt to a gptel chat."
  (interactive)
  (let ((text (promptls-preview--prompt)))
    (unless (require 'gptel nil t)
      (user-error "Cannot send the prompt: gptel is not installed"))
    (require 'promptls-gptel)
    (promptls-gptel-send-prompt text)))

(defvar promptls-preview--pending-request nil
  "The handle of the pending buildPrompt request, or nil.")

(defconst promptls-preview--max-reported-mentions 5
  "Maximum number of mentions named in a message; keeps it on one line.")

(defun promptls-missing-mentions (result)
  "Return a sentence about the mentions that are not in the prompt of RESULT.
Return nil if all are in the prompt."
  (when-let ((missing (seq-remove (lambda (mention)
                                    (member (plist-get mention :status) '("included" "partial")))
                                  (plist-get result :mentions))))
    (let ((more (- (length missing) promptls-preview--max-reported-mentions)))
      (format "Not in the prompt: %s%s"
              (mapconcat (lambda (mention) (plist-get mention :text))
                         (seq-take missing promptls-preview--max-reported-mentions) ", ")
              (if (> more 0) (format " and %d more" more) "")))))

(defun promptls-preview-build (params connection &optional source then)
  "Build a prompt from PARAMS by CONNECTION asynchronously and show it.
Cancel a pending build first.  SOURCE is the buffer whose whole text is
the message, or nil.  If THEN is non-nil, call it with the result
instead of showing it."
  (promptls-cancel)
  (message "Building the prompt…")
  (setq promptls-preview--pending-request
        (promptls-request-async
         connection "promptls/buildPrompt" params
         (lambda (result)
           (setq promptls-preview--pending-request nil)
           (message nil)
           (if then
               (funcall then result)
             (promptls-preview-show result params connection source)
             (when-let ((missing (promptls-missing-mentions result)))
               (message "%s" missing))))
         (lambda (_code text)
           (setq promptls-preview--pending-request nil)
           (message "Cannot build the prompt: %s" text)))))

(defun promptls-cancel ()
  "Cancel the pending prompt build."
  (interactive)
  (let ((handle promptls-preview--pending-request))
    (setq promptls-preview--pending-request nil)
    (when handle
      (promptls-cancel-request handle))
    (when (called-interactively-p 'interactive)
      (message (if handle "Build cancelled" "No build in progress")))))

(defun promptls-preview-rebuild ()
  "Build the prompt of this buffer again from the current files."
  (interactive)
  (unless promptls-preview--params
    (user-error "No prompt in this buffer; run M-x promptls-build"))
  (let* ((connection (let ((default-directory promptls-preview--folder))
                       (promptls-connect)))
         (source promptls-preview--source-buffer)
         (params (plist-put (copy-sequence promptls-preview--params)
                            :context (promptls-context connection))))
    (when (buffer-live-p source)
      (setq params (plist-put params :message
                              (with-current-buffer source
                                (save-restriction
                                  (widen)
                                  (buffer-substring-no-properties (point-min) (point-max)))))))
    (promptls-preview-build params connection source)))

(defun promptls-preview--incomplete-p (result)
  "Return non-nil if RESULT was built from an incomplete index."
  (< (or (promptls-get result :index :complete) 1) 1))

(defun promptls-preview--index-complete (connection status)
  "Build the prompt shown for CONNECTION again if the index is complete by STATUS."
  (when-let* ((buffer (and (<= 1 (or (plist-get status :complete) 0))
                           (get-buffer "*promptls prompt*"))))
    (with-current-buffer buffer
      (when (and (promptls-preview--incomplete-p promptls-preview--result)
                 (member promptls-preview--folder (promptls-connection-roots connection)))
        (setq promptls-preview--result
              (plist-put (copy-sequence promptls-preview--result) :index nil))
        (promptls-preview-rebuild)))))

(add-hook 'promptls-status-functions #'promptls-preview--index-complete)

(defun promptls-preview-set-budget (tokens)
  "Build the prompt of this buffer again with a budget of TOKENS tokens."
  (interactive (list (read-number "Token budget: "
                                  (promptls-get promptls-preview--result :tokens :budget))))
  (setq promptls-preview--params
        (plist-put (copy-sequence promptls-preview--params) :budget (list :tokens tokens)))
  (promptls-preview-rebuild))

(provide 'promptls-preview)
;;; promptls-preview.el ends here
