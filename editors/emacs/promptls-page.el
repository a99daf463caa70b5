;;; promptls-page.el --- Pages that the server renders  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The server renders prompts, explanations, the graph and its status as pages:
;; read-only Markdown documents with links.  This file shows a page in a buffer and
;; sends what the user decides about the items of a prompt to the server, which
;; builds the prompt again and has the page read again.

;;; Code:

(require 'button)
(require 'seq)
(require 'subr-x)
(require 'promptls-data)
(require 'promptls-server)

(defvar markdown-fontify-code-blocks-natively)

(declare-function promptls-gptel-send-prompt "promptls-gptel" (prompt))
(declare-function pulse-momentary-highlight-one-line "pulse" (point &optional face))

(defgroup promptls-faces nil
  "Faces of promptls."
  :group 'promptls)

(defface promptls-heading '((t :inherit bold))
  "Face for headings in pages."
  :group 'promptls-faces)

(defvar-local promptls-page--uri nil
  "The URI of the page in this buffer.")
(defvar-local promptls-page--connection nil
  "The connection that renders the page in this buffer.")
(defvar-local promptls-page--opened nil
  "The arguments of `promptls-page-open' after the connection.")
(defvar-local promptls-page--suffix nil
  "Function of the connection that returns text to show below the page, or nil.")

;;;; Text and links

(defun promptls-page--point (position encoding)
  "Return the point of the LSP POSITION, in ENCODING, in this buffer."
  (save-excursion
    (goto-char (point-min))
    (forward-line (plist-get position :line))
    (let ((start (point)))
      (while (and (not (eolp))
                  (< (promptls-code-units (buffer-substring-no-properties start (point)) encoding)
                     (plist-get position :character)))
        (forward-char)))
    (point)))

(defun promptls-page--line ()
  "Return the line of point, from 0."
  (1- (line-number-at-pos)))

(defun promptls-page-fill (text &optional links line)
  "Replace the text of this buffer with TEXT, and make buttons of LINKS.
Move point to LINE, from 0; by default, keep the line in each window."
  (let* ((inhibit-read-only t)
         (page (current-buffer))
         (encoding (if links (promptls-connection-encoding promptls-page--connection)))
         (here (or line (promptls-page--line)))
         (lines (mapcar (lambda (window)
                          (cons window (or line (1- (line-number-at-pos (window-point window))))))
                        (get-buffer-window-list nil nil t))))
    (with-temp-buffer
      (insert text)
      (let ((source (current-buffer)))
        ;; Keeps the folds and the scroll position, which erasing the text would not.
        (with-current-buffer page
          (replace-buffer-contents source 0.2))))
    (set-text-properties (point-min) (point-max) nil)
    (set-buffer-modified-p nil)
    (dolist (link links)
      (make-text-button (promptls-page--point (promptls-get link :range :start) encoding)
                        (promptls-page--point (promptls-get link :range :end) encoding)
                        'follow-link t
                        'action #'promptls-page--push))
    (pcase-dolist (`(,window . ,number) (cons (cons nil here) lines))
      (goto-char (point-min))
      (forward-line number)
      (when window
        (set-window-point window (point))))
    (goto-char (point-min))
    (forward-line here)))

(defun promptls-page--report (_code text)
  "Show TEXT, the message of a failed request, with the names of user options."
  (pcase-dolist (`(,name ,variable . ,_) promptls-settings)
    (setq text (string-replace name (symbol-name variable) text)))
  (message "promptls: %s" text))

(defun promptls-page--read (connection uri show)
  "Read the page URI of CONNECTION, and call SHOW with its text and links."
  (promptls-request-async
   connection "workspace/textDocumentContent" (list :uri uri)
   (lambda (content)
     (promptls-request-async
      connection "textDocument/documentLink" (list :textDocument (list :uri uri))
      (lambda (links) (funcall show (plist-get content :text) links))
      #'promptls-page--report))
   #'promptls-page--report))

(defun promptls-page--update (buffer connection uri &optional line)
  "Read the page URI of CONNECTION into BUFFER.
Move point to LINE, from 0; by default, keep the line in each window."
  (promptls-page--read
   connection uri
   (lambda (text links)
     (when (and (buffer-live-p buffer)
                (equal uri (buffer-local-value 'promptls-page--uri buffer)))
       (with-current-buffer buffer
         (promptls-page-fill (concat text (when promptls-page--suffix
                                            (funcall promptls-page--suffix connection)))
                             links line))))))

(defun promptls-page-refresh (connection uri)
  "Read the page URI of CONNECTION again; called by the backends."
  (dolist (buffer (buffer-list))
    (when (and (eq connection (buffer-local-value 'promptls-page--connection buffer))
               (equal uri (buffer-local-value 'promptls-page--uri buffer)))
      (promptls-page--update buffer connection uri))))

;;;; Requests that can be cancelled

(defvar promptls-page--pending-request nil
  "The handle of the pending request of a page or a prompt, or nil.")

(defun promptls-page-request (connection method params done)
  "Send the request METHOD with PARAMS to CONNECTION and call DONE with its result.
Cancel a pending request of this function first."
  (promptls-cancel)
  (message "Building…")
  (setq promptls-page--pending-request
        (promptls-request-async connection method params
                                (lambda (result)
                                  (setq promptls-page--pending-request nil)
                                  (message nil)
                                  (funcall done result))
                                (lambda (code text)
                                  (setq promptls-page--pending-request nil)
                                  (promptls-page--report code text)))))

(defun promptls-cancel ()
  "Cancel the pending prompt build."
  (interactive)
  (let ((handle promptls-page--pending-request))
    (setq promptls-page--pending-request nil)
    (when handle
      (promptls-cancel-request handle))
    (when (called-interactively-p 'interactive)
      (message (if handle "Build cancelled" "No build in progress")))))

;;;; Opening

(defun promptls-page-open (connection name params &optional mode suffix)
  "Open the page of PARAMS, of promptls/openPage, at CONNECTION in the buffer NAME.
MODE is its major mode, by default `promptls-page-mode'.  SUFFIX is a
function of CONNECTION that returns text to show below the page, or nil.
Select its window, unless a key was pressed meanwhile or the current
buffer is a prompt document, which the user edits further."
  (let ((input (unless (derived-mode-p 'promptls-mode) num-nonmacro-input-events)))
    (promptls-page-request
     connection "promptls/openPage" params
     (lambda (opened)
       (let ((uri (plist-get opened :uri))
             (missing (promptls-missing-mentions (plist-get opened :result))))
         (promptls-page--read
          connection uri
          (lambda (text links)
            (with-current-buffer (get-buffer-create name)
              (funcall (or mode #'promptls-page-mode))
              (remove-overlays)
              (setq promptls-page--uri uri
                    promptls-page--connection connection
                    promptls-page--opened (list name params mode suffix)
                    promptls-page--suffix suffix
                    default-directory (file-name-as-directory
                                       (car (promptls-connection-roots connection))))
              (promptls-page-fill (concat text (when suffix (funcall suffix connection))) links 0)
              (when-let ((window (display-buffer (current-buffer))))
                (set-window-start window (point-min))
                (set-window-point window (point-min))
                (when (equal input num-nonmacro-input-events)
                  (select-window window)))
              (when missing
                (message "%s" missing))))))))))

(defun promptls-page-build (params connection &optional whole)
  "Build a prompt from PARAMS by CONNECTION and show its page.
If WHOLE is non-nil, the message is the whole document of PARAMS, and the
page follows its text."
  (promptls-page-open connection "*promptls prompt*"
                      `(:kind "prompt" :params ,params
                        ,@(when (and whole (plist-get params :document))
                            '(:followsDocument t)))
                      #'promptls-preview-mode))

(defconst promptls-page--max-reported-mentions 5
  "Maximum number of mentions named in a message; keeps it on one line.")

(defun promptls-missing-mentions (result)
  "Return a sentence about the mentions that are not in the prompt of RESULT.
Return nil if all are in the prompt."
  (when-let ((missing (seq-remove (lambda (mention)
                                    (member (plist-get mention :status) '("included" "partial")))
                                  (plist-get result :mentions))))
    (let ((more (- (length missing) promptls-page--max-reported-mentions)))
      (format "Not in the prompt: %s%s"
              (mapconcat (lambda (mention) (plist-get mention :text))
                         (seq-take missing promptls-page--max-reported-mentions) ", ")
              (if (> more 0) (format " and %d more" more) "")))))

(defun promptls-prompt-text (result)
  "Return the prompt of RESULT as a single string."
  (or (plist-get result :prompt)
      (mapconcat (lambda (message)
                   (format "[%s]\n%s" (plist-get message :role) (plist-get message :content)))
                 (plist-get result :messages)
                 "\n\n")))

;;;; Commands of a page

(defun promptls-page--connection ()
  "Return the connection of this page; signal an error if it has ended."
  (unless (and promptls-page--connection (promptls-connection-live-p promptls-page--connection))
    (user-error "The server of this page has exited; press g to open it again"))
  promptls-page--connection)

(defun promptls-page--request (method &rest params)
  "Send METHOD, a request about this page as a text document, with PARAMS."
  (promptls-request method
                    `(:textDocument (:uri ,promptls-page--uri) ,@params)
                    :connection (promptls-page--connection)))

(defun promptls-page--push (button)
  "Run the action of BUTTON, or show the place that it names."
  (goto-char (button-start button))
  (if (looking-at "\\[\\([a-z]+\\)\\]")
      (promptls-page-act (match-string 1))
    (promptls-page-visit)))

(defun promptls-jump (uri &optional range)
  "Show the file of URI in another window, at RANGE if non-nil."
  (let ((file (promptls-uri-to-file (car (split-string (or uri "") "#")))))
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

(defun promptls-page-visit ()
  "Show the place that this line names in another window."
  (interactive)
  (let ((place (car (promptls-page--request
                     "textDocument/definition"
                     :position (list :line (promptls-page--line) :character 0)))))
    (unless place
      (user-error "No place on this line"))
    (promptls-jump (plist-get place :uri) (plist-get place :range))))

(defun promptls-page-fold ()
  "Fold or unfold the section or the quoted code below this line.
On other lines, go to the next button."
  (interactive)
  (let* ((end (line-end-position))
         (line (promptls-page--line))
         (fold (seq-find (lambda (overlay) (and (overlay-get overlay 'promptls-fold)
                                                (= end (overlay-start overlay))))
                         (overlays-in end (1+ end))))
         (range (unless (or fold (null promptls-page--uri))
                  (seq-find (lambda (range) (= line (plist-get range :startLine)))
                            (promptls-page--request "textDocument/foldingRange")))))
    (cond
     (fold (delete-overlay fold))
     (range
      (let ((overlay (make-overlay end (save-excursion
                                         (forward-line (- (plist-get range :endLine) line))
                                         (line-end-position)))))
        (overlay-put overlay 'promptls-fold t)
        (overlay-put overlay 'invisible 'promptls-fold)
        (overlay-put overlay 'evaporate t)
        (overlay-put overlay 'isearch-open-invisible #'delete-overlay)))
     (t (forward-button 1 t)))))

(defun promptls-page-act (action &optional tokens)
  "Send ACTION, a name of promptls/pageAction, for this line.
TOKENS is the new budget for the action \"budget\"."
  (let ((buffer (current-buffer))
        (connection (promptls-page--connection))
        (uri promptls-page--uri))
    (promptls-request-async
     connection "promptls/pageAction"
     `(:uri ,uri :line ,(promptls-page--line) :action ,action
       ,@(when tokens (list :tokens tokens)))
     (lambda (done)
       (if (plist-get done :changed)
           (promptls-page--update buffer connection uri (plist-get done :line))
         (message "Nothing to %s on this line" action)))
     #'promptls-page--report)))

(defun promptls-page-rebuild ()
  "Build this page again from the current files."
  (interactive)
  (cond
   ((null promptls-page--opened)
    (user-error "No page in this buffer; run M-x promptls-build"))
   ((and (derived-mode-p 'promptls-preview-mode)
         (promptls-connection-live-p promptls-page--connection))
    (promptls-page-act "rebuild"))
   (t (apply #'promptls-page-open (promptls-connect) promptls-page--opened))))

;;;; Commands of the page of a prompt

(defun promptls-preview--result ()
  "Return the current result of the prompt in this buffer."
  (plist-get (promptls-request "promptls/pageResult" (list :uri promptls-page--uri)
                               :connection (promptls-page--connection))
             :result))

(defun promptls-copy-result (result)
  "Copy the prompt of RESULT to the kill ring, and name what it lacks."
  (kill-new (promptls-prompt-text result))
  (message "%s" (string-join
                 (delq nil (list (format "Prompt copied: %s tokens"
                                         (promptls-format-number
                                          (promptls-get result :tokens :used)))
                                 (promptls-missing-mentions result)))
                 ". ")))

(defun promptls-preview-copy ()
  "Copy the prompt to the kill ring."
  (interactive)
  (promptls-copy-result (promptls-preview--result)))

(defun promptls-preview-open ()
  "Open the prompt in a new buffer to edit or save it."
  (interactive)
  (let ((text (promptls-prompt-text (promptls-preview--result))))
    (pop-to-buffer (generate-new-buffer "prompt.md"))
    (insert text)
    (goto-char (point-min))
    (if (fboundp 'markdown-mode) (funcall 'markdown-mode) (text-mode))
    ;; Quoted text must not choose modes or variables, neither now nor when it is saved.
    (setq-local enable-local-variables nil
                markdown-fontify-code-blocks-natively nil)
    (set-buffer-modified-p nil)))

(defun promptls-preview-send ()
  "Send the prompt to a gptel chat."
  (interactive)
  (unless (require 'gptel nil t)
    (user-error "Cannot send the prompt: gptel is not installed"))
  (require 'promptls-gptel)
  (promptls-gptel-send-prompt (promptls-prompt-text (promptls-preview--result))))

(defun promptls-preview-pin ()
  "Pin the item on this line; if it is pinned, do not pin it any more."
  (interactive)
  (promptls-page-act "pin"))

(defun promptls-preview-drop ()
  "Leave the item on this line out; if it is dropped, restore it."
  (interactive)
  (promptls-page-act "drop"))

(defun promptls-preview-add ()
  "Add the item on this line, which is left out, to the prompt."
  (interactive)
  (promptls-page-act "add"))

(defun promptls-preview-related ()
  "Show the callers and callees of the item on this line, or hide them."
  (interactive)
  (promptls-page-act "more"))

(defun promptls-preview-set-budget (tokens)
  "Build the prompt of this buffer again with a budget of TOKENS tokens."
  (interactive (list (read-number "Token budget: "
                                  (promptls-get (promptls-preview--result) :tokens :budget))))
  (promptls-page-act "budget" tokens))

;;;; Modes

(defvar promptls-page-font-lock
  '(("^#\\{1,6\\} .*$" . 'promptls-heading)
    ("`[^`\n]+`" . 'font-lock-constant-face)
    ("^ *- " . 'shadow))
  "Font-lock keywords of `promptls-page-mode'.")

(defvar promptls-page-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "g" #'promptls-page-rebuild)
    (define-key map "n" #'forward-button)
    (define-key map "p" #'backward-button)
    (define-key map "\r" #'promptls-page-visit)
    (define-key map "\t" #'promptls-page-fold)
    (define-key map [backtab] #'backward-button)
    map)
  "Keymap of `promptls-page-mode'.")

(define-derived-mode promptls-page-mode special-mode "Prompt-Page"
  "Major mode for explanations, graphs and reports.
\\{promptls-page-mode-map}"
  :group 'promptls
  (add-to-invisibility-spec '(promptls-fold . t))
  (setq-local font-lock-defaults '(promptls-page-font-lock t)
              wrap-prefix "  "
              revert-buffer-function (lambda (&rest _) (promptls-page-rebuild)))
  (visual-line-mode 1))

(defvar promptls-preview-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "w" #'promptls-preview-copy)
    (define-key map "o" #'promptls-preview-open)
    (define-key map "s" #'promptls-preview-send)
    (define-key map "b" #'promptls-preview-set-budget)
    (define-key map "i" #'promptls-preview-pin)
    (define-key map "x" #'promptls-preview-drop)
    (define-key map "a" #'promptls-preview-add)
    (define-key map "m" #'promptls-preview-related)
    map)
  "Keymap of `promptls-preview-mode'.")

(define-derived-mode promptls-preview-mode promptls-page-mode "Prompt"
  "Major mode for the page of a prompt.
\\{promptls-preview-mode-map}"
  :group 'promptls
  (setq header-line-format
        (substitute-command-keys
         "\\<promptls-preview-mode-map>\\[promptls-preview-copy] copy  \
\\[promptls-preview-open] open  \\[promptls-preview-send] send  \
\\[promptls-preview-pin] pin  \\[promptls-preview-drop] drop  \
\\[promptls-preview-add] add  \\[promptls-preview-set-budget] budget  \
\\[promptls-page-rebuild] rebuild  \\[quit-window] quit")))

(provide 'promptls-page)
;;; promptls-page.el ends here
