"""Translation of questions in other human languages into English search terms, offline.

A glossary of programming terms and of the words of everyday questions maps eight languages to English.
"""

from promptls.retrieval.translation.translate import MIN_CONFIDENCE, Translation, translate

__all__ = ["MIN_CONFIDENCE", "Translation", "translate"]
