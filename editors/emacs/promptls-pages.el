;;; promptls-pages.el --- Search, explanations, graph, memory, status  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The commands that show something else than a prompt, and how they show it.

;;; Code:

(require 'cl-lib)
(require 'compile)
(require 'tabulated-list)
(require 'promptls-data)
(require 'promptls-server)
(require 'promptls-context)
(require 'promptls-preview)

(declare-function promptls-read-message "promptls" (prompt &optional initial))

;;;; Search

(defvar promptls-search-error-alist '(("^\\([^\n:]+\\):\\([0-9]+\\):" 1 2))
  "How lines of a list of hits name their place.")

(define-compilation-mode promptls-search-mode "Prompt-Search"
  "Major mode for what a search has found; `next-error' goes through it."
  (setq-local compilation-error-regexp-alist promptls-search-error-alist
              compilation-error-face 'compilation-info
              compilation-disable-input t))

(defun promptls-search-insert (query hits root)
  "Insert HITS of a search for QUERY; paths are told from ROOT where they can be."
  (insert (format "%d %s for: %s\n\n" (length hits)
                  (if (= 1 (length hits)) "place" "places") query))
  (dolist (hit hits)
    (let ((file (promptls-file (plist-get hit :uri)))
          (lines (promptls-lines (plist-get hit :range))))
      (insert (format "%s:%d: %s%s%s  (%s, %.2f)\n"
                      (if (and file root (promptls-inside-p file root))
                          (file-relative-name file root)
                        (or file (plist-get hit :path) ""))
                      (car lines)
                      (or (plist-get hit :kind) "")
                      (if (plist-get hit :symbol) (concat " " (plist-get hit :symbol)) "")
                      (if (= (car lines) (cdr lines)) "" (format " to line %d" (cdr lines)))
                      (or (plist-get hit :origin) "")
                      (or (plist-get hit :score) 0)))))
  (when (null hits)
    (insert "Nothing was found.\n")))

;;;###autoload
(defun promptls-search (query)
  "Search the project for QUERY, by meaning, keyword and name.
The hits can be gone through by `next-error'."
  (interactive (list (read-string "Search for: " nil nil
                                  (thing-at-point 'symbol t))))
  (when (string-blank-p query)
    (user-error "Say what to search for"))
  (let* ((connection (promptls-connect))
         (answer (promptls-request "promptls/search" (list :query query :limit 40)
                                   :connection connection))
         (root (car (promptls-connection-roots connection)))
         (buffer (get-buffer-create "*promptls search*")))
    (with-current-buffer buffer
      (let ((inhibit-read-only t))
        (erase-buffer)
        (setq default-directory (file-name-as-directory root))
        (promptls-search-mode)
        (promptls-search-insert query (plist-get answer :hits) root)
        (goto-char (point-min)))
      (setq next-error-last-buffer buffer))
    (display-buffer buffer)))

;;;; Pages of Markdown

(defvar promptls-page-font-lock
  '(("^#+ .*$" . 'promptls-heading)
    ("`[^`\n]+`" . 'font-lock-constant-face)
    ("^- " . 'shadow))
  "How Markdown looks in pages.")

(defconst promptls-page-place-regexp
  "\\([^][(),`\"[:space:]]+\\):\\([0-9]+\\)\\(?:-\\([0-9]+\\)\\)?"
  "Matches what looks like a place in a file: \"path:first-last\".")

(defvar promptls-page-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "n" #'forward-button)
    (define-key map "p" #'backward-button)
    (define-key map "\t" #'forward-button)
    (define-key map [backtab] #'backward-button)
    map)
  "Keys of `promptls-page-mode'.")

(define-derived-mode promptls-page-mode special-mode "Prompt-Page"
  "Major mode for what the server tells of code.
\\{promptls-page-mode-map}"
  :group 'promptls
  (setq-local font-lock-defaults '(promptls-page-font-lock t))
  (visual-line-mode 1))

(defun promptls--uris (value)
  "Return (PATH . URI) of everything in VALUE, an answer, that has both."
  (let (found)
    (cl-labels ((walk (inner)
                  (when (consp inner)
                    (if (keywordp (car inner))
                        (progn
                          (when (and (stringp (plist-get inner :path))
                                     (stringp (plist-get inner :uri)))
                            (push (cons (plist-get inner :path) (plist-get inner :uri)) found))
                          (cl-loop for (_ part) on inner by #'cddr do (walk part)))
                      (mapc #'walk inner)))))
      (walk value))
    (delete-dups found)))

(defun promptls-page-insert (text answer)
  "Insert TEXT, Markdown, with a button on each place that ANSWER knows."
  (let ((start (point))
        (uris (promptls--uris answer)))
    (insert text)
    (unless (bolp) (insert "\n"))
    (save-excursion
      (goto-char start)
      (while (re-search-forward promptls-page-place-regexp nil t)
        (when-let ((uri (cdr (assoc (match-string 1) uris))))
          (let ((line (1- (string-to-number (match-string 2)))))
            (make-text-button (match-beginning 0) (match-end 0)
                              'follow-link t
                              'help-echo "RET: show it in another window"
                              'action (lambda (_)
                                        (promptls-jump uri (list :start (list :line line)))))))))))

(defun promptls-page-show (name text answer)
  "Show TEXT, Markdown made of ANSWER, in the page NAME."
  (with-current-buffer (get-buffer-create (format "*promptls %s*" name))
    (promptls-page-mode)
    (let ((inhibit-read-only t))
      (erase-buffer)
      (promptls-page-insert text answer)
      (goto-char (point-min)))
    (display-buffer (current-buffer))
    (current-buffer)))

;;;###autoload
(defun promptls-explain (symbol)
  "Tell what is known of SYMBOL, such as its callers and callees.
Interactively it is the definition at point, or with a prefix argument
one that you name."
  (interactive (list (when (or current-prefix-arg
                               (not buffer-file-name)
                               (derived-mode-p 'promptls-mode)
                               (null (thing-at-point 'symbol)))
                       (read-string "Explain: " nil nil (thing-at-point 'symbol t)))))
  (let* ((connection (promptls-connect))
         (answer (promptls-request
                  "promptls/explain"
                  (if symbol
                      (list :symbol symbol)
                    (list :uri (promptls-buffer-uri connection (current-buffer))
                          :position (promptls-position
                                     (point) (promptls-connection-encoding connection))))
                  :connection connection)))
    (promptls-page-show "explanation" (plist-get answer :markdown) answer)))

;;;###autoload
(defun promptls-graph (query &optional from to)
  "Show the part of the knowledge graph that QUERY is about.
With a prefix argument show the call paths FROM one symbol TO another."
  (interactive (if current-prefix-arg
                   (list nil
                         (read-string "Calls from: " nil nil (thing-at-point 'symbol t))
                         (read-string "to: "))
                 (list (read-string "Graph of: " nil nil (thing-at-point 'symbol t)))))
  (let ((answer (promptls-request "promptls/graph"
                                  (if from (list :from from :to to) (list :query query)))))
    (promptls-page-show "graph" (plist-get answer :markdown) answer)))

;;;; Memory

(defvar-local promptls-memory--connection nil
  "The connection whose memory this buffer shows.")
(defvar-local promptls-memory--query nil
  "What this buffer's entries were searched for, nil if it shows all.")

(defvar promptls-memory-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "a" #'promptls-memory-add)
    (define-key map "d" #'promptls-memory-remove)
    (define-key map "e" #'promptls-memory-edit)
    (define-key map "s" #'promptls-memory-search)
    (define-key map "\r" #'promptls-memory-edit)
    map)
  "Keys of `promptls-memory-mode'.")

(define-derived-mode promptls-memory-mode tabulated-list-mode "Prompt-Memory"
  "Major mode for what promptls remembers.
\\{promptls-memory-mode-map}"
  :group 'promptls
  (setq tabulated-list-format [("Category" 11 t) ("Scope" 10 t) ("Title" 24 t) ("Content" 0 nil)])
  (tabulated-list-init-header)
  (setq-local revert-buffer-function (lambda (&rest _) (promptls-memory--refresh))))

(defun promptls-memory-rows (entries)
  "Return ENTRIES, of an answer to promptls/memory, as rows of a table."
  (mapcar (lambda (entry)
            (list entry
                  (vector (or (plist-get entry :category) "")
                          (or (plist-get entry :scope) "")
                          (or (plist-get entry :title) "")
                          (replace-regexp-in-string "[\n\r]+" " "
                                                    (or (plist-get entry :content) "")))))
          entries))

(defun promptls-memory--ask (params)
  "Send PARAMS as promptls/memory and return the entries."
  (unless (promptls-connection-live-p promptls-memory--connection)
    (setq promptls-memory--connection (promptls-connect)))
  (let ((answer (promptls-request "promptls/memory" params
                                  :connection promptls-memory--connection)))
    (dolist (warning (plist-get answer :warnings))
      (message "%s" warning))
    (plist-get answer :entries)))

(defun promptls-memory--refresh ()
  "Show what is remembered now."
  (setq tabulated-list-entries
        (promptls-memory-rows
         (promptls-memory--ask (if promptls-memory--query
                                   (list :action "search" :query promptls-memory--query)
                                 (list :action "list")))))
  (tabulated-list-print t))

;;;###autoload
(defun promptls-memory ()
  "Show what promptls remembers, to add to it and to change it."
  (interactive)
  (let* ((connection (promptls-connect))
         (folder (car (promptls-connection-roots connection))))
    (with-current-buffer (get-buffer-create "*promptls memory*")
      (promptls-memory-mode)
      (setq promptls-memory--connection connection
            default-directory (file-name-as-directory folder))
      (promptls-memory--refresh)
      (pop-to-buffer (current-buffer)))))

(defun promptls-memory--entry ()
  "Return the entry on this line."
  (or (tabulated-list-get-id)
      (user-error "There is no entry on this line")))

(defun promptls-memory-add (category title content)
  "Remember CONTENT under TITLE in CATEGORY."
  (interactive (list (completing-read "Category: " '("rule" "knowledge" "experience") nil t)
                     (read-string "Title: ")
                     (read-string "Content: ")))
  (promptls-memory--ask (list :action "add" :category category :title title :content content))
  (promptls-memory--refresh))

(defun promptls-memory-edit (entry content)
  "Change the content of ENTRY to CONTENT."
  (interactive (let ((entry (promptls-memory--entry)))
                 (list entry (read-string "Content: " (plist-get entry :content)))))
  (promptls-memory--ask (list :action "update" :id (plist-get entry :id) :content content))
  (promptls-memory--refresh))

(defun promptls-memory-remove (entry)
  "Forget ENTRY."
  (interactive (list (promptls-memory--entry)))
  (when (yes-or-no-p (format "Forget %S? " (plist-get entry :title)))
    (promptls-memory--ask (list :action "remove" :id (plist-get entry :id)))
    (promptls-memory--refresh)))

(defun promptls-memory-search (query)
  "Show only the entries for QUERY, all if it is empty."
  (interactive (list (read-string "Search the memory for: ")))
  (setq promptls-memory--query (unless (string-blank-p query) query))
  (promptls-memory--refresh))

;;;; Recipes

(defun promptls-recipes--read (recipes)
  "Let the user choose one of RECIPES, of an answer to promptls/recipes."
  (let* ((names (mapcar (lambda (recipe) (cons (plist-get recipe :name) recipe)) recipes))
         (completion-extra-properties
          (list :annotation-function
                (lambda (name)
                  (concat "  " (plist-get (cdr (assoc name names)) :description))))))
    (cdr (assoc (completing-read "Recipe: " names nil t) names))))

(defun promptls-recipes--arguments (recipe)
  "Ask for the arguments of RECIPE and return them."
  (let (arguments)
    (dolist (argument (plist-get recipe :arguments))
      (let* ((name (plist-get argument :name))
             (choices (plist-get argument :choices))
             (default (plist-get argument :default))
             (prompt (format "%s%s: " (plist-get argument :description)
                             (cond (default (format " (default %s)" default))
                                   ((plist-get argument :required) "")
                                   (t " (may be empty)"))))
             (value (if choices
                        (completing-read prompt choices nil t nil nil default)
                      (read-string prompt nil nil default))))
        (unless (string-empty-p value)
          (push (intern (concat ":" name)) arguments)
          (push value arguments))))
    (nreverse arguments)))

;;;###autoload
(defun promptls-recipes ()
  "Choose a named task and build its prompt.
The selection goes along, as in `promptls-ask'."
  (interactive)
  (let* ((connection (promptls-connect))
         (recipe (promptls-recipes--read
                  (plist-get (promptls-request "promptls/recipes" nil :connection connection)
                             :recipes)))
         (context (promptls-context connection))
         (arguments (promptls-recipes--arguments recipe))
         (message (promptls-read-message
                   (format "%s: " (plist-get recipe :title))
                   (cond ((plist-get context :selection) "@selection ")
                         ((plist-get context :activeDocument) "@active ")))))
    (promptls-preview-build `(:message ,message
                              :context ,context
                              :recipe ,(plist-get recipe :name)
                              ,@(when arguments (list :arguments arguments)))
                            connection)))

;;;; Status

(defun promptls-status-text (status)
  "Return STATUS, an answer to promptls/status, as Markdown."
  (let ((roots (plist-get status :roots))
        (embedder (plist-get status :embedder)))
    (concat
     (format "# %s\n\n%s\n" (plist-get status :state) (or (plist-get status :message) ""))
     (mapconcat
      (lambda (root)
        (format "\n## %s\n\n- %s\n- %s files, %s symbols, %s pieces, %s vectors\n%s%s%s"
                (or (plist-get root :name) "")
                (or (promptls-file (plist-get root :uri)) (plist-get root :uri))
                (promptls-count (plist-get root :files))
                (promptls-count (plist-get root :symbols))
                (promptls-count (plist-get root :chunks))
                (promptls-count (plist-get root :vectors))
                (if (> (or (plist-get root :pending) 0) 0)
                    (format "- %s still to do\n" (promptls-count (plist-get root :pending)))
                  "")
                (if (> (or (plist-get root :skipped) 0) 0)
                    (format "- %s skipped\n" (promptls-count (plist-get root :skipped)))
                  "")
                (if (string-empty-p (or (plist-get root :lastError) ""))
                    ""
                  (format "- last error: %s\n" (plist-get root :lastError)))))
      roots "")
     (format "\n## Server\n\n- embedding model: %s%s\n- on disk: %s kB, in memory: %s MB\n- log: %s\n"
             (or (plist-get embedder :model) "none")
             (if (string-empty-p (or (plist-get embedder :problem) ""))
                 ""
               (format " (%s)" (plist-get embedder :problem)))
             (promptls-count (/ (or (promptls-get status :disk :bytes) 0) 1000))
             (promptls-count (/ (or (plist-get status :memoryBytes) 0) 1000000))
             (or (plist-get status :log) "see promptls doctor")))))

(defun promptls--editor-text (connection)
  "Return as Markdown how Emacs and CONNECTION, which may be nil, work together."
  (let ((found (ignore-errors (promptls-find-program (ignore-errors (promptls-root))))))
    (concat
     (format "\n## Emacs\n\n- Emacs %s\n" emacs-version)
     (if found
         (format "- program: %s (from %s)\n" (string-join (car found) " ") (cdr found))
       "- program: not found; run pip install . in its clone, or set promptls-command\n")
     (if (null connection)
         "- not connected\n"
       (format "- connected by %s, process %s, positions in %s\n- folders: %s\n- buffers kept in step: %d\n"
               (if (string-prefix-p "lsp" (symbol-name (type-of connection))) "lsp-mode" "Eglot")
               (process-id (promptls-connection-process connection))
               (promptls-connection-encoding connection)
               (string-join (promptls-connection-roots connection) ", ")
               (cl-count-if (lambda (buffer)
                              (eq connection (buffer-local-value 'promptls-own-connection buffer)))
                            (buffer-list)))))))

;;;###autoload
(defun promptls-status ()
  "Show how far the index is, and how Emacs is connected."
  (interactive)
  (let* ((connection (promptls-connect))
         (status (promptls-request "promptls/status" nil :connection connection)))
    (promptls-note-status connection status)
    (promptls-page-show "status"
                        (concat (promptls-status-text status)
                                (promptls--editor-text connection))
                        status)))

;;;###autoload
(defun promptls-doctor ()
  "Show what is installed and what is wrong, by the program's own doctor."
  (interactive)
  (let* ((connection (ignore-errors (promptls-connection)))
         (found (car (promptls-find-program (ignore-errors (promptls-root)))))
         (report (promptls--editor-text connection))
         (buffer (promptls-page-show "doctor" (concat "# Doctor\n" report) nil)))
    (when found
      (make-process
       :name "promptls doctor"
       :buffer (generate-new-buffer " *promptls doctor*")
       :command (append found '("doctor"))
       :noquery t
       :sentinel
       (lambda (process _event)
         (unless (process-live-p process)
           (let ((text (with-current-buffer (process-buffer process) (buffer-string))))
             (kill-buffer (process-buffer process))
             (when (buffer-live-p buffer)
               (with-current-buffer buffer
                 (let ((inhibit-read-only t))
                   (save-excursion
                     (goto-char (point-max))
                     (insert "\n## Program\n\n" text))))))))))))

(provide 'promptls-pages)
;;; promptls-pages.el ends here
