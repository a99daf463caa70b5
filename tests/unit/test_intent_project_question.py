"""Recognition of questions about the project as a whole."""

from __future__ import annotations

import pytest

from promptls.prompt.intent.project_question import MAX_QUESTION_CHARACTERS, is_project_question

ABOUT_THE_PROJECT = [
    "explain the architecture",
    "Explain the architecture of this project.",
    "what does this project do",
    "What does this project do?",
    "give me an overview",
    "Give me a high-level overview of this repo, please",
    "how is this repository organised?",
    "How is the code organized?",
    "describe the codebase",
    "What's this repo about?",
    "I'm new to this codebase. Where should I start?",
    "Walk me through the project structure",
    "what are the main components and how do they interact?",
    "how do the modules fit together",
    "How does the app work?",
    "What is the tech stack here",
    "summarize this project in two sentences",
    "tell me about this project",
    "what is the big picture",
    "explain the architecture to a new developer with a mermaid diagram",
    "what does flask do?",
    "explain flask's architecture",
    "What are the key abstractions?",
    "which design patterns are used in this project?",
    "what is the purpose of this library",
    "erkläre die Architektur",
    "Gib mir bitte einen Überblick über das Projekt",
    "Was macht dieses Projekt?",
    "Wie ist das Repository aufgebaut?",
    "Worum geht es in diesem Projekt?",
    "explica la arquitectura",
    "¿Qué hace este proyecto?",
    "Dame una visión general del proyecto",
    "¿Cómo está organizado este repositorio?",
    "explique l'architecture",
    "Que fait ce projet ?",
    "Donne-moi une vue d'ensemble du projet",
    "Comment est organisé ce dépôt ?",
    "à quoi sert ce projet ?",
    "解释一下这个项目的架构",
    "这个项目是做什么的？",
    "请介绍一下整体架构",
    "项目结构是怎样的",
    "アーキテクチャを説明してください",
    "このプロジェクトは何をするものですか？",
    "全体像を教えてください",
    "このリポジトリの構成を説明して",
]
ABOUT_A_PART = [
    "explain the architecture of the cache module",
    "explain the structure of Foo",
    "how does the project handle authentication?",
    "what does this function do",
    "what does this code do",
    "how does it work?",
    "explain this",
    "why is parse_date slow",
    "refactor the architecture",
    "add an overview page to the project",
    "where is the project name set",
    "give me an overview of the retry logic",
    "how do I start the app",
    "how do I run this project",
    "fix the project",
    "how does `open` work in this project",
    "what is the structure of config.yaml",
    "describe the class hierarchy of the parser",
    "what does Command do",
    "list all classes",
    "overview of src/server.py",
    "how is the index organised",
    "update the readme of the project",
    "erkläre die Architektur des Parsers",
    "Wie funktioniert der Cache in diesem Projekt?",
    "explica la arquitectura del módulo de caché",
    "explique l'architecture du cache",
    "解释缓存模块的架构",
    "キャッシュの設計を説明して",
    "解释一下这个函数",
    "how is the database structured",
    "explain the design of the tokenizer",
    "which tests cover the app",
    "what is a monad",
    "is the heap restructured",
    "delete the project",
]


@pytest.mark.parametrize("question", ABOUT_THE_PROJECT)
def test_question_about_the_whole_project_is_recognized(question: str) -> None:
    assert is_project_question(question, ["Flask"])


@pytest.mark.parametrize("question", ABOUT_A_PART)
def test_question_that_names_a_part_or_a_change_is_not_about_the_project(question: str) -> None:
    assert not is_project_question(question)


def test_name_of_the_project_counts_as_a_word_for_it() -> None:
    assert is_project_question("what does my-shop do?", ["my-shop"])
    assert not is_project_question("what does my-shop do?", ["other"])


@pytest.mark.parametrize("question", ["", "  \n", "?!", "the the the", "overview " * MAX_QUESTION_CHARACTERS, "\ud800"])
def test_text_without_a_question_is_not_about_the_project(question: str) -> None:
    assert not is_project_question(question)
