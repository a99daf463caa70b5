from hypothesis import given
from hypothesis import strategies as st

from promptls.index.vocabulary import Vocabulary

TEXTS = st.dictionaries(st.binary(min_size=1, max_size=2), st.sampled_from(["a b", "a a c", "b", "c d e", ""]))


@given(TEXTS, st.lists(st.binary(min_size=1, max_size=2)))
def test_adding_and_removing_leaves_what_a_fresh_count_gives(texts: dict[bytes, str], removed: list[bytes]) -> None:
    counted = Vocabulary()
    for key, terms in texts.items():
        counted.add(key, terms)
        counted.add(key, terms)
    for key in removed:
        counted.remove(key, texts.get(key, ""))
    fresh = Vocabulary()
    for key, terms in texts.items():
        if key not in removed:
            fresh.add(key, terms)
    assert len(counted) == len(fresh)
    assert counted.mean_length == fresh.mean_length
    assert [counted.frequency(t) for t in "abcdef"] == [fresh.frequency(t) for t in "abcdef"]


def test_a_rare_term_weighs_more() -> None:
    vocabulary = Vocabulary()
    for i in range(10):
        vocabulary.add(bytes([i]), "common rare" if i == 0 else "common")
    assert vocabulary.idf("rare") > vocabulary.idf("common") > 0
