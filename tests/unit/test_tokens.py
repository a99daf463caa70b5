"""Token counters: estimate, tokenizer files and rank files."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import socket
from pathlib import Path

import pytest

from promptls.model import Problem
from promptls.prompt.budget import CounterStatus, counter_status
from promptls.prompt.errors import UnknownName
from promptls.prompt.tokens import choose_counter, counter, counter_from_file
from promptls.prompt.tokens.exact import _split_long_space
from promptls.settings import BudgetSettings

# text, tokens in cl100k_base, tokens in o200k_base; counted with the vocabularies themselves
SAMPLES = {
    "python": (
        '''
class Registry:
    """Handlers by name; the last one registered wins."""

    def __init__(self, parent: "Registry | None" = None) -> None:
        self._handlers: dict[str, Callable[..., Any]] = {}
        self._parent = parent

    def register(self, name: str, *, override: bool = False):
        def decorator(func):
            if name in self._handlers and not override:
                raise ValueError(f"{name!r} is already registered")
            self._handlers[name] = func
            return func

        return decorator
''',
        119,
        120,
    ),
    "go": (
        """
// Close stops the listener and waits for every connection in flight.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ln.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close listener: %w", err)
	}
	for id, conn := range s.conns {
		log.Printf("waiting for %s (%d bytes left)", id, conn.Buffered())
	}
	return s.wg.Wait(ctx)
}
""",
        111,
        111,
    ),
    "typescript": (
        """
export async function fetchPage<T>(url: URL, opts: Partial<RequestInit> = {}): Promise<Page<T>> {
  const response = await fetch(url, { ...opts, headers: { Accept: "application/json" } });
  if (!response.ok) throw new HttpError(response.status, `GET ${url.pathname} failed`);
  const { items, nextCursor } = (await response.json()) as RawPage<T>;
  return { items: items.map(normalizeItem), next: nextCursor ?? undefined };
}
""",
        110,
        108,
    ),
    "prose": (
        """
The scheduler keeps one queue for each worker. A task that blocks for longer than the threshold is moved to the
overflow queue, and the worker that finishes first takes it from there. Nothing is stolen from a worker that is idle
for less than a millisecond, because the cost of waking it up is higher than what could be gained.
""",
        70,
        70,
    ),
    "json": (
        """
{"id": 48213, "name": "eu-west-1b", "enabled": true, "limits": {"cpu": 0.75, "memory": 536870912},
 "tags": ["prod", "edge", null], "created": "2024-11-03T08:15:42.318Z", "owner": {"team": "infra", "oncall": false}}
""",
        88,
        88,
    ),
    "base64": (
        """
MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJRTESMBAGA1UEChMJQmFsdGltb3JlMRMwEQYDVQQLEwpDeWJl
clRydXN0MSIwIAYDVQQDExlCYWx0aW1vcmUgQ3liZXJUcnVzdCBSb290MB4XDTAwMDUxMjE4NDYwMFoXDTI1MDUxMjIzNTkwMFowWjELMAkGA1UE
""",
        153,
        138,
    ),
    "chinese": (
        "\n这个函数读取配置文件,如果文件不存在就返回默认值。调用者负责处理错误,并且在完成之后关闭连接。\n",
        36,
        29,
    ),
    "russian": (
        "\nФункция возвращает список открытых соединений и закрывает те, которые не отвечают дольше минуты.\n",
        38,
        24,
    ),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_estimate_is_close_to_the_true_count(name: str) -> None:
    text, cl100k, o200k = SAMPLES[name]
    count = counter("estimate").count(text)
    assert min(cl100k, o200k) * 0.88 <= count
    assert count <= max(cl100k, o200k) * (1.25 if text.isascii() else 1.5)


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("é" * 9, 3), ("\n" * 8, 2)]
)
def test_chars4_counter(text: str, tokens: int) -> None:
    assert counter("chars4").count(text) == tokens


def test_unknown_counter_error_lists_the_valid_names() -> None:
    with pytest.raises(UnknownName) as caught:
        counter("o200k")
    valid = ("auto", "chars4", "cl100k_base", "estimate", "o200k_base")
    assert str(caught.value) == f"unknown counter 'o200k'; valid: {', '.join(valid)}."
    assert (caught.value.field, caught.value.value) == ("counter", "o200k")
    assert caught.value.valid == valid


@pytest.mark.parametrize("name", SAMPLES)
def test_estimate_uses_the_vocabulary_of_the_model(name: str) -> None:
    text, cl100k, o200k = SAMPLES[name]
    older, newer = choose_counter("estimate", "cl100k_base")[0], choose_counter("estimate", "o200k_base")[0]
    assert older.name == "estimate (cl100k_base)"
    assert newer.name == "estimate (o200k_base)"
    high = 1.18 if text.isascii() else 1.75  # a short sentence in another script: more, never much less
    assert 0.88 <= older.count(text) / cl100k <= high
    assert 0.88 <= newer.count(text) / o200k <= high


# text, tokens in cl100k_base, tokens in o200k_base; counted with the vocabularies themselves
AWKWARD = {
    "zh": (
        "这个函数读取配置文件，如果文件不存在就返回默认值。调用者负责处理错误，并且在完成之后关闭连接。请解释为什么缓存没有更新，以及如何修复这个问题。",
        57,
        39,
    ),
    "ru": ("Функция возвращает список открытых соединений и закрывает те, которые не отвечают дольше минуты.", 37, 23),
    "hi": ("यह फ़ंक्शन कॉन्फ़िगरेशन फ़ाइल पढ़ता है और फ़ाइल न होने पर डिफ़ॉल्ट मान लौटाता है।", 92, 31),
    "emoji": ("🤔🚀👨\u200d👩\u200d👧\u200d👦🇩🇪✅❌🔥 👍🏽 why 🐛?", 47, 31),
    "sym": ("∀x∈ℝ: ⌈x⌉ = −⌊−x⌋, ∑∏∫ → ⇒ ≤ ≥ ≠ ├── └── │ ░▒▓", 47, 45),
    "ka": ("ეს ფუნქცია კითხულობს კონფიგურაციის ფაილს", 76, 16),
    "combining": ("àḃc̎d̕e̜f̣g̪ẖi̸j̿k͆l͍m͔n͛o͢pͩq̀ṙs̎t̕u̜ṿw̪x̱y̸z̿a͆b͍c͔d͛e͢fͩg̀ḣi̎j̕k̜ḷm̪ṉo̸p̿q͆r͍s͔t͛u͢vͩẁẋy̎z̕a̜ḅc̪ḏe̸f̿g͆h͍", 176, 172),
    "hex": (
        "f5b165224a58b791df6af1d8303e61cdc4bb86c3d1c427103c344c4189eb2f1e7bd5d47e446fcec2a3d811736110e5781bcccea696762e6116c6e9c9",
        71,
        71,
    ),
    'hebrew_pointed': ('\u05d1\u05b0\u05bc\u05e8\u05b5\u05d0\u05e9\u05b4\u05c1\u05d9\u05ea \u05d1\u05b8\u05bc\u05e8\u05b8\u05d0 \u05d0\u05b1\u05dc\u05b9\u05d4\u05b4\u05d9\u05dd \u05d0\u05b5\u05ea \u05d4\u05b7\u05e9\u05b8\u05bc\u05c1\u05de\u05b7\u05d9\u05b4\u05dd \u05d5\u05b0\u05d0\u05b5\u05ea \u05d4\u05b8\u05d0\u05b8\u05e8\u05b6\u05e5\u05c3', 79, 50),
    'ideographs_extension_b': ('𠀀𠀋𠂢𠅘𠈓𠌫𠍱𠏹𠑊𠔉𠗖𠘨𠝏𠠇𠠺𠢹𠥼𠦝', 70, 70),
    'symbols': ('!@#$%^&*()_+{}|:"<>?~`-=[]\\;\',./!@#%^&$*(_)+}{":?><', 33, 33),
    'minified': ('!function(e,t){"object"==typeof exports?t(exports):(e=e||self).d3={}}(this,function(n){var r=[].slice;n<t?-1:n>=t?0:NaN})', 45, 46),
    'base64_key': ('q83vASNFZ4mrze8BI0Vniavl7wEjRWeJq83vASP+bz/k9Zx0pQ7tLw==', 40, 40),
    'box': ('┌─┬┐╔═╦╗╓─╥╖╒═╤╕│ ││║ ║║├─┼┤╠═╬╣╟─╫╢╞═╪╡└─┴┘╚═╩╝', 75, 74),
    'flags': ('\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7\U0001f1ef\U0001f1f5\U0001f1e7\U0001f1f7\U0001f1f0\U0001f1ea\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f', 51, 46),
    'private': ('\ue000\ue0a0\ue0b0\uf8ff\U000f0000\U0010fffd', 20, 18),
    'controls': ('\x00\x01\x02\x1b[31m\x7f\x08\x0b\x0c\x1b[0m', 13, 15),
    'basque': ('Funtzio honek konfigurazio-fitxategia irakurtzen du eta balio lehenetsia itzultzen du.', 32, 28),
    'random_letters': ('qzkxvjw plmqzt bvxkrq wjhgfd zxcvbq mnlkjp qwpoxz vkjhrt', 31, 31),
    'vietnamese_nfd': ('Ha\u0300m na\u0300y \u0111o\u0323c te\u0323\u0302p ca\u0302\u0301u hi\u0300nh va\u0300 tra\u0309 ve\u0302\u0300 gia\u0301 tri\u0323 ma\u0323\u0306c \u0111i\u0323nh ne\u0302\u0301u te\u0323\u0302p kho\u0302ng to\u0302\u0300n ta\u0323i.', 74, 57),
}  # fmt: skip


@pytest.mark.parametrize("name", AWKWARD)
def test_estimate_of_unusual_text_is_an_upper_bound(name: str) -> None:
    text, cl100k, o200k = AWKWARD[name]
    assert choose_counter("estimate", "cl100k_base")[0].count(text) >= cl100k
    assert choose_counter("estimate", "o200k_base")[0].count(text) >= o200k
    assert counter("estimate").count(text) >= max(cl100k, o200k)


@pytest.mark.parametrize("text", ["\ud800", "a\udfff" * 9, "\x00", "\U0010ffff", " " * 200_000, "\n" * 70_000])
def test_estimate_accepts_any_text(text: str) -> None:
    assert 1 <= counter("estimate").count(text) <= 4 * len(text)


# ---------------------------------------------------------------- tokenizer files


def tokenizer_file(folder: Path) -> Path:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing

    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "[CLS]": 1, "def": 2, "f": 3}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 1)])
    tokenizer.enable_truncation(max_length=4)
    path = folder / "tokenizer.json"
    tokenizer.save(str(path))
    return path


def test_tokenizer_file_counts_exactly(tmp_path: Path) -> None:
    found = counter_from_file(str(tokenizer_file(tmp_path)))
    assert not isinstance(found, Problem)
    assert found.exact
    assert found.name == f"{tmp_path.name}/tokenizer.json"
    assert [found.count(text) for text in ("", "def f", "def f(x): return x + 1 - 2")] == [0, 2, 11]


@pytest.mark.parametrize("content", [None, "{}", "not json"])
def test_unreadable_tokenizer_file_is_a_problem(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)
    found = counter_from_file(str(path))
    assert isinstance(found, Problem)
    assert str(path) in found.message


def test_user_tokenizer_has_priority_and_errors_are_problems(tmp_path: Path) -> None:
    path = str(tokenizer_file(tmp_path))
    assert choose_counter("auto", "o200k_base", path)[0].exact
    assert choose_counter("estimate", "", path)[0].name == "estimate"
    fallback, problems = choose_counter("auto", "", str(tmp_path / "none.json"))
    assert fallback.name == "estimate"
    assert "none.json" in problems[0].message


def test_status_names_the_counter_and_why_a_tokenizer_is_not_used(tmp_path: Path) -> None:
    path = str(tokenizer_file(tmp_path))
    assert counter_status(BudgetSettings()) == CounterStatus("estimate", exact=False, problem="")
    assert counter_status(BudgetSettings(model="gpt-4o", counter="estimate")).name == "estimate (o200k_base)"
    assert counter_status(BudgetSettings(tokenizer=path)) == CounterStatus(
        f"{tmp_path.name}/tokenizer.json", exact=True, problem=""
    )
    unreadable = counter_status(BudgetSettings(tokenizer=str(tmp_path / "none.json")))
    assert (unreadable.name, unreadable.exact) == ("estimate", False)
    assert "none.json" in unreadable.problem
    assert "unknown counter 'tokens'" in counter_status(BudgetSettings(counter="tokens")).problem


def test_modified_rank_file_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "o200k_base.tiktoken"
    path.write_text("IQ== 0\nIg== 1\n")
    found = counter_from_file(str(path))
    assert isinstance(found, Problem)
    assert "rank file of o200k_base or cl100k_base" in found.message


@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
@pytest.mark.parametrize("content", [None, b"", b"IQ== 0\n"])
def test_ranks_are_loaded_from_the_cache_only(
    variable: str, content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    opened: list[object] = []
    monkeypatch.setattr(socket, "socket", lambda *args, **kwargs: opened.append(args))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: opened.append(args))
    address = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
    cached = tmp_path / hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()
    if content is not None:
        cached.write_bytes(content)
    found, problems = choose_counter("o200k_base")
    assert (found.name, found.exact, len(problems)) == ("estimate (o200k_base)", False, 1)
    assert choose_counter("auto", "o200k_base") == (found, () if content is None else problems)
    assert opened == []
    assert sorted(tmp_path.iterdir()) == ([] if content is None else [cached])


def published_ranks() -> Path | None:
    """Return a folder with "o200k_base.tiktoken" and "cl100k_base.tiktoken", None if this machine has none."""
    folder = os.environ.get("PROMPTLS_RANKS")
    return Path(folder) if folder and importlib.util.find_spec("tiktoken") else None


@pytest.mark.skipif(published_ranks() is None, reason="needs tiktoken and the rank files in $PROMPTLS_RANKS")
@pytest.mark.parametrize("vocabulary", ["cl100k_base", "o200k_base"])
def test_published_ranks_count_exactly(vocabulary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = published_ranks()
    assert ranks is not None
    address = f"https://openaipublic.blob.core.windows.net/encodings/{vocabulary}.tiktoken"
    key = hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()
    (tmp_path / key).write_bytes((ranks / f"{vocabulary}.tiktoken").read_bytes())
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    found, problems = choose_counter("auto", vocabulary)
    assert (found.name, found.exact, problems) == (vocabulary, True, ())
    column = ("cl100k_base", "o200k_base").index(vocabulary)
    for text, *truth in SAMPLES.values():
        assert found.count(text) == truth[column]
    assert found.count("a" + " " * 1_000_000 + "b") >= 3
    assert found.count("\ud800") >= 1
    assert choose_counter(vocabulary) == (found, ())


_LONG = re.compile(r"\s{8001}")


def test_very_long_white_space_is_split() -> None:
    text = "def f():" + "\n \t" * 9_000 + "return" + " " * 12_345
    parts = _split_long_space(text)
    assert "".join(parts) == text
    assert not any(_LONG.search(part) for part in parts)
    assert _split_long_space(SAMPLES["python"][0]) == [SAMPLES["python"][0]]
