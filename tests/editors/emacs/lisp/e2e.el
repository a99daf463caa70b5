;;; e2e.el --- End-to-end tests with the real server  -*- lexical-binding: t; -*-

;;; Commentary:

;; Runs in batch, once per client: CLIENT is lsp-mode or eglot.  The tests use the
;; commands of the package and the client's own features in a prompt document.
;; The server is not mocked.

;;; Code:

(load (expand-file-name "check.el" (file-name-directory load-file-name)) nil t)
(require 'ert)
(require 'promptls)

(defvar e2e-client (intern (getenv "CLIENT")) "The client under test.")

(setq promptls-client e2e-client
      promptls-command (split-string (getenv "PROMPTLS_COMMAND"))
      promptls-connect-automatically nil
      lsp-session-file (expand-file-name "lsp-session" (getenv "HOME"))
      lsp-restart 'ignore
      lsp-enable-snippet nil
      lsp-log-io t
      lsp-warn-no-matched-clients nil
      lsp-completion-provider :none
      lsp-headerline-breadcrumb-enable nil
      lsp-modeline-code-actions-enable nil
      lsp-eldoc-enable-hover nil
      lsp-diagnostics-provider :flymake
      eglot-confirm-server-initiated-edits nil
      flymake-no-changes-timeout 0.1)

(defun e2e-open (name)
  "Visit NAME of the workspace and return its buffer."
  (switch-to-buffer (find-file-noselect (workspace name))))

(defun e2e-write (text)
  "Replace the text of the current buffer with TEXT."
  (erase-buffer)
  (insert text))

(defun e2e-wait-for-index ()
  "Wait until the index is complete."
  (wait-for (lambda ()
              (equal "ready" (plist-get (promptls-request "promptls/status" nil) :state)))
            60))

(defun e2e-pid ()
  "Return the process id of the server, or nil."
  (when-let ((connection (promptls-connection)))
    (process-id (promptls-connection-process connection))))

(defun e2e-build ()
  "Run `promptls-build' and return the text of the preview, or nil."
  (when (get-buffer "*promptls prompt*")
    (kill-buffer "*promptls prompt*"))
  (save-window-excursion
    (promptls-build)
    (wait-for (lambda () (get-buffer "*promptls prompt*")))
    (when (get-buffer "*promptls prompt*")
      (with-current-buffer "*promptls prompt*" (buffer-string)))))

(defun e2e-write-and-build (text)
  "Build the prompt of TEXT and switch to its page."
  (with-current-buffer e2e-prompt
    (e2e-write text)
    (e2e-build))
  (switch-to-buffer "*promptls prompt*"))

(defun e2e-page (name open)
  "Call OPEN and return the text of the page in the buffer NAME."
  (when (get-buffer name)
    (kill-buffer name))
  (save-window-excursion
    (funcall open)
    (wait-for (lambda () (get-buffer name)))
    (with-current-buffer name
      (buffer-string))))

(defun e2e-go-to (text)
  "Go to the line with TEXT in the page of the current buffer."
  (goto-char (point-min))
  (search-forward text)
  (beginning-of-line))

(defun e2e-section (title)
  "Return the text of the section TITLE in the page of the current buffer."
  (save-excursion
    (goto-char (point-min))
    (if (search-forward (concat "\n## " title) nil t)
        (buffer-substring (point) (or (search-forward "\n## " nil t) (point-max)))
      "")))

(defun e2e-request-at-point (method)
  "Send the standard LSP request METHOD for point and return the result."
  (promptls-request method
                    (list :textDocument (list :uri (promptls-buffer-uri (promptls-connection)
                                                                        (current-buffer)))
                          :position (promptls-position
                                     (point)
                                     (promptls-connection-encoding (promptls-connection))))))

(defun e2e-hover ()
  "Return the hover text of the client at point."
  (promptls-connection-flush (promptls-connection))
  (pcase e2e-client
    ('lsp-mode
     (let ((text nil))
       (lsp-request-async "textDocument/hover" (lsp--text-document-position-params)
                          (lambda (hover)
                            (setq text (lsp--render-on-hover-content
                                        (lsp:hover-contents hover) t)))
                          :error-handler #'ignore)
       (wait-for (lambda () text) 10)))
    ('eglot
     (switch-to-buffer (current-buffer))
     (let ((hover nil))
       (eglot-hover-eldoc-function (lambda (text &rest _) (setq hover (or text 'nothing))))
       (wait-for (lambda () hover) 10)))))

(defun e2e-diagnostics ()
  "Return the messages of the Flymake diagnostics in this buffer."
  (mapcar #'flymake-diagnostic-text (flymake-diagnostics)))

(defun e2e-logged-p (text)
  "Return non-nil if the message log of the client contains TEXT."
  (seq-some (lambda (buffer)
              (and (string-match-p "events\\*\\|\\*lsp-log" (buffer-name buffer))
                   (with-current-buffer buffer
                     (save-excursion
                       (goto-char (point-min))
                       (search-forward text nil t)))))
            (buffer-list)))

;;;; Server start

;; Candidates may take longer on a busy machine than typing can wait.
(defconst e2e-completion-timeout promptls-complete--timeout
  "Seconds that completion waits for a user.")
(setq promptls-complete--timeout 30)

(e2e-open "shop/cart.py")

(let ((promptls-command "no-such-program"))
  (check-that "a missing program is reported"
    (string-match-p "Cannot run no-such-program; check"
                    (cadr (should-error (promptls-connect) :type 'user-error)))))

(check-that "the server starts from a code buffer"
  (let ((connection (promptls-connect)))
    (promptls-connection-ready-p connection)))
(check-that "the client does not manage a code buffer"
  (not (promptls-connection-manages-p (promptls-connection) (current-buffer))))
(check-that "a code buffer is synchronized"
  (eq promptls-sync--connection (promptls-connection)))
(check-that "the index becomes ready" (e2e-wait-for-index))
(check-that "the server sends status notifications"
  (wait-for (lambda () (equal "ready" (plist-get (promptls-last-status (promptls-connection))
                                                 :state)))))
(check-that "the mode line shows the status"
  (equal " promptls[ready]" (promptls-mode-line)))

;;;; A prompt document

(defvar e2e-prompt (e2e-open "question.prompt.md"))
(set-buffer e2e-prompt)
(check-that "a prompt document is in promptls-mode" (derived-mode-p 'promptls-mode))
(promptls--attach (current-buffer))
(check-that "the client manages a prompt document"
  (wait-for (lambda () (promptls-connection-manages-p (promptls-connection) e2e-prompt))))

(set-buffer e2e-prompt)
(insert "Why is the price wrong? @car")
(check-that "completion ranks candidates and shows token costs"
  (pcase-let* ((`(,start ,end ,table . ,properties) (promptls-completion-at-point))
               (candidates (all-completions "@car" table)))
    (and (equal "@car" (buffer-substring start end))
         (equal "@shop/cart.py" (substring-no-properties (car candidates)))
         (string-match-p "[0-9]+ tokens"
                         (funcall (plist-get properties :annotation-function)
                                  (car candidates))))))
(check-that "completion inserts the mention"
  (e2e-write "Why is the price wrong? @shop/ca")
  (goto-char (point-max))
  (completion-at-point)
  (equal "Why is the price wrong? @shop/cart.py" (buffer-string)))
(check-that "completion inside a mention replaces the whole mention"
  (e2e-write "Why? @sho.py now")
  (goto-char (+ (point-min) (length "Why? @sho")))
  (let ((completion (promptls-completion-at-point)))
    (or (null completion)
        (equal "@sho.py" (buffer-substring (nth 0 completion) (nth 1 completion))))))
(check-that "completion after emoji replaces the right range"
  (e2e-write "😀😀 why? @shop/stoc")
  (goto-char (point-max))
  (completion-at-point)
  (equal "😀😀 why? @shop/stock.py" (buffer-string)))

(dolist (rest '(":10-20" "#Store" "の端数処理" "的作用？" ", then" ")"))
  (check-that (format "completion keeps the text \"%s\" after point" rest)
    (e2e-write (concat "説明 See @shop/mo" rest))
    (goto-char (- (point-max) (length rest)))
    (completion-at-point)
    (equal (concat "説明 See @shop/money.py" rest) (buffer-string))))

(defun e2e-diagnostic-count ()
  "Start Flymake and return the number of diagnostics in this buffer."
  (flymake-start)
  (length (e2e-diagnostics)))

;; A server whose output is not read does not answer.
(check-that "completion returns nothing if the server is slow, and works again later"
  (e2e-write "Why is the price wrong? @shop/ca")
  (goto-char (point-max))
  (pcase-let* ((`(,_ ,_ ,table . ,_) (promptls-completion-at-point))
               (process (promptls-connection-process (promptls-connection)))
               (filter (process-filter process))
               (messages (lambda () (with-current-buffer (messages-buffer) (buffer-string))))
               (before (funcall messages))
               (start (float-time))
               (slow nil))
    (set-process-filter process t)
    (setq promptls-complete--timeout e2e-completion-timeout)
    (unwind-protect
        (setq slow (list (promptls-completion-at-point) (all-completions "@shop/sto" table)
                         (- (float-time) start)))
      (setq promptls-complete--timeout 30)
      (set-process-filter process filter))
    (and (equal '(nil nil) (seq-take slow 2))
         ;; Two requests of 0.5 s each.
         (< 0.9 (nth 2 slow) 5)
         (equal before (funcall messages))
         (promptls-completion-at-point)
         (all-completions "@shop/sto" table))))

(flymake-mode 1)
(e2e-write "Is @#Monney right? ")
(goto-char (point-max))
(check-that "an unresolved mention has a diagnostic"
  (promptls-connection-flush (promptls-connection))
  (wait-for (lambda () (= 1 (e2e-diagnostic-count)))))
(let ((counts nil))
  (dolist (letter (string-to-list "@shop/crat.py"))
    (insert letter)
    (promptls-connection-flush (promptls-connection))
    ;; Longer than the debounce of the server and of Flymake.
    (wait-for (lambda () (cl-pushnew (e2e-diagnostic-count) counts) nil) 0.3))
  (check-equal "diagnostics do not come and go while a mention is typed" counts '(1)))
(insert " ")
(promptls-connection-flush (promptls-connection))
(check-that "a finished mention has a diagnostic"
  (wait-for (lambda () (= 2 (e2e-diagnostic-count)))))
(check-that "a build names the mentions that are not in the prompt"
  (e2e-build)
  (with-current-buffer "*Messages*"
    (string-match-p "Not in the prompt: @#Monney, @shop/crat.py" (buffer-string))))

(write-region
 (json-serialize '(:cells [(:cell_type "code" :metadata (:a 1) :outputs [] :source ["tide = 1"])]
                   :metadata (:kernelspec (:language "python")) :nbformat 4 :nbformat_minor 5))
 nil (workspace "gauges.ipynb"))
(e2e-open "gauges.ipynb")
(search-forward "tide = 1")
(insert "4711")
(set-buffer e2e-prompt)
(e2e-write "What is it? @gauges.ipynb")
(let ((preview (e2e-build)))
  (check "a notebook is synchronized as JSON: its unsaved cells are in the prompt"
         (and (string-search "tide = 14711" preview) (not (string-search "cell_type" preview)))
         preview))
(with-current-buffer "gauges.ipynb"
  (set-buffer-modified-p nil)
  (kill-buffer))
(delete-file (workspace "gauges.ipynb"))
(set-buffer e2e-prompt)

(e2e-write "Why is the price wrong? @shop/cart.py")
(goto-char (point-max))
(let ((preview (e2e-build)))
  (check-that "build shows the prompt" (string-match-p "def apply_discount" preview))
  (check-that "build shows tokens and included items"
    (and (string-match-p "\\`# Prompt: [0-9,]+ of [0-9,]+ tokens" preview)
         (string-match-p "^## In the prompt" preview)
         (string-match-p "✓ @shop/cart.py" preview))))

(switch-to-buffer "*promptls prompt*")
(check-that "a button of a place visits it"
  (save-window-excursion
    (e2e-go-to "@shop/cart.py")
    (forward-button 1)
    (push-button)
    (equal "cart.py" (file-name-nondirectory (or buffer-file-name "")))))
(check-that "RET visits the place of a line"
  (save-window-excursion
    (e2e-go-to "[pin] [drop]")
    (call-interactively (key-binding "\r"))
    (and buffer-file-name (file-in-directory-p buffer-file-name (workspace)))))
(check-that "RET on a line without a place is an error"
  (goto-char (point-min))
  (equal "No place on this line" (cadr (should-error (promptls-page-visit) :type 'user-error))))
(check-that "TAB folds and unfolds a section"
  (e2e-go-to "## In the prompt")
  (promptls-page-fold)
  (let ((item (save-excursion (search-forward "[pin]"))))
    (and (invisible-p item)
         (progn (promptls-page-fold)
                (not (invisible-p item))))))
(check-that "TAB folds quoted code"
  (e2e-go-to "def apply_discount")
  (let ((code (point)))
    (re-search-backward "^<context-")
    (promptls-page-fold)
    (prog1 (invisible-p code)
      (promptls-page-fold))))
(check-that "x drops the item on a line, and the button restores it"
  (e2e-write-and-build "How is a discount applied to the price of the cart?")
  (e2e-go-to "Cart.total  [pin]")
  (let ((line (line-number-at-pos)))
    (call-interactively (key-binding "x"))
    (and (wait-for (lambda () (string-search "shop/cart.py:19-22" (e2e-section "Dropped"))))
         (not (string-search "Cart.total" (e2e-section "In the prompt")))
         (= line (line-number-at-pos))
         (progn (e2e-go-to "[restore]")
                (search-forward "[restore")
                (push-button)
                (wait-for (lambda () (string-empty-p (e2e-section "Dropped")))))
         (string-search "Cart.total" (e2e-section "In the prompt")))))
(check-that "i pins the item on a line"
  (e2e-go-to "[pin] [drop]")
  (call-interactively (key-binding "i"))
  (and (wait-for (lambda () (string-search "[unpin]" (buffer-string))))
       (string-search "pinned" (e2e-section "In the prompt"))))
(check-that "m lists the related definitions of the item on a line, and closes the list"
  (e2e-go-to "Cart.total  [")
  (call-interactively (key-binding "m"))
  (and (wait-for (lambda () (and (string-match-p "callee .*apply_discount" (buffer-string))
                                 (string-search "Cart.total" (thing-at-point 'line)))))
       (progn (call-interactively (key-binding "m"))
              (wait-for (lambda () (not (string-match-p "callee .*apply_discount" (buffer-string))))))))
(check-that "an action without an item is reported"
  (goto-char (point-min))
  (promptls-preview-drop)
  (wait-for (lambda ()
              (with-current-buffer "*Messages*"
                (string-search "Nothing to drop on this line" (buffer-string))))))
(check-that "b rebuilds with another budget"
  (promptls-preview-set-budget 400)
  (wait-for (lambda () (string-match-p "of 400 tokens" (buffer-string)))))
(check-that "a page is read again when the server has changed it"
  (promptls-request "promptls/pageAction"
                    (list :uri promptls-page--uri :line 0 :action "budget" :tokens 420)
                    :connection promptls-page--connection)
  (wait-for (lambda () (string-match-p "of 420 tokens" (buffer-string)))))
(check-that "a adds an item that was left out"
  (e2e-go-to "[add]")
  (re-search-forward "[^ ]+\\.[a-z]+:[0-9]+")
  (let ((place (match-string 0)))
    (call-interactively (key-binding "a"))
    (wait-for (lambda () (string-search place (e2e-section "In the prompt"))))))
(check-that "w copies the current prompt"
  (promptls-preview-copy)
  (string-search (current-kill 0) (buffer-string)))
(check-that "o opens the prompt"
  (save-window-excursion
    (promptls-preview-open)
    (prog1 (string-match-p "\\`Answer the question" (buffer-string))
      (kill-buffer))))
(check-that "g rebuilds from the current text of the document"
  (with-current-buffer e2e-prompt
    (e2e-write "What is rounded? @shop/money.py"))
  (call-interactively (key-binding "g"))
  (wait-for (lambda () (string-match-p "[✓◐] @shop/money.py" (buffer-string)))))
(check-that "two windows keep their lines when the page is read again"
  (let ((other (split-window)))
    (set-window-point other (save-excursion (e2e-go-to "## Text") (point)))
    (goto-char (point-min))
    (promptls-page-fill (buffer-string))
    (prog1 (and (= 1 (line-number-at-pos (window-point)))
                (save-excursion (goto-char (window-point other)) (looking-at "## Text")))
      (delete-window other))))

(set-buffer e2e-prompt)
(e2e-write "one @shop/money.py\n\ntwo @shop/stock.py")
(check-that "only the active region is built"
  (let ((transient-mark-mode t))
    (goto-char (point-min))
    (push-mark (line-end-position) t t)
    (let ((preview (e2e-build)))
      (deactivate-mark)
      (and (string-match-p "✓ @shop/money.py" preview)
           (not (string-match-p "✓ @shop/stock.py" preview))))))
(check-that "building an empty document is an error"
  (e2e-write " \n")
  (string-match-p "No question" (cadr (should-error (promptls-build) :type 'user-error))))

(check-that "an answer without a language model names the option to set"
  (e2e-write "Why?")
  (promptls-answer)
  (wait-for (lambda ()
              (with-current-buffer "*Messages*"
                (string-search "Set promptls-language-model-use" (buffer-string))))))

;;;; LSP features in prompt documents

(e2e-write "Why is the price wrong? @shop/cart.py")
(goto-char (- (point-max) 3))
(check-that "hover shows the mentioned file"
  (string-match-p "cart\\.py" (format "%s" (e2e-hover))))
(check-that "standard LSP completion works"
  (e2e-write "See @car")
  (goto-char (point-max))
  (let ((items (plist-get (e2e-request-at-point "textDocument/completion") :items)))
    (equal "@shop/cart.py" (promptls-get (car items) :textEdit :newText))))
(check-that "go to definition finds the mentioned file"
  (e2e-write "See @shop/cart.py")
  (goto-char (- (point-max) 3))
  (let ((locations (e2e-request-at-point "textDocument/definition")))
    (string-match-p "shop/cart\\.py" (format "%s" locations))))

(e2e-write "Why is the price wrong? @shop/crat.py")
(flymake-mode 1)
(let ((reported-p
       (lambda ()
         (flymake-start)
         (seq-some (lambda (text) (string-match-p "crat" text)) (e2e-diagnostics)))))
  (promptls-connection-flush (promptls-connection))
  (check-that "an unresolved mention has a diagnostic" (wait-for reported-p 10))
  (check-that "the code action corrects the mention and clears the diagnostic"
    (goto-char (- (point-max) 3))
    (cl-letf ((last-nonmenu-event t)
              ((symbol-function 'completing-read)
               (lambda (_prompt collection &rest _)
                 (seq-find (lambda (title) (string-match-p "shop/cart\\.py" title))
                           (all-completions "" collection)))))
      (promptls-fix))
    (and (wait-for (lambda () (equal "Why is the price wrong? @shop/cart.py" (buffer-string))) 10)
         (progn (promptls-connection-flush (promptls-connection))
                (wait-for (lambda () (not (funcall reported-p))) 10)))))
(check-that "the command of a code lens builds the prompt"
  (when (get-buffer "*promptls prompt*") (kill-buffer "*promptls prompt*"))
  (let* ((uri (promptls-buffer-uri (promptls-connection) e2e-prompt)))
    (pcase e2e-client
      ('lsp-mode
       (lsp--execute-command (lsp-make-command :title "Build" :command "promptls.openPrompt"
                                               :arguments (vector (lsp-ht ("uri" uri))))))
      ('eglot
       (if (get 'eglot-execute-command 'byte-obsolete-info)
           (eglot-execute (promptls-connection)
                          (list :title "Build" :command "promptls.openPrompt"
                                :arguments (vector (list :uri uri))))
         (eglot-execute-command (promptls-connection) 'promptls.openPrompt
                                (vector (list :uri uri)))))))
  (wait-for (lambda () (get-buffer "*promptls prompt*")) 10))

;;;; Instruction files of agents

(defun e2e-git (&rest arguments)
  "Run git in the workspace with ARGUMENTS."
  (let ((default-directory (workspace)))
    (apply #'call-process "git" nil nil nil "-c" "user.name=T" "-c" "user.email=t@example.org" arguments)))

(e2e-git "mv" "shop/stock.py" "shop/store.py")
(e2e-git "commit" "-qm" "Rename")
(write-region "Edit `shop/cart.py` and `shop/stock.py`, see `rounded()`.\n" nil (workspace "AGENTS.md"))
(let ((mode (with-temp-buffer
              (setq buffer-file-name (workspace "docs/other.md"))
              (set-auto-mode)
              (setq buffer-file-name nil)
              major-mode)))
  (e2e-open "AGENTS.md")
  (check-equal "an instruction file keeps its major mode" major-mode mode))
(check-that "the client manages an instruction file, and no other Markdown file"
  (and (promptls-connection-manages-p (promptls-connection) (current-buffer))
       (null promptls-sync--connection)
       (with-current-buffer (find-file-noselect (workspace "docs/orders.md"))
         (not (promptls-connection-manages-p (promptls-connection) (current-buffer))))))
(check-that "a renamed file in an instruction file has a diagnostic"
  (flymake-mode 1)
  (wait-for (lambda ()
              (promptls-request "promptls/status" nil)
              (accept-process-output nil 0.5) ; a check that starts ends the one before
              (flymake-start)
              (and (= 1 (length (e2e-diagnostics)))
                   (string-match-p "renamed to shop/store.py" (car (e2e-diagnostics)))))))
(check-that "the quick fix corrects the name"
  (goto-char (point-min))
  (search-forward "stock")
  (cl-letf ((last-nonmenu-event t)
            ((symbol-function 'completing-read)
             (lambda (_prompt collection &rest _) (car (all-completions "" collection)))))
    (promptls-fix))
  (wait-for (lambda () (string-match-p "shop/store.py" (buffer-string))) 10))
(check-that "hover and definition show what a name in an instruction file leads to"
  (goto-char (point-min))
  (search-forward "roun")
  (and (string-match-p "def rounded" (format "%s" (e2e-hover)))
       (string-match-p "shop/money\\.py" (format "%s" (e2e-request-at-point "textDocument/definition")))))
(check-that "the header line shows the cost of an instruction file"
  (promptls-lens--refresh)
  (wait-for (lambda () (string-match-p "[0-9]+ tokens" (format "%s" header-line-format)))))
(check-that "paths complete after a backtick"
  (goto-char (point-max))
  (insert "And `shop/mon")
  (completion-at-point)
  (equal "And `shop/money.py" (buffer-substring (line-beginning-position) (point))))
(e2e-git "reset" "--hard" "-q" "HEAD~1")
(set-buffer-modified-p nil)
(kill-buffer)
(delete-file (workspace "AGENTS.md"))

;;;; Hostile files

(defvar e2e-hostile nil "What quoted text has run.")
(defun hostile-mode ()
  "Record that quoted text has chosen a mode."
  (push 'mode e2e-hostile))

(write-region (concat "# Title\n\n```hostile\nx\n```\n\n````hostile\nx\n````\n\n"
                      "[x](command:hostile) %e %{hostile%} \e]0;hostile\a\n\n"
                      "Local Variables:\nmode: hostile\neval: (push 'eval e2e-hostile)\nEnd:\n")
              nil (workspace "evil.md"))
;; Emacs takes a file name with this second line for one of a remote file.
(defun e2e-shell (script)
  "Run SCRIPT in the workspace with the names of hostile folders as $1 and $2."
  (let ((default-directory (workspace)))
    (call-process "sh" nil nil nil "-c" script "sh" "evil\n/ssh:host:" "evil\n```hostile\nx")))

(e2e-shell "mkdir -p \"$1\" \"$2\" && printf 'def hostile_trap():\\n    pass\\n' >\"$1/trap.py\"
  printf 'def hostile_fence():\\n    pass\\n' >\"$2/fence.py\"")
(write-region "See `hostile_fence()`.\n" nil (workspace "AGENTS.md"))
(write-region "#+MACRO: x (eval (push 'macro e2e-hostile))\n* {{{x}}}\n" nil (workspace "evil.org"))

(check-that "hover does not run the modes that quoted code names"
  (set-buffer e2e-prompt)
  (promptls-request "promptls/search" '(:query "hostile")) ; waits for the new files
  (cl-letf (((symbol-function 'org-mode) (lambda () (push 'org e2e-hostile))))
    (dolist (name '("evil.md" "evil.org" "#hostile_fence"))
      (e2e-write (format "What is in @%s" name))
      (goto-char (- (point-max) 3))
      (unless (string-match-p "is included" (format "%s" (e2e-hover)))
        (error "No hover of %s: %s" name (e2e-hover))))
    (e2e-open "AGENTS.md")
    (goto-char 12)
    (unless (string-match-p "def hostile_fence" (format "%s" (e2e-hover)))
      (error "No hover in an instruction file"))
    (kill-buffer))
  (or (null e2e-hostile) (error "%S has run" e2e-hostile)))
(check-that "an opened prompt has no local variables, also when it is saved"
  (set-buffer e2e-prompt)
  (e2e-write "@evil.md")
  (e2e-build)
  (save-window-excursion
    (set-buffer "*promptls prompt*")
    (promptls-preview-open)
    (goto-char (point-max))
    (insert "\nLocal Variables:\nmode: hostile\neval: (push 'eval e2e-hostile)\nEnd:\n")
    (write-file (workspace "saved.md"))
    (set-buffer-modified-p nil)
    (kill-buffer))
  (delete-file (workspace "saved.md"))
  (or (null e2e-hostile) (error "%S has run" e2e-hostile)))
(check-that "a prompt document has no local variables"
  (copy-file (workspace "evil.md") (workspace "evil.promptls.md"))
  (e2e-open "evil.promptls.md")
  (prog1 (and (derived-mode-p 'promptls-mode)
              (or (null e2e-hostile) (error "%S has run" e2e-hostile)))
    (kill-buffer)
    (delete-file (workspace "evil.promptls.md"))))
(check-that "search results are lines without control characters, and g searches again"
  (promptls-search "hostile_trap")
  (with-current-buffer "*promptls search*"
    (let ((text (buffer-string)))
      (cl-letf (((symbol-function 'compilation-start) (lambda (&rest _) (push 'compile e2e-hostile))))
        (call-interactively (key-binding "g"))
        (revert-buffer))
      (and (string-match-p "^evil /ssh:host:/trap\\.py:1: " text)
           (not (string-match-p "[^\n[:print:]]" text))
           (equal text (buffer-string))
           (or (null e2e-hostile) (error "%S has run" e2e-hostile))))))
(check-that "completion and pages show a hostile file name on one line"
  (set-buffer e2e-prompt)
  (e2e-write "What is @#hostile_tr")
  (goto-char (point-max))
  (pcase-let* ((`(,_ ,_ ,table . ,_) (promptls-completion-at-point))
               (candidate (car (all-completions "@#hostile_tr" table))))
    (and (not (string-match-p "\n" (concat candidate (promptls-complete--annotation candidate))))
         (progn (e2e-write candidate)
                (let ((page (car (split-string (e2e-build) "## Text"))))
                  (and (string-match-p "trap\\.py" page)
                       (not (string-match-p "^/ssh" page))))))))
(mapc (lambda (name) (delete-file (workspace name))) '("evil.md" "evil.org"))
(e2e-shell "rm -r \"${1%/*}\" \"$2\" AGENTS.md")
(setq e2e-hostile nil)

;;;; Unsaved edits

(e2e-open "shop/cart.py")
(goto-char (point-max))
(insert "\n\ndef price_of_unsaved(article):\n    return article.price + 4711\n")
(check-that "an unsaved edit is in the prompt"
  (with-current-buffer e2e-prompt
    (e2e-write "What is @#price_of_unsaved ?")
    (string-match-p "4711" (e2e-build))))
(check-that "the next unsaved edit is in the prompt"
  (e2e-open "shop/cart.py")
  (goto-char (point-min))
  (search-forward "4711")
  (replace-match "4712")
  (with-current-buffer e2e-prompt
    (let ((preview (e2e-build)))
      (and (string-match-p "4712" preview) (not (string-match-p "4711" preview))))))
(check-that "a reverted edit is not in the prompt"
  (e2e-open "shop/cart.py")
  (let ((revert-without-query '(".")))
    (revert-buffer t t))
  (with-current-buffer e2e-prompt
    (not (string-match-p "4712" (e2e-build)))))
(check-that "a new buffer is in the prompt before it is saved"
  (e2e-open "shop/brand_new.py")
  (insert "def brand_new_function():\n    return 42\n")
  (with-current-buffer e2e-prompt
    (e2e-write "What is @#brand_new_function ?")
    (string-match-p "return 42" (e2e-build))))
(check-that "a killed unsaved buffer is not in the prompt"
  (with-current-buffer (get-file-buffer (workspace "shop/brand_new.py"))
    (set-buffer-modified-p nil)
    (kill-buffer))
  (with-current-buffer e2e-prompt
    (string-match-p "unresolved" (e2e-build))))
(check-that "a saved and killed buffer is in the prompt"
  (e2e-open "shop/saved.py")
  (insert "def saved_function():\n    return 43\n")
  (save-buffer)
  (kill-buffer)
  (with-current-buffer e2e-prompt
    (e2e-write "What is @#saved_function ?")
    (string-match-p "return 43" (e2e-build))))

;;;; Binary files and raw bytes

(defun e2e-file (name bytes)
  "Write BYTES to the file NAME of the workspace and visit it."
  (let ((coding-system-for-write 'no-conversion))
    (write-region bytes nil (workspace name) nil 'quiet))
  (e2e-open name))

(pcase-dolist (`(,name ,bytes) '(("logo.png" "\211PNG\r\n\032\n\0\0\0\rIHDR\0")
                                 ("broken.py" "# caf\351 \377\n# \343\201\202 ok\nx = 1\n")))
  (check-that (format "%s is visited but not synchronized" name)
    (e2e-file name bytes)
    (and (equal (workspace name) buffer-file-name)
         (null promptls-sync--connection)
         (with-current-buffer e2e-prompt
           (e2e-write "What is in @shop/money.py ?")
           (string-match-p "class Money" (e2e-build)))))
  (kill-buffer (get-file-buffer (workspace name)))
  (delete-file (workspace name)))
(check-that "an edit with a raw byte is in the prompt"
  (e2e-file "bytes.py" "def whole_bytes():\n")
  (goto-char (point-max))
  (insert "    return '" (unibyte-char-to-multibyte 255) " 4713'\n")
  (prog1 (with-current-buffer e2e-prompt
           (e2e-write "What is @#whole_bytes ?")
           (string-match-p "'\ufffd 4713'" (e2e-build)))
    (set-buffer-modified-p nil)
    (kill-buffer)
    (delete-file (workspace "bytes.py"))))
(check-that "a file is visited even if its synchronization fails"
  (let ((fails (lambda (&rest _) (error "Synchronization failed"))))
    (advice-add 'promptls-connection-notify :override fails)
    (unwind-protect
        (prog1 (and (e2e-file "unsynchronized.py" "x = 1\n")
                    (null promptls-sync--connection))
          (kill-buffer)
          (delete-file (workspace "unsynchronized.py")))
      (advice-remove 'promptls-connection-notify fails))))

;;;; Context

(check-that "the selection is included"
  (e2e-open "shop/stock.py")
  (goto-char (point-min))
  (search-forward "def reserve")
  (beginning-of-line)
  (let ((transient-mark-mode t))
    (push-mark (point-max) t t)
    (prog1 (let* ((connection (promptls-connection))
                  (context (promptls-context connection))
                  (result (promptls-request "promptls/buildPrompt"
                                            (list :message "What does @selection do?"
                                                  :context context))))
             (seq-some (lambda (item) (equal "selection" (plist-get item :origin)))
                       (plist-get result :items)))
      (deactivate-mark))))
(check-that "@active is the last code buffer, not the prompt document"
  (e2e-open "shop/money.py")
  (set-buffer e2e-prompt)
  (e2e-write "What is in @active ?")
  (string-match-p "class Money" (e2e-build)))

(with-current-buffer (get-buffer-create "*shell of the test*")
  (comint-mode)
  (insert "$ make\nError 77: the oven is cold\n"))
(with-current-buffer (get-buffer-create "*compilation of the test*")
  (setq default-directory (workspace))
  (insert "checkout.ts:4:3: error: no bank\n")
  (compilation-mode)
  (setq next-error-last-buffer (current-buffer)))
(kill-new "clipped text")
(with-current-buffer (e2e-open "shop/money.py")
  (setq-local flymake-diagnostic-functions
              (list (lambda (report &rest _)
                      (funcall report (list (flymake-make-diagnostic
                                             (current-buffer) 1 10 :warning
                                             "money is too cheap"))))))
  (flymake-mode 1)
  (flymake-start)
  (wait-for (lambda () (flymake-diagnostics))))
(let ((context (promptls-normalize-json
                (promptls-client-context (promptls-connection)
                                         '("diagnostics" "terminal" "quickfix" "clipboard")))))
  (check-that "the client context has the last terminal lines"
    (string-match-p "oven is cold" (plist-get context :terminal)))
  (check-that "the client context has the clipboard"
    (equal "clipped text" (plist-get context :clipboard)))
  (check-that "the client context has the next-error locations"
    (let ((location (car (plist-get context :quickfix))))
      (and (string-suffix-p "/checkout.ts" (plist-get location :uri))
           (= 3 (promptls-get location :range :start :line)))))
  (check-that "the client context has Flymake diagnostics"
    (let ((file (car (plist-get context :diagnostics))))
      (and (string-suffix-p "/money.py" (plist-get file :uri))
           (equal "money is too cheap"
                  (plist-get (car (plist-get file :diagnostics)) :message))
           (= 2 (plist-get (car (plist-get file :diagnostics)) :severity))))))
(check-that "the client context has Flycheck errors with their codes"
  (require 'flycheck)
  (flycheck-define-generic-checker 'e2e-checker
    "Report one error."
    :start (lambda (checker callback)
             (funcall callback 'finished
                      (list (flycheck-error-new-at 2 3 'error "stock is too low"
                                                   :id "E77" :checker checker))))
    :modes '(python-mode))
  (e2e-open "shop/stock.py")
  (setq-local flycheck-checkers '(e2e-checker))
  (flycheck-mode 1)
  (flycheck-buffer)
  (wait-for (lambda () flycheck-current-errors))
  (let* ((files (promptls-normalize-json (promptls-diagnostics (promptls-connection))))
         (diagnostic (car (plist-get (car files) :diagnostics))))
    (and (equal "stock is too low" (plist-get diagnostic :message))
         (equal "E77" (plist-get diagnostic :code))
         (equal '(:line 1 :character 2) (promptls-get diagnostic :range :start)))))
(pcase-dolist (`(,mention . ,text) '(("@problems" . "money is too cheap")
                                     ("@terminal" . "oven is cold")
                                     ("@clipboard" . "clipped text")
                                     ("@quickfix" . "Sends the cart to the bank")))
  (check-that (format "%s includes content of the client context" mention)
    (with-current-buffer e2e-prompt
      (e2e-write (format "What is wrong here? %s" mention))
      (string-match-p (regexp-quote text) (e2e-build)))))

;; These checks come last because they replace the terminal and the clipboard.
(with-current-buffer "*shell of the test*"
  (goto-char (point-max))
  (insert "byte " (unibyte-char-to-multibyte 255) " is printed\n"))
(kill-new (concat "byte " (unibyte-string 254) " is copied"))
(check-that "raw bytes in terminal and clipboard are replaced"
  (with-current-buffer e2e-prompt
    (e2e-write "What is wrong here? @terminal @clipboard")
    (let ((preview (e2e-build)))
      (and (string-match-p "byte \ufffd is printed" preview)
           (string-match-p "byte \ufffd is copied" preview)))))

;;;; Other commands

(set-buffer e2e-prompt)
(check-that "copying in a code buffer reads a question and copies its prompt"
  (save-window-excursion
    (e2e-open "shop/stock.py")
    (kill-new "nothing")
    (cl-letf (((symbol-function 'promptls-read-message)
               (lambda (&rest _) "What is rounded? @shop/money.py")))
      (promptls-copy))
    (and (wait-for (lambda () (string-match-p "def rounded" (current-kill 0))))
         (string-match-p "^What is rounded\\? @shop/money.py$" (current-kill 0)))))
(check-that "copying an empty document is an error"
  (set-buffer e2e-prompt)
  (e2e-write " \n")
  (string-match-p "No question" (cadr (should-error (promptls-copy) :type 'user-error))))
(check-that "next-error visits search results"
  (save-window-excursion
    (promptls-search "regular customers pay less")
    (next-error 1 t)
    (member (file-name-nondirectory (or (buffer-file-name (window-buffer)) ""))
            '("cart.py" "orders.md" "test_cart.py"))))
(check-that "explain shows a definition with buttons for places"
  (save-window-excursion
    (and (string-match-p "apply_discount"
                         (e2e-page "*promptls explanation*"
                                   (lambda () (promptls-explain "apply_discount"))))
         (with-current-buffer "*promptls explanation*"
           (goto-char (point-min))
           (forward-button 1)
           (push-button))
         (file-in-directory-p buffer-file-name (workspace)))))
(check-that "explain uses the definition at point"
  (string-match-p "# apply_discount"
                  (e2e-page "*promptls explanation*"
                            (lambda ()
                              (e2e-open "shop/cart.py")
                              (goto-char (point-min))
                              (search-forward "def apply_disc")
                              (promptls-explain nil)))))
(check-that "graph shows the components for a query"
  (string-match-p "Code Components"
                  (e2e-page "*promptls graph*" (lambda () (promptls-graph "discount of the cart")))))
(check-that "graph shows call paths"
  (string-match-p "apply_discount"
                  (e2e-page "*promptls graph*"
                            (lambda () (promptls-graph nil "Cart.total" "rounded")))))
(check-that "the kinds of mentions are shown"
  (string-match-p "^## file" (e2e-page "*promptls mentions*" #'promptls-mention-kinds)))
(check-that "memory entries are added, edited and removed"
  (save-window-excursion
    (with-current-buffer (promptls-memory)
      (promptls-memory-add "rule" "Money" "Money is counted in cents.")
      (goto-char (point-min))
      (and (string-match-p "counted in cents" (buffer-string))
           (progn (promptls-memory-edit (tabulated-list-get-id) "Money is never a float.")
                  (string-match-p "never a float" (buffer-string)))
           (cl-letf (((symbol-function 'yes-or-no-p) #'always))
             (goto-char (point-min))
             (promptls-memory-remove (tabulated-list-get-id))
             (string-empty-p (string-trim (buffer-string))))))))
(check-that "a recipe builds a prompt"
  (kill-buffer "*promptls prompt*")
  (save-window-excursion
    (set-buffer e2e-prompt)
    (cl-letf (((symbol-function 'completing-read)
               (lambda (prompt &rest _) (if (string-prefix-p "Recipe" prompt) "review" "")))
              ((symbol-function 'read-string) (lambda (&rest _) ""))
              ((symbol-function 'promptls-read-message)
               (lambda (&rest _) "@shop/cart.py")))
      (promptls-recipes))
    (wait-for (lambda () (get-buffer "*promptls prompt*")))
    (with-current-buffer "*promptls prompt*"
      (string-match-p "wrong or risky\\|[Rr]eview" (buffer-string)))))
(check-that "status shows the index and the connection, also when it is read again"
  (save-window-excursion
    (e2e-page "*promptls status*" #'promptls-status)
    (with-current-buffer "*promptls status*"
      (promptls-page-rebuild)
      (and (wait-for (lambda () (null promptls-page--pending-request)))
           (string-match-p "# promptls: ready\\|# promptls: indexing" (buffer-string))
           (string-match-p (if (eq e2e-client 'eglot) "by Eglot" "by lsp-mode") (buffer-string))
           (string-match-p "from the option promptls-command" (buffer-string))))))
(check-that "doctor shows the report of the program"
  (save-window-excursion
    (promptls-doctor)
    (with-current-buffer "*promptls doctor*"
      (wait-for (lambda () (string-match-p "## Program\n\n.*[^[:space:]]" (buffer-string))) 60))))
(check-that "the scratch prompt mentions the selection and is not saved"
  (save-window-excursion
    (e2e-open "shop/stock.py")
    (goto-char (point-min))
    (let ((transient-mark-mode t))
      (push-mark (save-excursion (forward-line 2) (point)) t t)
      (promptls-scratch))
    (and (equal "@shop/stock.py:1-2 " (buffer-string))
         (derived-mode-p 'promptls-mode)
         (not (file-exists-p buffer-file-name)))))

(check-that "a mention of a file named like a mention kind resolves to the file"
  (save-window-excursion
    (e2e-file "map" "one\ntwo\nthree\n")
    (goto-char (point-min))
    (let* ((transient-mark-mode t)
           (mention (progn (push-mark (line-beginning-position 3) t t)
                           (promptls--selection-mention (promptls-connection)))))
      (deactivate-mark)
      (prog1 (and (equal "@\"map\":1-2" mention)
                  (let ((outcome (car (plist-get (promptls-request "promptls/resolveMentions"
                                                                   (list :message mention))
                                                 :mentions))))
                    (and (equal "included" (plist-get outcome :status))
                         (string-suffix-p "/map" (plist-get (car (plist-get outcome :targets))
                                                            :uri)))))
        (kill-buffer)
        (delete-file (workspace "map"))))))

;;;; gptel, with stubs of its functions

(require 'promptls-gptel)
(defvar-local gptel-mode nil)
(defun gptel-fsm-info (fsm) "Return FSM, which is its own info in these tests." fsm)

(defun gptel-prompt-prefix-string () "Return the prompt prefix." "### ")

(check-that "only the last gptel message is built into a prompt"
  (let ((done nil))
    (with-temp-buffer
      (insert "Hello" (propertize "Hi, @shop/stock.py is nice" 'gptel 'response)
              "\n\n### What is in @shop/money.py")
      (promptls-gptel-transform (lambda () (setq done t)) (list :buffer e2e-prompt))
      (and (wait-for (lambda () done))
           (string-match-p "\\`HelloHi, @shop/stock.py is nice" (buffer-string))
           (string-match-p "class Money" (buffer-string))
           (string-match-p "^What is in @shop/money.py\\'" (buffer-string))))))
(check-that "the history is the gptel chat without the last message"
  (with-current-buffer (get-buffer-create "*chat of the test*")
    (setq gptel-mode t)
    (insert "### What pings?\n" (propertize "Pinger does." 'gptel 'response) "\n### And then")
    (prog1 (equal [(:role "user" :content "What pings?") (:role "assistant" :content "Pinger does.")]
                  (plist-get (promptls-client-context (promptls-connection e2e-prompt) '("history"))
                             :history))
      (kill-buffer))))
(check-that "a gptel message without mentions is not modified"
  (let ((done nil))
    (with-temp-buffer
      (insert "Hello, me@example.org here")
      (promptls-gptel-transform (lambda () (setq done t)) (list :buffer e2e-prompt))
      (and (wait-for (lambda () done))
           (equal "Hello, me@example.org here" (buffer-string))))))

;;;; Settings

(check-that "directory variables are sent to the server"
  (let ((before (promptls-request "promptls/buildPrompt" '(:message "fix @shop/cart.py"))))
    (with-temp-file (workspace ".dir-locals.el")
      (insert "((nil . ((promptls-sections-instructions . nil) (promptls-budget-tokens . 1234))))"))
    (with-current-buffer e2e-prompt (hack-dir-local-variables-non-file-buffer))
    (promptls-connection-configure (promptls-connection))
    (and (/= 1234 (promptls-get before :tokens :budget))
         (wait-for (lambda ()
                     (let ((after (promptls-request "promptls/buildPrompt"
                                                    '(:message "fix @shop/cart.py"))))
                       (= 1234 (promptls-get after :tokens :budget))))
                   10))))
(setq-default promptls-budget-tokens 2345)
(delete-file (workspace ".dir-locals.el"))
(with-current-buffer e2e-prompt
  (kill-local-variable 'promptls-budget-tokens)
  (kill-local-variable 'promptls-sections-instructions))

;;;; Cancellation, restart and crash

(set-buffer e2e-prompt)

(defmacro e2e-on-client-context (form &rest body)
  "Run BODY; evaluate FORM before each reply to promptls/clientContext."
  (declare (indent 1))
  `(let ((spy (lambda (&rest _) ,form)))
     (advice-add 'promptls-client-context :before spy)
     (unwind-protect (progn ,@body)
       (advice-remove 'promptls-client-context spy))))

(check-that "cancelling a request reaches the server and suppresses the callbacks"
  (let ((called nil) (cancelled nil) handle)
    (e2e-on-client-context (progn (setq cancelled t) (promptls-cancel-request handle))
      (setq handle (promptls-request-async
                    (promptls-connection) "promptls/buildPrompt"
                    (promptls-build-params "What is wrong here? @terminal" (promptls-connection))
                    (lambda (_) (setq called t))
                    (lambda (&rest _) (setq called t))))
      (and (wait-for (lambda () cancelled))
           (plist-get (promptls-request "promptls/status" nil) :state)
           (wait-for (lambda ()
                       ;; lsp-mode drops the id and thus does not log the error response.
                       (if (eq e2e-client 'eglot)
                           (e2e-logged-p "-32800")
                         (e2e-logged-p "$/cancelRequest"))))
           (not called)))))
(check-that "quitting cancels the request, and the next request succeeds"
  (let ((quitted nil))
    (e2e-on-client-context (setq quit-flag t)
      (condition-case nil
          (promptls-request "promptls/buildPrompt"
                            (promptls-build-params "What is wrong here? @terminal"
                                                   (promptls-connection)))
        (quit (setq quitted t))))
    (and quitted (plist-get (promptls-request "promptls/status" nil) :state))))

(let ((before (e2e-pid)))
  (promptls-restart)
  (check-that "restart starts a new server"
    (wait-for (lambda ()
                (let ((connection (promptls-connection)))
                  (and connection
                       (promptls-connection-ready-p connection)
                       (not (equal before (e2e-pid))))))))
  (check-that "user settings are sent at the start"
    (= 2345 (promptls-get (promptls-request "promptls/buildPrompt" '(:message "fix @shop/cart.py"))
                          :tokens :budget)))
  (check-that "unsaved edits are in the prompt after a restart"
    (e2e-open "shop/cart.py")
    (goto-char (point-max))
    (insert "\n\ndef after_the_restart():\n    return 815\n")
    (with-current-buffer e2e-prompt
      (e2e-write "What is @#after_the_restart ?")
      (string-match-p "return 815" (e2e-build)))))

(check-that "the memory buffer works after a restart"
  (save-window-excursion
    (set-buffer e2e-prompt)
    (promptls-memory)
    (let ((before (e2e-pid)))
      (promptls-restart)
      (wait-for (lambda () (not (member before (list-system-processes))))))
    (set-buffer "*promptls memory*")
    (promptls-memory-add "rule" "Restarts" "Servers come and go.")
    (string-match-p "come and go" (buffer-string))))

(set-buffer e2e-prompt)
(promptls-connect)
(let ((before (e2e-pid)) (failure nil) (sent nil)
      (ignore-send-errors (lambda (send &rest args) (ignore-errors (apply send args)))))
  ;; The reply to the killed server fails.  In batch mode, an error in a process filter
  ;; exits Emacs, and a throw sometimes loses the exit event of the server.
  (advice-add 'process-send-string :around ignore-send-errors)
  (e2e-on-client-context (signal-process before 'SIGKILL)
    (promptls-request-async (promptls-connection) "promptls/buildPrompt"
                            (promptls-build-params "What is wrong here? @terminal"
                                                   (promptls-connection))
                            #'ignore
                            (lambda (_code text) (setq failure text)))
    (with-current-buffer (get-buffer-create " *copy of the chat*")
      (insert "What is wrong here? @terminal")
      (promptls-gptel-transform (lambda () (setq sent t)) (list :buffer e2e-prompt)))
    (wait-for (lambda () (and failure sent))))
  (advice-remove 'process-send-string ignore-send-errors)
  (check-that "a request fails if its server exits"
    (string-match-p "exited before it responded" failure))
  (check-that "a gptel message is sent unmodified if the server exits" sent)
  (check-that "the next request succeeds with a new server"
    (plist-get (promptls-request "promptls/status" nil) :state)))

(set-buffer e2e-prompt)
(let ((before (e2e-pid)))
  (call-process "kill" nil nil nil "-9" (number-to-string before))
  (wait-for (lambda () (not (seq-find (lambda (pid) (= pid before)) (list-system-processes)))))
  (check-that "a build after a crash uses a new server and includes unsaved edits"
    (let ((preview (e2e-build)))
      (and (string-match-p "return 815" preview)
           (not (equal before (e2e-pid)))))))

;;;; Several projects

(let ((other (make-temp-file "other" t)))
  (call-process "git" nil nil nil "-C" other "init" "-q")
  (with-temp-file (expand-file-name "lonely.py" other)
    (insert "def lonely():\n    pass\n"))
  (find-file (expand-file-name "lonely.py" other))
  (check-that "a second project has a separate server and index"
    (let ((connection (promptls-connect)))
      (and (/= (process-id (promptls-connection-process connection))
               (with-current-buffer e2e-prompt (e2e-pid)))
           (equal "unresolved"
                  (plist-get (car (plist-get (promptls-request
                                              "promptls/resolveMentions"
                                              '(:message "@#apply_discount"))
                                             :mentions))
                             :status)))))
  (set-buffer e2e-prompt)
  (delete-directory other t))

(let ((plain (make-temp-file "plain" t)))
  (with-temp-file (expand-file-name "alone.py" plain)
    (insert "def alone():\n    pass\n"))
  (find-file (expand-file-name "alone.py" plain))
  (check-that "a folder without version control is supported"
    (let ((connection (promptls-connect)))
      (equal (list (file-name-as-directory plain))
             (mapcar #'file-name-as-directory (promptls-connection-roots connection)))))
  (set-buffer e2e-prompt)
  (delete-directory plain t))

(let ((default-directory (getenv "HOME")))
  (with-temp-buffer
    (setq default-directory (file-name-as-directory (getenv "HOME")))
    (check-that "the home folder is not indexed as a project"
      (string-match-p "is not a project"
                      (cadr (should-error (promptls-connect) :type 'user-error))))))

(when (eq e2e-client 'lsp-mode)
  (setq promptls-lsp-modes '(markdown-mode text-mode))
  (setq-default promptls-documents-languages '("markdown" "git-commit"))
  (let ((before (e2e-pid)))
    (promptls-restart)
    (wait-for (lambda ()
                (let ((connection (promptls-connection)))
                  (and connection
                       (promptls-connection-ready-p connection)
                       (not (equal before (e2e-pid))))))))
  (pcase-dolist (`(,name . ,kind) '(("docs/orders.md" . "Markdown")
                                    (".git/COMMIT_EDITMSG" . "commit messages")))
    (check-that (format "mentions in %s have diagnostics if enabled" kind)
      (e2e-open name)
      (when (eq major-mode 'fundamental-mode) (text-mode))
      (goto-char (point-max))
      (insert "\nSee @shop/crat.py there.\n")
      (lsp)
      (flymake-mode 1)
      (wait-for (lambda ()
                  (flymake-start)
                  (seq-some (lambda (text) (string-match-p "crat" text)) (e2e-diagnostics)))
                15)))

  (set-buffer e2e-prompt)
  (setq promptls-lsp-multi-root t)
  (promptls-lsp-register)
  (let ((third (make-temp-file "third" t)))
    (call-process "git" nil nil nil "-C" third "init" "-q")
    (with-temp-file (expand-file-name "third.py" third)
      (insert "def third():\n    pass\n"))
    (find-file (expand-file-name "third.py" third))
    (check-that "with multi-root, one server handles a second folder"
      (let ((connection (promptls-connect)))
        (and (> (length (promptls-connection-roots connection)) 1)
             (wait-for
              (lambda ()
                (equal "included"
                       (plist-get (car (plist-get (promptls-request "promptls/resolveMentions"
                                                                    '(:message "@#third")
                                                                    :connection connection)
                                                  :mentions))
                                  :status)))))))
    (set-buffer e2e-prompt)
    (delete-directory third t)))

(finish)
;;; e2e.el ends here
