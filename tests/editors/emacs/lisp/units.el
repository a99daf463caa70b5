;;; units.el --- What needs no server  -*- lexical-binding: t; -*-

;;; Commentary:

;; The pure parts of the package, and its rendering of every answer that the
;; server's own tests have recorded (PROMPTLS_GOLDEN names their folder).

;;; Code:

(load (expand-file-name "check.el" (file-name-directory load-file-name)) nil t)
(require 'ert)
(require 'promptls)

(defun golden (name)
  "Return the recorded answer NAME as the package sees answers."
  (with-temp-buffer
    (insert-file-contents (expand-file-name (format "golden/%s.json" name)
                                            (getenv "PROMPTLS_GOLDEN")))
    (promptls-plain (json-parse-buffer :object-type 'hash-table :array-type 'array
                                       :null-object :null :false-object :json-false))))

(defun golden-cases ()
  "Return (NAME . METHOD) of all recorded cases."
  (with-temp-buffer
    (insert-file-contents (expand-file-name "cases.json" (getenv "PROMPTLS_GOLDEN")))
    (mapcar (lambda (case) (cons (gethash "name" case) (gethash "method" case)))
            (json-parse-buffer :object-type 'hash-table :array-type 'list))))

(defun shown (function &rest arguments)
  "Return the text that FUNCTION inserts when it is called with ARGUMENTS."
  (with-temp-buffer
    (apply function arguments)
    (buffer-string)))

(defun has (text &rest parts)
  "Assert that each of PARTS stands in TEXT."
  (dolist (part parts)
    (should (string-match-p (regexp-quote part) text))))

;;;; Recorded answers

(defun holds (answer path)
  "Return what lies at PATH in ANSWER; it must be there, if only as an empty object."
  (should (plist-member answer (car path)))
  (apply #'promptls-get answer path))

(defun rendered (method result)
  "Return RESULT of METHOD as the package shows it."
  (pcase method
    ("promptls/buildPrompt" (shown #'promptls-preview-insert result))
    ("promptls/resolveMentions"
     (shown (lambda () (mapc #'promptls-preview--insert-mention (plist-get result :mentions)))))
    ("promptls/completeMention"
     (mapconcat (lambda (item)
                  (let ((candidate (promptls-complete--candidate item)))
                    (concat candidate (promptls-complete--annotation candidate))))
                (plist-get result :items) "\n"))
    ("promptls/search"
     (shown #'promptls-search-insert "pings" (plist-get result :hits) "/workspace/"))
    ((or "promptls/graph" "promptls/explain")
     (shown #'promptls-page-insert (plist-get result :markdown) result))
    ("promptls/status" (promptls-status-text result))
    ("promptls/memory"
     (mapconcat (lambda (row) (mapconcat #'identity (cadr row) " "))
                (promptls-memory-rows (plist-get result :entries)) "\n"))
    ("promptls/recipes"
     (mapconcat (lambda (recipe) (concat (plist-get recipe :name) (plist-get recipe :description)))
                (plist-get result :recipes) "\n"))
    (_ 'not-shown)))

(pcase-dolist (`(,name . ,method) (golden-cases))
  (let ((name name) (method method))
    (eval
     `(ert-deftest ,(intern (format "golden-%s" name)) ()
        (let ((answer (golden ,name)))
          (if (plist-get answer :error)
              (should (stringp (promptls-get answer :error :message)))
            (let ((text (rendered ,method (holds answer '(:result)))))
              (should (or (eq text 'not-shown)
                          (not (string-empty-p text))))))))
     t)))

(ert-deftest preview-of-a-prompt ()
  (let* ((result (plist-get (golden "buildPrompt") :result))
         (tokens (plist-get result :tokens))
         (text (rendered "promptls/buildPrompt" result)))
    (has text
         (format "%d of %d tokens" (plist-get tokens :used) (plist-get tokens :budget))
         "(chars4, estimate)"
         (format "context %d" (promptls-get tokens :sections :context))
         (format "left %d" (- (plist-get tokens :budget) (plist-get tokens :used)))
         (format "In the prompt (%d)" (length (plist-get result :items)))
         "src/pinger.py:1-19" "Connection.close" "[P2]"
         (format "Left out (%d)" (length (plist-get result :omitted)))
         (plist-get (car (plist-get result :omitted)) :reason)
         "# Question")))

(ert-deftest preview-of-messages ()
  (has (rendered "promptls/buildPrompt" (plist-get (golden "buildPrompt-selection") :result))
       "[system]\nAnswer the question" "[user]\n# Context"))

(ert-deftest preview-buttons-know-their-places ()
  (with-temp-buffer
    (promptls-preview-insert (plist-get (golden "buildPrompt") :result))
    (goto-char (point-min))
    (search-forward "In the prompt")
    (let ((button (forward-button 1)))
      (should (equal "file:///workspace/src/pinger.py" (button-get button 'promptls-uri)))
      (should (= 0 (promptls-get (button-get button 'promptls-range) :start :line))))))

(ert-deftest preview-of-mentions ()
  (has (rendered "promptls/resolveMentions" (plist-get (golden "resolveMentions") :result))
       "included   @src/pinger.py:15-21  77 tokens"
       "unresolved @#Pingr" "Did you mean @#Pinger?"
       "refused    @dist/bundle.js" "ignored by the rule \"dist/\""))

(ert-deftest completion-tells-costs ()
  (has (rendered "promptls/completeMention" (plist-get (golden "completeMention") :result))
       "@src/pinger.py  python, 19 lines, 126 tokens"))

(ert-deftest search-lines-can-be-gone-through ()
  (with-temp-buffer
    (promptls-search-mode)
    (let ((inhibit-read-only t))
      (promptls-search-insert "pings" (promptls-get (golden "search") :result :hits)
                              "/workspace/"))
    (has (buffer-string) "3 places for: pings" "src/pinger.py:14: method Pinger.tick to line 19")
    (should (equal '("/workspace/src/pinger.py" . 14)
                   (let ((default-directory "/workspace/"))
                     (car (promptls--compilation-places)))))))

(ert-deftest pages-link-places ()
  (let ((answer (plist-get (golden "explain") :result)))
    (with-temp-buffer
      (promptls-page-insert (plist-get answer :markdown) answer)
      (goto-char (point-min))
      (should (forward-button 1))
      (should (equal "src/pinger.py:6-19"
                     (buffer-substring (button-start (button-at (point)))
                                       (button-end (button-at (point)))))))))

(ert-deftest status-in-words ()
  (let ((status (plist-get (golden "status") :result)))
    (should (equal "ready" (promptls-status-word status)))
    (has (promptls-status-text status) "# ready" "4 files, 7 symbols, 8 pieces, 8 vectors"
         "4 files indexed." "bundled"))
  (should (equal "indexing 75%"
                 (promptls-status-word
                  '(:state "indexing" :complete 0.759 :roots ((:files 8 :pending 2))))))
  (should (equal "starting" (promptls-status-word nil))))

;;;; Data

(ert-deftest plain-data-from-any-client ()
  (should (equal '(:a (1 2) :b nil :c (:d "x"))
                 (promptls-plain '(:a [1 2] :b :json-false :c (:d "x")))))
  (should (equal '(:a ((:b nil)))
                 (promptls-plain (let ((outer (make-hash-table :test #'equal))
                                       (inner (make-hash-table :test #'equal)))
                                   (puthash "b" :null inner)
                                   (puthash "a" (vector inner) outer)
                                   outer)))))

(ert-deftest what-json-cannot-hold-is-replaced ()
  (let ((byte (string (unibyte-char-to-multibyte 255))))
    (pcase-dolist (`(,given . ,wanted)
                   `(("aü😀\0" . "aü😀\0")
                     (,(concat "a" byte) . "a\ufffd")
                     (,(unibyte-string 97 233) . "a\ufffd")
                     (,(string #xd800 #x110000) . "\ufffd\ufffd")
                     ((:text ,byte :at 1 :all [,byte (:b t)]) . (:text "\ufffd" :at 1 :all ["\ufffd" (:b t)]))))
      (should (equal wanted (promptls-unicode given)))
      (should (json-serialize (promptls-unicode given))))))

(ert-deftest uris-and-files ()
  (should (equal "/a b/ü.py" (promptls-file "file:///a%20b/%C3%BC.py")))
  (should (equal "c:/x.py" (promptls-file "file:///c:/x.py")))
  (should-not (promptls-file "untitled:1"))
  (should-not (promptls-file nil)))

(ert-deftest lines-of-ranges ()
  (let ((range (lambda (a b &optional c)
                 (list :start (list :line a :character 0)
                       :end (list :line b :character (or c 0))))))
    (should (equal '(1 . 19) (promptls-lines (funcall range 0 19))))
    (should (equal '(3 . 3) (promptls-lines (funcall range 2 3))))
    (should (equal '(3 . 4) (promptls-lines (funcall range 2 3 5))))
    (should (equal '(3 . 3) (promptls-lines (funcall range 2 2))))))

(ert-deftest positions-in-three-encodings ()
  (should (= 5 (promptls-units "aü😀x" "utf-16")))
  (should (= 8 (promptls-units "aü😀x" "utf-8")))
  (should (= 4 (promptls-units "aü😀x" "utf-32")))
  (should (= 3 (promptls-index "aü😀x" 4)))
  (with-temp-buffer
    (insert "one\n😀 two")
    (should (equal '(:line 1 :character 3) (promptls-position (- (point-max) 3) "utf-16")))))

(ert-deftest counts ()
  (should (equal "0" (promptls-count nil)))
  (should (equal "999" (promptls-count 999)))
  (should (equal "7,812" (promptls-count 7812)))
  (should (equal "1,234,567" (promptls-count 1234567))))

(ert-deftest token-bar-never-wider-than-the-budget ()
  (let ((parts (promptls-preview--widths '(:a 500 :b 1 :c 0 :d 499) 1000)))
    (should (equal '(30 1 0 30) (mapcar (lambda (part) (nth 3 part)) parts))))
  (should (promptls-preview--widths '(:a 5) 0)))

;;;; Settings

(defmacro with-settings (bindings &rest body)
  "Run BODY with BINDINGS of the default values of variables, and undo them."
  (declare (indent 1))
  `(let ((saved (mapcar (lambda (pair) (cons (car pair) (default-value (car pair)))) ,bindings)))
     (unwind-protect
         (progn (pcase-dolist (`(,variable . ,value) ,bindings)
                  (set-default variable value))
                ,@body)
       (pcase-dolist (`(,variable . ,value) saved)
         (set-default variable value)))))

(ert-deftest only-settings-that-differ-are-sent ()
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

(ert-deftest every-setting-is-declared ()
  (pcase-dolist (`(,name ,variable ,_) promptls-settings)
    (should (string-match-p "\\`[a-zA-Z]+\\.[a-zA-Z]+\\'" name))
    (should (custom-variable-p variable))
    (should (functionp (get variable 'safe-local-variable)))))

(ert-deftest workspace-settings-are-what-differs-from-the-start ()
  (promptls-initialization-options)
  (with-temp-buffer
    (should (zerop (hash-table-count (promptls-workspace-settings))))
    (setq-local promptls-budget-tokens 77)
    (should (equal '(:budget (:tokens 77)) (promptls-workspace-settings)))))

;;;; Finding the program

(ert-deftest the-program-is-looked-for-in-order ()
  (let* ((root (make-temp-file "project" t))
         (folder (make-temp-file "path" t))
         (exec-path (list folder))
         (promptls-command nil))
    (dolist (file (list (expand-file-name ".venv/bin/promptls" root)
                        (expand-file-name "promptls" folder)))
      (make-directory (file-name-directory file) t)
      (write-region "#!/bin/sh\n" nil file nil 'quiet)
      (set-file-modes file #o755))
    (should (equal "exec-path" (cdr (promptls-find-program root))))
    (let ((promptls-allow-project-server t))
      (should (equal "the project's .venv" (cdr (promptls-find-program root)))))
    (let ((promptls-command '("promptls" "--verbose" "serve")))
      (should (equal '("promptls" "--verbose" "doctor") (promptls-program "doctor"))))
    (let ((exec-path nil))
      (should-error (promptls-program "serve" root) :type 'user-error))
    (delete-directory root t)
    (delete-directory folder t)))

;;;; Mentions, as far as Emacs colours them

(ert-deftest mentions-get-their-colour ()
  (let ((found (lambda (text)
                 (when (string-match promptls-mention-regexp text)
                   (match-string 1 text)))))
    (should (equal "@src/a.py:1-2" (funcall found "see @src/a.py:1-2.")))
    (should (equal "@#Name" (funcall found "@#Name, please")))
    (should (equal "@\"a b.py\":3" (funcall found "(@\"a b.py\":3)")))
    (should-not (funcall found "me@example.org"))))

(ert-deftest completion-style-shows-what-the-server-offers ()
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
  "Run all tests and report each as a check."
  (dolist (test (ert-select-tests t t))
    (let ((result (ert-run-test test)))
      (check (format "%s" (ert-test-name test))
             (ert-test-passed-p result)
             (and (ert-test-result-with-condition-p result)
                  (ert-test-result-with-condition-condition result))))))

(units-run)
(finish)
;;; units.el ends here
