"""A prompt document as a language: what editors show for mentions while a question is written.

Everything is made from one `Reading` of the document (`desk`), which is the same dry run that
`promptls/resolveMentions` gives: what is shown is what is sent.  Results are plain JSON of LSP; documents that are
no prompts get None.
"""
