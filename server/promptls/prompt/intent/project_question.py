"""Recognition of questions about the project as a whole: its purpose, architecture, structure or main parts.

A question is about the whole project if it names nothing else.  All of its words must be in a closed vocabulary, and
some of them must ask for an overview: "explain the architecture", but not "explain the architecture of the cache".
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_QUESTION_CHARACTERS = 500
"""Maximum length of a question about the whole; a longer one names something in particular."""

MAX_NAME_WORDS = 3
"""Maximum number of different words in a question that are names of the project."""

_WORD = re.compile(r"[^\W\d_][^\W_]*|\d+|[`/\\_@#<>=(){}]")
"""Words; a character that is common in code is a word of its own, which no vocabulary contains."""
_CJK = "\u3040-\u30ff\u3400-\u9fff\uff66-\uff9f"
_CJK_RUN = re.compile(f"[{_CJK}]+")
_APOSTROPHE = re.compile(r"(?<=\w)['\u2019\u00b4`](?=\w)")

_PROJECT = frozenset("""
project projects repo repos repository codebase app application program software system library package framework tool
product workspace monorepo crate gem
projekt projekts projektes repositorys codebasis anwendung programm programms programmes bibliothek systems
proyecto repositorio aplicación aplicacion programa sistema biblioteca librería libreria
projet dépôt depot appli programme logiciel système systeme bibliothèque bibliotheque
""".split())  # fmt: skip
"""Words for the project."""

_OVERVIEW = frozenset("""
architecture architectural overview codebase structure structured organised organized organisation organization
architektur softwarearchitektur gesamtarchitektur systemarchitektur überblick ueberblick übersicht aufbau aufgebaut
gegliedert strukturiert organisiert projektstruktur codestruktur ordnerstruktur verzeichnisstruktur projektaufbau
arquitectura panorama estructura estructurado estructurada organizado organizada
aperçu structuré structurée organisé organisée
""".split())  # fmt: skip
"""Words that ask for an overview on their own."""

_OVERVIEW_PHRASES = re.compile(
    r"\b(?:big picture|code ?base|(?:tech|technology) stack|design patterns?|entry points?|lay of the land|laid out"
    r"|fits? together|high level (?:design|view|picture|description|summary)|mental model"
    r"|(?:main|major|key|core|important|central|primary|principal|top level) (?:\w+ )?(?:components?|modules?|parts?|pieces|layers"
    r"|packages|building blocks|concepts|abstractions|classes|types|subsystems|areas|responsibilities)"
    r"|(?:components?|modules?|parts|pieces|layers|packages|subsystems) (?:and how )?(?:\w+ ){0,3}"
    r"(?:interact|relate|communicate|connect|depend|together|connected|related)"
    r"|new to (?:this|the)"
    r"|visi[oó]n general|vista general|vue d ?ensemble|vue globale|vue générale"
    r"|(?:wichtigsten|zentralen|wesentlichen) (?:komponenten|module|teile|bestandteile|klassen)"
    r"|(?:componentes|módulos|partes) principales|(?:composants|modules|parties) princip\w+|worum geht)\b"
)
"""Phrases that ask for an overview on their own."""

_START = re.compile(
    r"\bwhere (?:(?:do|should|can|could|would|to) )?(?:i |we |one )?(?:to )?(?:start|begin)(?: reading)?\b",
    re.IGNORECASE,
)
"""A question for the first thing to read."""

_ASK = frozenset("""
what whats how explain describe summarize summarise summary walk tell introduce introduction tour understand
purpose goal show outline present why about design goals looking guide onboard intro
was wie wozu wofür erkläre erklär erklären erläutere beschreibe beschreib zusammenfassung zweck erzähl vorstellen zeig
qué que cómo como explica explícame explicame describe resume resumen propósito objetivo sirve
quoi comment explique expliquer expliquez décris décrire résume résumé présente présenter fait sert but objectif
""".split())  # fmt: skip
"""Words that, together with a word for the project, ask for an overview."""

_OTHER = frozenset("""
a an the this that these those it its is are was be do does did has have of in on for to from by with and or as at into
about over me us my our i we you your there here which who where if s m re ve d ll im id
please can could would will should may might shall let lets hey hi hello thanks thank all each both every everything
general overall whole entire main major key core important central primary principal high top level quick quickly brief
briefly short shortly detailed detail details full complete completely rough roughly basic basics simple simply good
first just some any new also together exactly right now currently really actually basically
give get got gimme provide want need like love help know learn see look looking read through make sense made break down
up out put do doing work works working worked built build-up composed consists consist contain contains inside behind
use used uses using written based responsible responsibilities responsibility idea point trying achieve kind sort type
code source sources stack tech technology technologies language languages libraries dependencies frameworks tools
component components module modules part parts piece pieces layer layers packages folder folders directory directories
file files class classes types function functions concept concepts abstraction abstractions entity entities building
block blocks pattern patterns subsystem subsystems area areas picture view entry points big mental model lay land laid
layout fit fits design relate related relates relationship relationships interact interacts communicate connect
connected connects depend depends other another between one they them their
new unfamiliar joined join cloned clone today yesterday never seen before someone somebody person people developer
developers engineer engineers contributor contributors beginner beginners newcomer newcomers newbie junior senior
colleague teammate team member members year old who am not want wants
few two three five ten sentence sentences paragraph paragraphs word words line lines minute minutes bullet bullets
points terms plain english german french spanish chinese japanese mermaid diagram diagrams draw markdown table list
lists flow map tree
die der das den dem des ein eine einen einer eines mir uns bitte und oder von vom zu zum zur im ist sind es hier für auf
aus mit über dieses diese dieser diesem diesen gib geben zeige zeigen macht tut tun funktioniert arbeitet worum geht
dient gut grob groben grobe kurz kurzen kurze ganze ganzen gesamte gesamten gesamter komponenten module teile klassen
bestandteile wichtigsten zentralen wesentlichen zusammen spielen hängen zusammenhang zusammenspiel technologien
verwendet werden wird welche welcher welches gibt man ich wir struktur quellcode insgesamt allgemein genau eigentlich
verschaffe verschaff neu sich
dame danos muéstrame muestrame descríbeme una un la el los las lo de del este esta esto estos estas código codigo
estructura organización está qué hace hacen es para funciona por favor componentes módulos modulos partes principales
cuál cual cuáles son y e nos me se en trata diseño visión vision vista puedes podrías breve general con toda todo entera
donne donnez moi la le les l d de des du ce cet cette ces qu est ce que il elle on sont et à au aux me nous structure
organisation ensemble globale global générale fonctionne s vous te plaît plait composants parties principaux
principales quel quelle quels quelles conception peux pouvez tu bref courte vue en pour un une dans fichiers
""".split())  # fmt: skip
"""Other words of such questions: function words, parts of a project, and readers and forms of an answer."""

_CJK_PROJECT = (
    "项目 專案 项目的 工程 代码库 程式庫 仓库 倉庫 系统 系統 程序 应用程序 应用 软件 軟體 プロジェクト リポジトリ レポジトリ "
    "コードベース アプリケーション アプリ システム ソフトウェア ライブラリ プログラム"
).split()
_CJK_OVERVIEW = (
    "架构 架構 概述 概览 概覽 总览 總覽 概况 目录结构 整体结构 项目结构 代码结构 组织结构 技术栈 组织 主要模块 核心模块 "
    "アーキテクチャー アーキテクチャ 全体像 概要 ディレクトリ構成 フォルダ構成 全体構成 構成 構造 設計"
).split()
_CJK_ASK = (
    "什么 什麼 介绍 介紹 解释 解釋 说明 說明 描述 讲解 講解 如何 怎么 怎样 总结 總結 分析 作用 功能 目的 説明 教えて 何 なに "
    "紹介 どう どのように どんな 仕組み 役割"
).split()
_CJK_OTHER = (
    "请 請 帮我 幫我 帮忙 给我 給我 能否 能 可以 可否 你 您 我们 我 一下 一个 一個 这个 這個 这 這 该 該 本 此 整个 整個 整体 "
    "整體 总体 全部 代码 代碼 库 框架 的 结构 結構 设计 設計 是 做 干 用 来 來 为 為 了 有 哪些 主要 核心 模块 模組 组件 部分 工作 "
    "运作 工作原理 原理 运行 吗 呢 和 与 及 之间 关系 大致 简单 简要 简短 详细 快速 入口 文件 目录 组成 构成 想 了解 知道 告诉 "
    "地 得 些 在 里 中 "
    "この その コード 全体 を の は が に と で も や へ から について 説明して 教え 説明 して し て ください 下さい くれ くださいませんか "
    "お願い いたします します しますか しています する もの こと です ですか でしょうか か ます ますか 動作 動く 動き 働き なって "
    "いる います いますか ている される されて されていますか 組織 整理 され 主要 主な コンポーネント モジュール 部分 簡単 簡潔 詳しく "
    "ディレクトリ フォルダ ファイル 依存関係 関係 見せて ほしい 欲しい たい 知り 理解 まとめて 要約"
).split()


def _alternatives(*lists: Iterable[str]) -> re.Pattern[str]:
    words = sorted({word for words in lists for word in words}, key=lambda word: (-len(word), word))
    return re.compile("|".join(map(re.escape, words)))


_CJK_VOCABULARY = _alternatives(_CJK_PROJECT, _CJK_OVERVIEW, _CJK_ASK, _CJK_OTHER)
_CJK_OVERVIEW_PATTERN = _alternatives(_CJK_OVERVIEW)
_CJK_PROJECT_PATTERN, _CJK_ASK_PATTERN = _alternatives(_CJK_PROJECT), _alternatives(_CJK_ASK)
_VOCABULARY = _PROJECT | _OVERVIEW | _ASK | _OTHER


def is_project_question(question: str, names: Iterable[str] = ()) -> bool:
    """Return true if a question is about the project as a whole, in one of six languages.

    Args:
        question: The question, without mentions.
        names: Names of the project, which count as words for the project; read only if the question may have one.
    """
    if not question.strip() or len(question) > MAX_QUESTION_CHARACTERS:
        return False
    text = " ".join(_WORD.findall(_APOSTROPHE.sub(" ", _START.sub("overview", question))))
    runs = _CJK_RUN.findall(text)
    words = [word for word in _CJK_RUN.sub(" ", text).lower().split() if not word.isdigit()]
    unknown = {word for word in words if word not in _VOCABULARY}
    if len(unknown) > MAX_NAME_WORDS or any(_CJK_VOCABULARY.sub("", run) for run in runs):
        return False
    own_names = {word.lower() for name in names for word in _WORD.findall(name)} if unknown else set()
    if unknown - own_names:
        return False
    joined, spoken = "\n".join(runs), " ".join(words)
    if _OVERVIEW_PHRASES.search(spoken) or _CJK_OVERVIEW_PATTERN.search(joined) or not _OVERVIEW.isdisjoint(words):
        return True
    names_project = bool(unknown) or not _PROJECT.isdisjoint(words) or bool(_CJK_PROJECT_PATTERN.search(joined))
    return names_project and (not _ASK.isdisjoint(words) or bool(_CJK_ASK_PATTERN.search(joined)))
