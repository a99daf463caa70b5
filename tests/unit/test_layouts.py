"""Layouts of all profiles: order, headings, escaping."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from promptkit import LAYOUTS, SECRET, item, renderer, symbol_item, text_file
from promptls.extensions.compat.codebuddy.layout import question_type_label
from promptls.extensions.compat.prompto import task_templates
from promptls.model import Origin
from promptls.prompt.assemble import AssembledPrompt, assemble
from promptls.prompt.layouts import Message, PromptMetadata, Section
from promptls.prompt.packing.pack import PackedItem, PackingCandidate, PackResult, pack
from promptls.prompt.packing.packer import FULL, Part
from promptls.prompt.rendering.forms import item_forms

GREET = text_file(
    'def greet(name):\n    return f"Hello, {name}!"\n\n\ndef part(name):\n    return name\n', "src/greet.py"
)
NOTES = text_file("One note.\n```\ncode in it\n```\n", "notes.md")
SECTIONS = (
    Section("instructions", "Explain the flow.", "instructions"),
    Section("format", "Two sentences.", "instructions"),
    Section("team", "Ann knows src/."),
    Section("memory", "No tabs."),
    Section("architecture", "Three layers."),
    Section("rules", "Use black."),
    Section("task", "Write a test.", "task"),
)


def prompt(layout: str, *, variant: str = "baseline", output: str = "text", **more: object) -> AssembledPrompt:
    using = renderer("chars4", citations=variant == "citation")
    explicit = [
        PackingCandidate(item_forms(symbol_item(GREET, "greet", score=1.0, origin=Origin.MENTION), GREET, using))
    ]
    implicit = [
        PackingCandidate(item_forms(symbol_item(GREET, "part", score=0.8), GREET, using)),
        PackingCandidate(item_forms(item(NOTES, score=0.5), NOTES, using)),
    ]
    packed = pack(explicit, implicit, 2000, order="score")
    options = {"sections": SECTIONS, "metadata": PromptMetadata(("explanation", "debugging"), "fix", 4000, 3), **more}
    return assemble(
        "How is it tested?",
        packed,
        variant=variant,
        output=output,
        budget=4000,
        renderer=using,
        layout=LAYOUTS[layout],
        boundary_key=SECRET,
        **options,  # type: ignore[arg-type]
    )


def order(text: str, *parts: str) -> bool:
    places = [text.index(part) for part in parts]
    return places == sorted(places)


def test_codebuddy_order_and_headings() -> None:
    text = prompt("codebuddy").prompt
    assert order(
        text,
        "## Task instructions\nExplain the flow.",
        "## Context\nquestion_type: Code Explanation + Debugging\ntoken_budget: ",
        "/4000 (+3 omitted)",
        "## Architecture\n> Three layers.",
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
    assert text.count("How is it tested?") == 1  # the original sends it twice
    assert [question_type_label(()), question_type_label(("feature",))] == ["General Inquiry", "Feature Request"]


def test_prompto_templates_by_action() -> None:
    assert sorted(task_templates()) == ["create", "explain", "fix", "modify", "other", "refactor"]
    for action, template in task_templates().items():
        text = prompt("prompto", metadata=PromptMetadata((), action)).prompt
        assert text.startswith(f"{template.role}\n")
        assert 5 <= len(template.consider) <= 6
        assert all(f"- {line}\n" in text for line in (*template.consider, *template.rules))
    assert prompt("prompto", metadata=PromptMetadata((), "juggle")).prompt.startswith(task_templates()["other"].role)


def test_prompto_tags_have_the_boundary() -> None:
    text = prompt("prompto").prompt
    found = re.search(r'<file-([0-9a-f]{12}) path="src/greet.py" lines="1-2" language="python">\n', text)
    assert found
    boundary = found.group(1)
    assert order(text, f"<rules-{boundary}>\nUse black.", f"<code_context-{boundary}>\n", found.group(), "## Task\nHow")
    assert f'<file-{boundary} path="notes.md" lines="1-4" language="markdown">\nOne note.\n' in text


def test_cody_messages() -> None:
    chat = prompt("cody", output="messages", history=(Message("user", "Hi."), Message("assistant", "Hello."))).messages
    roles = [m.role for m in chat]
    assert roles[0] == "system"
    assert chat[-1].content.endswith("How is it tested?")
    pieces = [m.content for m in chat if m.content.startswith("Context from")]
    assert [piece.split("\n")[0] for piece in pieces] == [
        "Context from file src/greet.py:5-6",
        "Context from file notes.md:1-4",
        "Context from file src/greet.py:1-2",  # mentioned items are closest to the question
    ]
    assert pieces[0].split("\n")[1] == "```python:src/greet.py"
    answered = [chat[i + 1] for i, m in enumerate(chat) if m.content.startswith("Context from")]
    assert {(m.role, m.content) for m in answered} == {("assistant", "Ok.")}
    assert [m.content for m in chat[-3:-1]] == ["Hi.", "Hello."]


def test_attune_passages_and_prompt_without_hits() -> None:
    text = prompt("attune", variant="citation").prompt
    assert "<passage>\n[P1] source: src/greet.py:1-2\ndef greet(name):" in text
    assert order(text, "### Context\n<passage>", "### User request\nHow is it tested?", "### Instruction\n")
    assert "<passage>\n[source: src/greet.py:1-2]\n" in prompt("attune").prompt
    none = assemble("How?", pack([], [], 100), budget=500, renderer=renderer("chars4"), layout=LAYOUTS["attune"]).prompt
    assert "### Context" not in none
    assert "No relevant context was found for the request." in none


def test_attune_prefix_is_a_separate_message_from_1024_characters() -> None:
    def first(length: int) -> Message:
        sections = (Section("rules", "x" * length),)
        return prompt("attune", output="messages", sections=sections).messages[0]

    base = sum(len(p) for p in ("### Rules\n> ",))
    text = prompt("attune", sections=()).prompt
    context = text[: text.index("\n\n### User request")]
    need = 1024 - base - len(context)
    assert (first(need - 1).role, first(need).role) == ("user", "system")
    assert "How is it tested?" not in first(need).content


def test_understand_graph_is_followed_by_code_with_lines() -> None:
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
def test_citation_variant_adds_label_and_source_to_each_item(layout: str) -> None:
    done = prompt(layout, variant="citation")
    for placed in done.items:
        head = f"[{placed.citation}] source: {placed.rendered.item.path[3:]}:{placed.rendered.spans[0].label}"
        assert done.prompt.count(f"\n{head}\n") == 1
    assert "\n[P1] " not in prompt(layout).prompt


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
@pytest.mark.parametrize("before", ["", "x" * 100 + " "])
def test_headings_contain_no_secret_in_any_layout(layout: str, before: str) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
    named = replace(item(NOTES), kind="section", symbol=f"{before}Use {token} to rotate")
    for form in ("full", "reference"):
        using = renderer("chars4")
        made = item_forms(named, NOTES, using)
        block = made.full() if form == "full" else made.reference()
        assert block is not None
        packed = PackResult((PackedItem(block, made, (Part(FULL, block, made, ((0, named),)),), explicit=True),))
        text = assemble("How?", packed, budget=4000, renderer=using, layout=LAYOUTS[layout], boundary_key=SECRET).prompt
        assert token[:12] not in text
        assert "One note." in text or form == "reference"


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
@pytest.mark.parametrize("output", ["text", "messages"])
def test_every_section_is_in_every_layout(layout: str, output: str) -> None:
    done = prompt(layout, output=output)
    text = done.prompt or "\n".join(m.content for m in done.messages)
    assert [s.name for s in SECTIONS if s.text not in text] == []
    assert done.warnings == ()
    assert len(done.items) == 3
