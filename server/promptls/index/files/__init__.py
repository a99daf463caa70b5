"""Access to the files of a workspace: file walks, ignore rules, and reading texts.

No other package reads workspace files.  In a git work tree, git decides which files are listed, and `.promptlsignore`
adds rules (`walk.walk_files`, `walk.ignored_paths`, `walk.explain_path`).  Whether a listed file is indexed is decided
when its text is read (`read.read_text`).  A file without text stays listed, so that it can be mentioned by name, with
the reason.  Blocking; any thread.  Does not depend on the index, on open documents or on LSP.
"""
