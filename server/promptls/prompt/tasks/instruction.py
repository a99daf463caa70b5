"""Instructions about mentioned code that need no other code: "translate this comment", "review", "hello"."""

from __future__ import annotations

from promptls.index import STOP_WORDS, find_words

_VERBS = """
explain describe summarize summarise translate review check write add create generate rename refactor simplify clean
improve optimize optimise document comment annotate format reformat convert rewrite shorten tidy split extract fix divide organize organise structure
correct proofread look read show tell help make do understand test cover walk go through give see polish modernize sort
erkläre erklär beschreibe übersetze prüfe schreibe kommentiere formatiere vereinfache verbessere korrigiere
explica describe traduce revisa escribe comenta simplifica mejora corrige explique décris traduis vérifie écris
commente simplifie améliore corriger
"""
_NOUNS = """
code function functions method methods class classes file files module line lines block snippet part change changes
diff commit message comment comments docstring docstrings doc docs documentation test tests unit bug bugs error errors
issue issues problem problems typo typos spelling grammar variable variables name names type types hint hints
annotation annotations style formatting readability performance selection selected version text sentence wording
english german french spanish italian portuguese chinese japanese korean russian
funktion methode klasse datei code kommentar test tests función método clase archivo fonction méthode classe fichier
deutsch englisch französisch spanisch inglés francés alemán anglais allemand
diesen diese dieses den die das der bitte kommentar este esta el la comentario por favor ce cette le les commentaire
"""
_OTHERS = """
hello hi hey thanks thank please ok okay now again quickly briefly brief short shorter detail details detailed depth
step better cleaner simpler faster smaller structured organized organised readable concise clear clearer nice good new existing more less bit all
whole entire everything every each above below following work works working does mean means purpose idiomatic proper
properly correct possible possibly one two three sentences words lines first current only also well sure best way pieces parts edge case cases
coverage line-by-line
"""
INSTRUCTION_WORDS = frozenset((_VERBS + _NOUNS + _OTHERS).split()) | STOP_WORDS
"""Words that say what to do with mentioned code, and not what it is about."""


def is_instruction_only(question: str) -> bool:
    """Return whether a message without its mentions says only what to do with the mentioned code."""
    return len(question) < 1000 and all(
        word.lower() in INSTRUCTION_WORDS or word.isdigit() or len(word) == 1 for word in find_words(question)
    )
