"""Languages that need no more than a query or a scanner: one module per family.

Each entry is data. A language that also needs rules for imports, types or visibility is defined in
`promptls.languages`. The registry there finds the constants of this package.
"""
