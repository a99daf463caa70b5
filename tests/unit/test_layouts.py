"""How prompts look in the layouts of the five systems."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from promptkit import SECRET, item, renderer, symbol, view

from promptls.model import Origin
from promptls.prompt.assemble import Assembled, assemble
from promptls.prompt.layouts import LAYOUTS, Facts, Message, Section
from promptls.prompt.layouts.codebuddy import label
from promptls.prompt.layouts.prompto import templates
from promptls.prompt.pack import Choice, Kept, Packed, pack
from promptls.prompt.render import forms
from promptls.prompt.tokens import UnknownName

GREET = view('def greet(name):\n    return f"Hello, {name}!"\n\n\ndef part(name):\n    return name\n', "src/greet.py")
NOTES = view("One note.\n```\ncode in it\n```\n", "notes.md")
SECTIONS = (
    Section("instructions", "Explain the flow.", "instructions"),
    Section("format", "Two sentences.", "instructions"),
    Section("team", "Ann knows src/."),
    Section("memory", "No tabs."),
    Section("architecture", "A layered house."),
    Section("rules", "Use black."),
    Section("task", "Write a test.", "task"),
)


def prompt(layout: str, *, variant: str = "baseline", output: str = "text", **more: object) -> Assembled:
    using = renderer("chars4", citations=variant == "citation")
    explicit = [Choice(forms(symbol(GREET, "greet", score=1.0, origin=Origin.MENTION), GREET, using))]
    implicit = [
        Choice(forms(symbol(GREET, "part", score=0.8), GREET, using)),
        Choice(forms(item(NOTES, score=0.5), NOTES, using)),
    ]
    packed = pack(explicit, implicit, 2000, order="score")
    options = {"sections": SECTIONS, "facts": Facts(("explanation", "debugging"), "fix", 4000, 3), **more}
    return assemble(
        "How is it tested?",
        packed,
        variant=variant,
        output=output,
        budget=4000,
        renderer=using,
        layout=layout,
        secret=SECRET,
        **options,  # type: ignore[arg-type]
    )


def order(text: str, *parts: str) -> bool:
    places = [text.index(part) for part in parts]
    return places == sorted(places)


def test_codebuddys_order_and_headings() -> None:
    text = prompt("codebuddy").prompt
    assert order(
        text,
        "## Task instructions\nExplain the flow.",
        "## Context\nquestion_type: Code Explanation + Debugging\ntoken_budget: ",
        "/4000 (+3 omitted)",
        "## Architecture\n> A layered house.",
        "## Memory\n> No tabs.",
        "## Team\n> Ann knows src/.",
        "## Files you were given\n### File: src/greet.py",
        "#### function greet (lines 1-2)\n```python\ndef greet(name):",
        "## Gathered code\n### File: src/greet.py",
        "#### function part (lines 5-6)\n```python\n",
        "### File: notes.md",
        "````markdown\nOne note.\n```\ncode in it\n```\n````",
        "3 more snippets did not fit into the token budget.",
        "## Rules\n1. ",
        "## Response format\nTwo sentences.",
        "## Question\nHow is it tested?",
    )
    assert text.count("How is it tested?") == 1  # CodeBuddy sends it twice
    assert [label(()), label(("feature",))] == ["General Inquiry", "Feature Request"]


def test_promptos_templates_by_action() -> None:
    assert sorted(templates()) == ["create", "explain", "fix", "modify", "other", "refactor"]
    for action, template in templates().items():
        text = prompt("prompto", facts=Facts((), action)).prompt
        assert text.startswith(f"{template.role}\n")
        assert 5 <= len(template.consider) <= 6
        assert all(f"- {line}\n" in text for line in (*template.consider, *template.rules))
    assert prompt("prompto", facts=Facts((), "juggle")).prompt.startswith(templates()["other"].role)


def test_promptos_files_stand_in_tags_that_nothing_can_close() -> None:
    text = prompt("prompto").prompt
    found = re.search(r'<file-([0-9a-f]{12}) path="src/greet.py" lines="1-2" language="python">\n', text)
    assert found
    boundary = found.group(1)
    assert order(text, f"<rules-{boundary}>\nUse black.", f"<code_context-{boundary}>\n", found.group(), "## Task\nHow")
    assert f'<file-{boundary} path="notes.md" lines="1-4" language="markdown">\nOne note.\n' in text


def test_codys_messages() -> None:
    chat = prompt("cody", output="messages", history=(Message("user", "Hi."), Message("assistant", "Hello."))).messages
    roles = [m.role for m in chat]
    assert roles[0] == "system"
    assert chat[-1].content.endswith("How is it tested?")
    pieces = [m.content for m in chat if m.content.startswith("Context from")]
    assert [piece.split("\n")[0] for piece in pieces] == [
        "Context from file src/greet.py:5-6",
        "Context from file notes.md:1-4",
        "Context from file src/greet.py:1-2",  # what was mentioned is the nearest to the question
    ]
    assert pieces[0].split("\n")[1] == "```python:src/greet.py"
    answered = [chat[i + 1] for i, m in enumerate(chat) if m.content.startswith("Context from")]
    assert {(m.role, m.content) for m in answered} == {("assistant", "Ok.")}
    assert [m.content for m in chat[-3:-1]] == ["Hi.", "Hello."]


def test_attunes_passages_and_its_prompt_without_hits() -> None:
    text = prompt("attune", variant="citation").prompt
    assert "<passage>\n[P1] source: src/greet.py:1-2\ndef greet(name):" in text
    assert order(text, "### Context\n<passage>", "### User request\nHow is it tested?", "### Instruction\n")
    assert "<passage>\n[source: src/greet.py:1-2]\n" in prompt("attune").prompt
    none = assemble("How?", pack([], [], 100), budget=500, renderer=renderer("chars4"), layout="attune").prompt
    assert "### Context" not in none
    assert "Nothing was found that belongs to the request." in none


def test_attunes_beginning_is_a_message_of_its_own_from_1024_characters() -> None:
    def first(length: int) -> Message:
        sections = (Section("rules", "x" * length),)
        return prompt("attune", output="messages", sections=sections).messages[0]

    base = sum(len(p) for p in ("### Rules\n> ",))
    text = prompt("attune", sections=()).prompt
    context = text[: text.index("\n\n### User request")]
    need = 1024 - base - len(context)
    assert (first(need - 1).role, first(need).role) == ("user", "system")
    assert "How is it tested?" not in first(need).content


def test_understand_anythings_markdown_with_code_and_lines_after_it() -> None:
    sections = (Section("graph", "# Project: shop\n\n## Code Components\n\n### Cart\n```\nnot closed"), *SECTIONS)
    text = prompt("understand", sections=sections).prompt
    assert order(
        text,
        "# Project: shop\n\n## Code Components",
        "\\```\nnot closed",
        "## Code\n### greet (function)\n> src/greet.py:1-2\n```python\n",
        "### notes.md (file)\n> notes.md:1-4\n````markdown\n",
        "## Question\nHow is it tested?",
    )


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_the_citation_variant_heads_each_passage_with_its_label_and_source(layout: str) -> None:
    done = prompt(layout, variant="citation")
    for placed in done.items:
        head = f"[{placed.citation}] source: {placed.block.item.path[3:]}:{placed.block.spans[0].label}"
        assert done.prompt.count(f"\n{head}\n") == 1
    assert "\n[P1] " not in prompt(layout).prompt


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
@pytest.mark.parametrize("before", ["", "x" * 100 + " "])
def test_a_heading_shows_no_secret_in_any_layout(layout: str, before: str) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
    named = replace(item(NOTES), kind="section", symbol=f"{before}Use {token} to rotate")
    for form in ("full", "reference"):
        using = renderer("chars4")
        made = forms(named, NOTES, using)
        block = made.full() if form == "full" else made.reference()
        assert block is not None
        packed = Packed((Kept(block, made, (named,), explicit=True, rank=0),))
        text = assemble("How?", packed, budget=4000, renderer=using, layout=layout, secret=SECRET).prompt
        assert token[:12] not in text
        assert "One note." in text or form == "reference"


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
@pytest.mark.parametrize("output", ["text", "messages"])
def test_every_section_is_in_every_layout(layout: str, output: str) -> None:
    done = prompt(layout, output=output)
    text = done.prompt or "\n".join(m.content for m in done.messages)
    assert [s.name for s in SECTIONS if s.text not in text] == []
    assert done.dropped == ()
    assert len(done.items) == 3


def test_an_unknown_layout_names_the_valid_ones() -> None:
    with pytest.raises(UnknownName, match="attune, codebuddy, cody, default, prompto, understand"):
        prompt("yaml")
