;;; promptls-commands.el --- Search, explanations, graph, memory, status  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Commands that display search results, explanations, the knowledge graph, the
;; memory, recipes, the server status and the doctor's report.

;;; Code:

(require 'cl-lib)
(require 'compile)
(require 'tabulated-list)
(require 'promptls-data)
(require 'promptls-server)
(require 'promptls-context)
(require 'promptls-page)

(declare-function promptls-read-message "promptls" (prompt &optional initial))

;;;; Search

(defvar promptls-search-error-alist '(("^\\([^\n:]+\\):\\([0-9]+\\):" 1 2))
  "Value of `compilation-error-regexp-alist' in search results.")

(defvar-local promptls-search--query nil
  "The query of the search results in this buffer.")

(defvar promptls-search-mode-map
  (let ((map (make-sparse-keymap)))
    ;; In other compilation modes, "g" runs a command.
    (define-key map "g" #'revert-buffer)
    map)
  "Keymap of `promptls-search-mode'.")

(define-compilation-mode promptls-search-mode "Prompt-Search"
  "Major mode for search results; `next-error' visits them."
  (setq-local compilation-error-regexp-alist promptls-search-error-alist
              compilation-error-face 'compilation-info
              compilation-disable-input t
              revert-buffer-function (lambda (&rest _) (promptls-search promptls-search--query))))

(defun promptls-search-insert (query hits root)
  "Insert the HITS of a search for QUERY, with paths relative to ROOT."
  (insert (format "%d %s for: %s\n\n" (length hits)
                  (if (= 1 (length hits)) "result" "results") query))
  (dolist (hit hits)
    (let ((file (promptls-uri-to-file (plist-get hit :uri)))
          (lines (promptls-range-lines
                  (plist-get (or (plist-get hit :location) hit) :range))))
      (insert (promptls-one-line
               (format "%s:%d: %s%s%s  (%s)"
                       (if (and file root (promptls-file-in-folder-p file root))
                           (file-relative-name file root)
                         (or file (plist-get hit :path) ""))
                       (car lines)
                       (or (plist-get hit :kind) "")
                       (if (plist-get hit :symbol) (concat " " (plist-get hit :symbol)) "")
                       (if (= (car lines) (cdr lines)) "" (format " to line %d" (cdr lines)))
                       (or (plist-get hit :why) "")))
              "\n")))
  (when (null hits)
    (insert "No results.\n")))

;;;###autoload
(defun promptls-search (query)
  "Search the project for QUERY by meaning, keyword and name.
Visit the results with `next-error'."
  (interactive (list (read-string "Search for: " nil nil
                                  (thing-at-point 'symbol t))))
  (when (string-blank-p query)
    (user-error "No search query given"))
  (let* ((connection (promptls-connect))
         (result (promptls-request "promptls/search" (list :query query :limit 40)
                                   :connection connection))
         (root (car (promptls-connection-roots connection)))
         (buffer (get-buffer-create "*promptls search*")))
    (with-current-buffer buffer
      (let ((inhibit-read-only t))
        (erase-buffer)
        (setq default-directory (file-name-as-directory root))
        (promptls-search-mode)
        (setq promptls-search--query query)
        (promptls-search-insert query (plist-get result :hits) root)
        (goto-char (point-min)))
      (setq next-error-last-buffer buffer))
    (display-buffer buffer)))

;;;; Pages

;;;###autoload
(defun promptls-explain (symbol)
  "Explain SYMBOL: show its purpose, callers and callees.
Interactively, explain the definition at point.  With a prefix argument,
read the name of the symbol."
  (interactive (list (when (or current-prefix-arg
                               (not buffer-file-name)
                               (derived-mode-p 'promptls-mode)
                               (null (thing-at-point 'symbol)))
                       (read-string "Explain: " nil nil (thing-at-point 'symbol t)))))
  (let* ((connection (promptls-connect))
         (params (if symbol
                     (list :symbol symbol)
                   (list :uri (promptls-buffer-uri connection (current-buffer))
                         :position (promptls-position
                                    (point) (promptls-connection-encoding connection))))))
    (promptls-page-open connection "*promptls explanation*" (list :kind "explain" :params params))))

;;;###autoload
(defun promptls-graph (query &optional from to)
  "Show the part of the knowledge graph that is relevant to QUERY.
With a prefix argument, show the call paths FROM one symbol TO another."
  (interactive (if current-prefix-arg
                   (list nil
                         (read-string "Calls from: " nil nil (thing-at-point 'symbol t))
                         (read-string "To: "))
                 (list (read-string "Graph of: " nil nil (thing-at-point 'symbol t)))))
  (promptls-page-open (promptls-connect) "*promptls graph*"
                      (list :kind "graph"
                            :params (if from (list :from from :to to) (list :query query)))))

;;;###autoload
(defun promptls-mention-kinds ()
  "Show the kinds of mentions and their syntax."
  (interactive)
  (promptls-page-open (promptls-connect) "*promptls mentions*"
                      (list :kind "mentionKinds" :params (make-hash-table))))

;;;; Memory

(defvar-local promptls-memory--connection nil
  "The connection of the memory shown in this buffer.")
(defvar-local promptls-memory--query nil
  "Search query of the entries in this buffer, or nil for all entries.")

(defvar promptls-memory-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "a" #'promptls-memory-add)
    (define-key map "d" #'promptls-memory-remove)
    (define-key map "e" #'promptls-memory-edit)
    (define-key map "s" #'promptls-memory-search)
    (define-key map "\r" #'promptls-memory-edit)
    map)
  "Keymap of `promptls-memory-mode'.")

(define-derived-mode promptls-memory-mode tabulated-list-mode "Prompt-Memory"
  "Major mode for the memory entries of promptls.
\\{promptls-memory-mode-map}"
  :group 'promptls
  (setq tabulated-list-format [("Category" 11 t) ("Scope" 10 t) ("Title" 24 t) ("Content" 0 nil)])
  (tabulated-list-init-header)
  (setq-local revert-buffer-function (lambda (&rest _) (promptls-memory--refresh))))

(defun promptls-memory-rows (entries)
  "Return ENTRIES, from a result of promptls/memory, as table rows."
  (mapcar (lambda (entry)
            (list entry
                  (vconcat (mapcar (lambda (column)
                                     (promptls-one-line (or (plist-get entry column) "")))
                                   '(:category :scope :title :content)))))
          entries))

(defun promptls-memory--request (params)
  "Send promptls/memory with PARAMS and return the entries."
  (unless (promptls-connection-live-p promptls-memory--connection)
    (setq promptls-memory--connection (promptls-connect)))
  (let ((result (promptls-request "promptls/memory" params
                                  :connection promptls-memory--connection)))
    (dolist (warning (plist-get result :warnings))
      (message "%s" warning))
    (plist-get result :entries)))

(defun promptls-memory--refresh ()
  "Request the memory entries and redisplay them."
  (setq tabulated-list-entries
        (promptls-memory-rows
         (promptls-memory--request (if promptls-memory--query
                                       (list :action "search" :query promptls-memory--query)
                                     (list :action "list")))))
  (tabulated-list-print t)
  (unless tabulated-list-entries
    (message "No entries; press a to add one")))

;;;###autoload
(defun promptls-memory ()
  "Show the memory: entries can be added, edited, removed and searched."
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
  "Return the memory entry on this line."
  (or (tabulated-list-get-id)
      (user-error "No entry on this line")))

(defun promptls-memory-add (category title content)
  "Add a memory entry with TITLE and CONTENT to CATEGORY."
  (interactive (list (completing-read "Category: " '("rule" "knowledge" "experience") nil t)
                     (read-string "Title: ")
                     (read-string "Content: ")))
  (promptls-memory--request (list :action "add" :category category :title title :content content))
  (promptls-memory--refresh))

(defun promptls-memory-edit (entry content)
  "Replace the content of the memory ENTRY with CONTENT."
  (interactive (let ((entry (promptls-memory--entry)))
                 (list entry (read-string "Content: " (plist-get entry :content)))))
  (promptls-memory--request (list :action "update" :id (plist-get entry :id) :content content))
  (promptls-memory--refresh))

(defun promptls-memory-remove (entry)
  "Remove ENTRY from the memory."
  (interactive (list (promptls-memory--entry)))
  (when (yes-or-no-p (format "Remove %S? " (plist-get entry :title)))
    (promptls-memory--request (list :action "remove" :id (plist-get entry :id)))
    (promptls-memory--refresh)))

(defun promptls-memory-search (query)
  "Show the memory entries for QUERY, or all entries if QUERY is empty."
  (interactive (list (read-string "Search memory for: ")))
  (setq promptls-memory--query (unless (string-blank-p query) query))
  (promptls-memory--refresh))

;;;; Recipes

(defun promptls-recipes--choose (recipes)
  "Read and return one of RECIPES, from a result of promptls/recipes."
  (let* ((names (mapcar (lambda (recipe) (cons (plist-get recipe :name) recipe)) recipes))
         (completion-extra-properties
          (list :annotation-function
                (lambda (name)
                  (concat "  " (plist-get (cdr (assoc name names)) :description))))))
    (cdr (assoc (completing-read "Recipe: " names nil t) names))))

(defun promptls-recipes--read-arguments (recipe)
  "Read the arguments of RECIPE in the minibuffer and return them."
  (let (arguments)
    (dolist (argument (plist-get recipe :arguments))
      (let* ((name (plist-get argument :name))
             (choices (plist-get argument :choices))
             (default (plist-get argument :default))
             (prompt (format "%s%s: " (plist-get argument :description)
                             (cond (default (format " (default %s)" default))
                                   ((plist-get argument :required) "")
                                   (t " (optional)"))))
             (value (if choices
                        (completing-read prompt choices nil t nil nil default)
                      (read-string prompt nil nil default))))
        (unless (string-empty-p value)
          (push (intern (concat ":" name)) arguments)
          (push value arguments))))
    (nreverse arguments)))

;;;###autoload
(defun promptls-recipes ()
  "Select a recipe, a named task, and build its prompt.
The active region is included, as in `promptls-ask'."
  (interactive)
  (let* ((connection (promptls-connect))
         (recipe (promptls-recipes--choose
                  (plist-get (promptls-request "promptls/recipes" nil :connection connection)
                             :recipes)))
         (context (promptls-context connection))
         (arguments (promptls-recipes--read-arguments recipe))
         (message (promptls-read-message
                   (format "%s: " (plist-get recipe :title))
                   (cond ((plist-get context :selection) "@selection ")
                         ((plist-get context :activeDocument) "@active ")))))
    (promptls-page-build `(:message ,message
                           :context ,context
                           :recipe ,(plist-get recipe :name)
                           ,@(when arguments (list :arguments arguments)))
                         connection)))

;;;; Status

(defun promptls--client-status-text (connection)
  "Return a Markdown section about Emacs and CONNECTION, which may be nil."
  (let ((program (ignore-errors (promptls-find-program (ignore-errors (promptls-root))))))
    (concat
     (format "\n## Emacs\n\n- Emacs %s\n" emacs-version)
     (if program
         (format "- program: %s (from %s)\n" (string-join (car program) " ") (cdr program))
       (format "- %s\n" promptls--not-found-message))
     (if (null connection)
         "- not connected\n"
       (format (concat "- connected by %s, process %s, position encoding %s\n"
                       "- folders: %s\n- synchronized buffers: %d\n")
               (if (string-prefix-p "lsp" (symbol-name (type-of connection))) "lsp-mode" "Eglot")
               (process-id (promptls-connection-process connection))
               (promptls-connection-encoding connection)
               (string-join (promptls-connection-roots connection) ", ")
               (cl-count-if (lambda (buffer)
                              (eq connection
                                  (buffer-local-value 'promptls-buffer-connection buffer)))
                            (buffer-list)))))))

;;;###autoload
(defun promptls-status ()
  "Show the state of the index and of the connection."
  (interactive)
  (promptls-page-open (promptls-connect) "*promptls status*"
                      (list :kind "status" :params (make-hash-table))
                      nil #'promptls--client-status-text))

;;;###autoload
(defun promptls-doctor ()
  "Show a diagnosis of the installation, including `promptls doctor'."
  (interactive)
  (let* ((connection (ignore-errors (promptls-connection)))
         (command (car (promptls-find-program (ignore-errors (promptls-root)))))
         (report (promptls--client-status-text connection))
         (buffer (get-buffer-create "*promptls doctor*")))
    (with-current-buffer buffer
      (promptls-page-mode)
      (promptls-page-fill (concat "# Doctor\n" report) nil 0))
    (display-buffer buffer)
    (when command
      (make-process
       :name "promptls doctor"
       :buffer (generate-new-buffer " *promptls doctor*")
       :command (append command '("doctor"))
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

(provide 'promptls-commands)
;;; promptls-commands.el ends here
