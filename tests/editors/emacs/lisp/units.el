;;; units.el --- Unit tests without a server  -*- lexical-binding: t; -*-

;;; Commentary:

;; Tests of pure functions, and of the rendering of every recorded response of the
;; server's protocol tests (in the folder PROMPTLS_GOLDEN).

;;; Code:

(load (expand-file-name "check.el" (file-name-directory load-file-name)) nil t)
(require 'ert)
(require 'promptls)

(defun golden (name)
  "Return the recorded response NAME in normalized form."
  (with-temp-buffer
    (insert-file-contents (expand-file-name (format "golden/%s.json" name)
                                            (getenv "PROMPTLS_GOLDEN")))
    (promptls-normalize-json (json-parse-buffer :object-type 'hash-table :array-type 'array
                                                :null-object :null :false-object :json-false))))

(defun golden-cases ()
  "Return an alist of the names and methods of all recorded responses."
  (with-temp-buffer
    (insert-file-contents (expand-file-name "cases.json" (getenv "PROMPTLS_GOLDEN")))
    (mapcar (lambda (case) (cons (gethash "name" case) (gethash "method" case)))
            (json-parse-buffer :object-type 'hash-table :array-type 'list))))

(defun inserted-text (function &rest arguments)
  "Return the text that FUNCTION inserts when called with ARGUMENTS."
  (with-temp-buffer
    (apply function arguments)
    (buffer-string)))

(defun should-contain (text &rest parts)
  "Assert that TEXT contains each of PARTS."
  (dolist (part parts)
    (should (string-match-p (regexp-quote part) text))))

;;;; Recorded responses

(defun should-have (response path)
  "Assert that RESPONSE has the element at PATH, which may be empty; return it."
  (should (plist-member response (car path)))
  (apply #'promptls-get response path))

(defun rendered (method result)
  "Return RESULT, a result of METHOD, as displayed by the package."
  (pcase method
    ("promptls/completeMention"
     (mapconcat (lambda (item)
                  (let ((candidate (promptls-complete--candidate item)))
                    (concat candidate (promptls-complete--annotation candidate))))
                (plist-get result :items) "\n"))
    ("promptls/search"
     (inserted-text #'promptls-search-insert "pings" (plist-get result :hits) "/workspace/"))
    ("promptls/memory"
     (mapconcat (lambda (row) (mapconcat #'identity (cadr row) " "))
                (promptls-memory-rows (plist-get result :entries)) "\n"))
    ("promptls/recipes"
     (mapconcat (lambda (recipe) (concat (plist-get recipe :name) (plist-get recipe :description)))
                (plist-get result :recipes) "\n"))
    (_ 'not-displayed)))

(pcase-dolist (`(,name . ,method) (golden-cases))
  (let ((name name) (method method))
    (eval
     `(ert-deftest ,(intern (format "golden-%s" name)) ()
        (let ((response (golden ,name)))
          (if (plist-get response :error)
              (should (stringp (promptls-get response :error :message)))
            (let ((text (rendered ,method (should-have response '(:result)))))
              (should (or (eq text 'not-displayed)
                          (not (string-empty-p text))))))))
     t)))

(ert-deftest prompts-of-messages-have-roles ()
  (should-contain
   (promptls-prompt-text (plist-get (golden "buildPrompt-selection") :result))
   "[system]\nAnswer the question" "[user]\n# Context"))

(ert-deftest header-line-fits-the-window ()
  (let ((lenses '((:command (:title "1,128 of 8,000 tokens, 3 mentions"))
                  (:command (:title "Build prompt"))
                  (:command (:title "Copy prompt")))))
    (should (equal "1,128 of 8,000 tokens, 3 mentions | Build prompt | Copy prompt"
                   (promptls-lens-text lenses 80)))
    (should (equal "1,128 of 8,000 tokens | Build | Copy" (promptls-lens-text lenses 40)))))

(ert-deftest uris-of-remote-files-are-not-files ()
  (should (equal "/a b" (promptls-uri-to-file "file:///a%20b")))
  (should-not (promptls-uri-to-file "file:///ssh:host:/x"))
  (should-not (promptls-uri-to-file "file:///sudo%3A%3A/x")))

(ert-deftest missing-mentions-are-named ()
  (let ((result (lambda (&rest statuses)
                  (list :mentions (mapcar (lambda (status) (list :text (concat "@" status) :status status))
                                          statuses)))))
    (should-not (promptls-missing-mentions (funcall result "included" "partial")))
    (should (equal "Not in the prompt: @unresolved, @omitted"
                   (promptls-missing-mentions (funcall result "included" "unresolved" "omitted"))))
    (should (string-suffix-p "@refused and 1 more"
                             (promptls-missing-mentions (apply result (make-list 6 "refused")))))))

(ert-deftest completion-annotations-show-token-costs ()
  (should-contain
   (rendered "promptls/completeMention" (plist-get (golden "completeMention") :result))
   "@src/pinger.py  python, 19 lines, 126 tokens"))

(ert-deftest search-results-have-next-error-locations ()
  (with-temp-buffer
    (promptls-search-mode)
    (let ((inhibit-read-only t))
      (promptls-search-insert "pings" (promptls-get (golden "search") :result :hits)
                              "/workspace/"))
    (should-contain (buffer-string)
                    "3 results for: pings" "src/pinger.py:14: method Pinger.tick to line 19")
    (should (equal '("/workspace/src/pinger.py" . 14)
                   (let ((default-directory "/workspace/"))
                     (car (promptls--compilation-locations)))))))

(defmacro with-index (complete &rest body)
  "Run BODY, where `copied' is a list of copied prompts of an index of COMPLETE.
`answer' is the answer to the question whether to copy."
  (declare (indent 1))
  `(let ((copied nil) (complete ,complete) (answer ?w) (promptls-status-functions nil)
         (params '(:message "why?")))
     (cl-letf (((symbol-function 'promptls-page-request)
                (lambda (_connection _method _params done)
                  (funcall done (list :prompt (format "%s" complete) :index (list :complete complete)))))
               ((symbol-function 'read-multiple-choice) (lambda (&rest _) (list answer)))
               ((symbol-function 'kill-new) (lambda (text) (push text copied))))
       ,@body)))

(ert-deftest prompt-of-incomplete-index-is-copied-when-it-is-complete ()
  (with-index 0.5
    (promptls--copy-build params 'shop)
    (wait-for (lambda () promptls-status-functions) 5)
    (promptls-record-status 'other '(:complete 1))
    (promptls-record-status 'shop '(:complete 0.9))
    (should-not copied)
    (setq complete 1)
    (promptls-record-status 'shop '(:complete 1))
    (promptls-record-status 'shop '(:complete 1))
    (should (equal copied '("1")))))

(ert-deftest prompt-of-incomplete-index-is-copied-at-once-if-the-user-wants ()
  (with-index 0.5
    (setq answer ?c)
    (promptls--copy-build params 'shop)
    (wait-for (lambda () copied) 5)
    (should (equal copied '("0.5")))
    (should-not promptls-status-functions)))

(ert-deftest points-of-positions-in-all-encodings ()
  (with-temp-buffer
    (insert "one\n😀 two\n")
    (pcase-dolist (`(,encoding . ,character) '(("utf-8" . 5) ("utf-16" . 3) ("utf-32" . 2)))
      (should (= 7 (promptls-page--point (list :line 1 :character character) encoding))))
    (should (= 10 (promptls-page--point '(:line 1 :character 99) "utf-16")))))

(ert-deftest filled-page-keeps-line-and-fold ()
  (with-temp-buffer
    (promptls-page-mode)
    (promptls-page-fill "# One\n\n- a\n- b\n" nil 0)
    (let ((fold (make-overlay 6 (point-max))))
      (forward-line 3)
      (promptls-page-fill "# One\n\n- a\n- c\n- d\n")
      (should (looking-at "- c"))
      (should (= 6 (overlay-start fold)))
      (promptls-page-fill "# One\n" nil 9)
      (should (eobp)))))

(ert-deftest capability-of-pages-is-declared-to-promptls-only ()
  (skip-unless (require 'lsp-mode nil t))
  (require 'promptls-lsp)
  (let ((declared (lambda (custom)
                    (alist-get 'textDocumentContent
                               (alist-get 'workspace (lsp--client-capabilities custom))))))
    (should (funcall declared '((experimental . ((promptls . ((clientContext . t))))))))
    (should-not (funcall declared nil))
    (should (= 1 (cl-count 'workspace (lsp--client-capabilities
                                       '((experimental . ((promptls . ((clientContext . t)))))))
                           :key #'car)))))

(ert-deftest status-summary ()
  (should (equal "ready" (promptls-status-summary (plist-get (golden "status") :result))))
  (should (equal "indexing 75%"
                 (promptls-status-summary
                  '(:state "indexing" :complete 0.759 :roots ((:files 8 :pending 2))))))
  (should (equal "starting" (promptls-status-summary nil))))

;;;; Data

(ert-deftest json-of-all-clients-is-normalized ()
  (should (equal '(:a (1 2) :b nil :c (:d "x"))
                 (promptls-normalize-json '(:a [1 2] :b :json-false :c (:d "x")))))
  (should (equal '(:a ((:b nil)))
                 (promptls-normalize-json (let ((outer (make-hash-table :test #'equal))
                                                (inner (make-hash-table :test #'equal)))
                                            (puthash "b" :null inner)
                                            (puthash "a" (vector inner) outer)
                                            outer)))))

(ert-deftest characters-invalid-in-json-are-replaced ()
  (let ((byte (string (unibyte-char-to-multibyte 255))))
    (pcase-dolist (`(,value . ,expected)
                   `(("aü😀\0" . "aü😀\0")
                     (,(concat "a" byte) . "a\ufffd")
                     (,(unibyte-string 97 233) . "a\ufffd")
                     (,(string #xd800 #x110000) . "\ufffd\ufffd")
                     ((:text ,byte :at 1 :all [,byte (:b t)]) . (:text "\ufffd" :at 1 :all ["\ufffd" (:b t)]))))
      (should (equal expected (promptls-replace-invalid-chars value)))
      (should (json-serialize (promptls-replace-invalid-chars value))))))

(ert-deftest file-names-of-uris ()
  (should (equal "/a b/ü.py" (promptls-uri-to-file "file:///a%20b/%C3%BC.py")))
  (should (equal "c:/x.py" (promptls-uri-to-file "file:///c:/x.py")))
  (should-not (promptls-uri-to-file "untitled:1"))
  (should-not (promptls-uri-to-file nil)))

(ert-deftest line-numbers-of-ranges ()
  (let ((range (lambda (a b &optional c)
                 (list :start (list :line a :character 0)
                       :end (list :line b :character (or c 0))))))
    (should (equal '(1 . 19) (promptls-range-lines (funcall range 0 19))))
    (should (equal '(3 . 3) (promptls-range-lines (funcall range 2 3))))
    (should (equal '(3 . 4) (promptls-range-lines (funcall range 2 3 5))))
    (should (equal '(3 . 3) (promptls-range-lines (funcall range 2 2))))))

(ert-deftest positions-in-all-encodings ()
  (should (= 5 (promptls-code-units "aü😀x" "utf-16")))
  (should (= 8 (promptls-code-units "aü😀x" "utf-8")))
  (should (= 4 (promptls-code-units "aü😀x" "utf-32")))
  (should (= 3 (promptls-utf16-index "aü😀x" 4)))
  (with-temp-buffer
    (insert "one\n😀 two")
    (should (equal '(:line 1 :character 3) (promptls-position (- (point-max) 3) "utf-16")))))

(ert-deftest numbers-have-thousands-separators ()
  (should (equal "0" (promptls-format-number nil)))
  (should (equal "999" (promptls-format-number 999)))
  (should (equal "7,812" (promptls-format-number 7812)))
  (should (equal "1,234,567" (promptls-format-number 1234567))))

;;;; Settings

(defmacro with-settings (bindings &rest body)
  "Run BODY with BINDINGS, an alist of variables and temporary default values."
  (declare (indent 1))
  `(let ((saved (mapcar (lambda (pair) (cons (car pair) (default-value (car pair)))) ,bindings)))
     (unwind-protect
         (progn (pcase-dolist (`(,variable . ,value) ,bindings)
                  (set-default variable value))
                ,@body)
       (pcase-dolist (`(,variable . ,value) saved)
         (set-default variable value)))))

(ert-deftest only-changed-settings-are-sent ()
  (should (null (promptls-user-settings)))
  (with-settings '((promptls-budget-tokens . 900)
                   (promptls-index-exclude . ("*.min.js"))
                   (promptls-sections-rules . nil)
                   (promptls-graph-layers . (("Core" . ("core" "kernel")))))
    (should (equal '(:index (:exclude ["*.min.js"])
                     :budget (:tokens 900)
                     :sections (:rules :json-false)
                     :graph (:layers (:Core ["core" "kernel"])))
                   (promptls-user-settings)))
    (should (json-serialize (promptls-user-settings) :false-object :json-false))))

(ert-deftest every-setting-is-a-safe-user-option ()
  (pcase-dolist (`(,name ,variable ,_) promptls-settings)
    (should (string-match-p "\\`[a-zA-Z]+\\.[a-zA-Z]+\\'" name))
    (should (custom-variable-p variable))
    (should (functionp (get variable 'safe-local-variable)))))

(ert-deftest workspace-settings-differ-from-initialization-options ()
  (promptls-initialization-options)
  (with-temp-buffer
    (should (zerop (hash-table-count (promptls-workspace-settings))))
    (setq-local promptls-budget-tokens 77)
    (should (equal '(:budget (:tokens 77)) (promptls-workspace-settings)))))

;;;; Finding the program

(ert-deftest program-search-order ()
  (let* ((home (file-name-as-directory (make-temp-file "home" t)))
         (root (concat home "project/"))
         (process-environment
          (append (list (concat "HOME=" home) (concat "VIRTUAL_ENV=" root ".venv")
                        (concat "UV_TOOL_BIN_DIR=" home "tools")
                        "CONDA_PREFIX" "XDG_BIN_HOME" "XDG_DATA_HOME" "PIPX_BIN_DIR" "USERPROFILE")
                  process-environment))
         (exec-path (list (concat root ".venv/bin") (concat root "bin") "bin" (concat home "path")))
         (promptls-command nil)
         (found (lambda () (car (car (promptls-find-program root)))))
         (files (mapcar (lambda (name) (concat home name))
                        '("project/.venv/bin/promptls" "project/bin/promptls" "path/promptls"
                          ".local/bin/promptls" "tools/promptls"))))
    (dolist (file files)
      (make-directory (file-name-directory file) t)
      (write-region "#!/bin/sh\n" nil file nil 'quiet)
      (set-file-modes file #o755))
    ;; What the project contains is not run, whether the environment or PATH names it.
    (dolist (file (nthcdr 2 files))
      (should (equal file (funcall found)))
      (let ((promptls-allow-project-server t))
        (should (equal (car files) (funcall found))))
      (delete-file file))
    (should-not (funcall found))
    (should (string-match-p "run \"uv tool install\""
                            (cadr (should-error (promptls-command-line "serve" root) :type 'user-error))))
    (let ((promptls-command '("promptls" "--verbose" "serve"))
          (exec-path (list (concat root "bin"))))
      (should (equal '("promptls" "--verbose" "doctor") (promptls-command-line "doctor"))))
    (delete-directory home t)))

(ert-deftest instruction-files-of-projects-start-the-server ()
  (let* ((folder (file-name-as-directory (make-temp-file "claude" t)))
         (noninteractive nil)
         (promptls-command "promptls")
         (starts nil))
    (cl-letf (((symbol-function 'run-at-time) (lambda (&rest _) (push default-directory starts))))
      (dolist (name '("CLAUDE.md" "notes.md"))
        (kill-buffer (find-file-noselect (concat folder name))))
      ;; Such as ~/.claude, which contains transcripts.
      (should-not starts)
      (call-process "git" nil nil nil "-C" folder "init" "-q")
      (dolist (name '("CLAUDE.md" "notes.md"))
        (kill-buffer (find-file-noselect (concat folder name))))
      (should (equal (list folder) starts)))
    (delete-directory folder t)))

;;;; Highlighting of mentions

(ert-deftest mentions-are-highlighted ()
  (let ((mention (lambda (text)
                   (when (string-match promptls-mention-regexp text)
                     (match-string 1 text)))))
    (should (equal "@src/a.py:1-2" (funcall mention "see @src/a.py:1-2.")))
    (should (equal "@#Name" (funcall mention "@#Name, please")))
    (should (equal "@\"a b.py\":3" (funcall mention "(@\"a b.py\":3)")))
    (should-not (funcall mention "me@example.org"))))

(ert-deftest completion-style-keeps-candidates-of-server ()
  (let ((table (lambda (_string _predicate action)
                 (if (eq action t) (list "@shop/cart.py" "@tests/test_cart.py") nil))))
    (should (equal '("@shop/cart.py" "@tests/test_cart.py")
                   (promptls-complete--all "@cart" table nil 5)))
    (should (equal '("@cart" . 5) (promptls-complete--try "@cart" table nil 5))))
  (should (equal '("@shop/cart.py" . 13)
                 (promptls-complete--try "@ca" (lambda (_s _p action)
                                                 (and (eq action t) (list "@shop/cart.py")))
                                         nil 3))))

;;;; Run

(defun units-run ()
  "Run all tests and report each one as a check."
  (dolist (test (ert-select-tests t t))
    (let ((result (ert-run-test test)))
      (check (format "%s" (ert-test-name test))
             (ert-test-passed-p result)
             (and (ert-test-result-with-condition-p result)
                  (ert-test-result-with-condition-condition result))))))

(units-run)
(finish)
;;; units.el ends here
