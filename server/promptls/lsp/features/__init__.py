"""LSP features of prompt documents.

Every feature is made from the `DocumentAnalysis` of the document, the same dry run that `promptls/resolveMentions`
returns. Results are plain JSON of LSP. Documents that are not prompt documents get None.
"""
