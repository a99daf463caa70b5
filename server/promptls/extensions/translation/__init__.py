"""Translation of questions in other human languages into English search terms, offline.

A glossary of programming terms and of the words of everyday questions maps eight languages to English. `translate` is
registered in the entry-point group `promptls.services`.
"""
