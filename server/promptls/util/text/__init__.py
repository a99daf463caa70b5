"""Functions on text: lines, spans, differences, regular expressions."""
