"""Laws of recipes: no file crashes the reader, and what is filled in is never read again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptls.prompt.recipes import Recipe, context_values, parse_recipe, render_recipe

HEAD = '+++\ntitle = "T"\ndescription = "D"\nversion = "1.0"\n[arguments.a]\ndescription = "A"\n+++\n'
PIECES = [
    "+++\n", "+++", 'title = "T"\n', 'version = "1.0"\n', "[arguments.a]\n", "default = 1\n", "{{", "}}", "{{a}}",
    "{{ file | x }}", "|", "\\{{a}}", "\n", "\r\n", "\u202e", "= [", "x",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=20).map("".join)


@given(TEXTS, TEXTS.map(str.strip), st.text(max_size=200), st.text(max_size=200))
def test_inserted_values_are_not_parsed_for_placeholders(body: str, argument: str, file: str, symbol: str) -> None:
    recipe, _ = parse_recipe("one", HEAD + f"Say {{{{a|nothing}}}} of {{{{subject|it}}}}.\n{body}", "yours", "one.md")
    if recipe is None:
        return
    assert isinstance(recipe, Recipe)
    values = context_values(file=file, symbol=symbol)
    first = values.get("subject", "it")
    text = render_recipe(recipe, {"a": "{{a}}{{subject}}"}, values)
    assert isinstance(text, str)
    assert text.startswith(f"Say {{{{a}}}}{{{{subject}}}} of {first}.")
    assert first.count("\n") == 0 and first.count("`") in (0, 2, 4)
    assert isinstance(render_recipe(recipe, {"a": argument}, values), str)
