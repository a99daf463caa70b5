"""Counting tokens, and the budget of a model."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.model import Problem
from promptls.prompt.tokens import UnknownName, budget_for, counter, counter_from_file, models

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
def test_the_estimate_is_near_the_true_count_and_seldom_below_it(name: str) -> None:
    text, cl100k, o200k = SAMPLES[name]
    count = counter("estimate").count(text)
    assert min(cl100k, o200k) * 0.88 <= count
    assert count <= max(cl100k, o200k) * 1.25


def test_the_mean_error_over_samples_of_code_is_below_eight_percent() -> None:
    errors = []
    for name in ("python", "go", "typescript", "prose", "json"):
        text, cl100k, o200k = SAMPLES[name]
        count = counter("estimate").count(text)
        errors += [abs(count / cl100k - 1), abs(count / o200k - 1)]
    assert sum(errors) / len(errors) <= 0.08


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("é" * 9, 3), ("\n" * 8, 2)]
)
def test_chars4_is_a_quarter_of_the_code_points_rounded_up(text: str, tokens: int) -> None:
    assert counter("chars4").count(text) == tokens


def test_counters_say_what_they_are() -> None:
    named = [(counter(name).name, counter(name).exact) for name in ("auto", "estimate", "chars4")]
    assert named == [("estimate", False), ("estimate", False), ("chars4", False)]
    assert counter() == counter("auto")


def test_an_unknown_counter_is_named_with_the_valid_ones() -> None:
    with pytest.raises(UnknownName) as caught:
        counter("o200k")
    assert str(caught.value) == 'unknown counter "o200k"; valid: auto, chars4, estimate'
    assert (caught.value.field, caught.value.value) == ("counter", "o200k")
    assert caught.value.valid == ("auto", "chars4", "estimate")


CODE = st.lists(
    st.one_of(
        st.sampled_from(
            ["def ", "self.", "HTTPServer", "_x", "=", "==", "\n", "\n    ", "\t", " ", "//", "12", "é", "中", "("]
        ),
        st.text(max_size=6),
    ),
    max_size=12,
).map("".join)


@pytest.mark.parametrize("name", ["estimate", "chars4"])
@given(a=CODE, b=CODE)
def test_joining_two_texts_adds_at_most_one_token(name: str, a: str, b: str) -> None:
    count = counter(name).count
    assert count(a + b) <= count(a) + count(b) + 1


@given(CODE)
def test_every_text_costs_something(text: str) -> None:
    assert counter("estimate").count(text) >= bool(text)


def test_the_estimate_remembers_a_bounded_number_of_words() -> None:
    from promptls.prompt.tokens import _COSTS

    words = (f"{chr(97 + i % 26)}{i:x}q".translate(str.maketrans("0123456789", "ghijklmnop")) for i in range(90_000))
    counter("estimate").count(" ".join(words) + "x" * 100_000)
    assert len(_COSTS) <= 1 << 16
    assert max(map(len, _COSTS)) <= 48


# ---------------------------------------------------------------- a tokenizer of the user's


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


def test_a_tokenizer_file_counts_exactly(tmp_path: Path) -> None:
    found = counter_from_file(str(tokenizer_file(tmp_path)))
    assert not isinstance(found, Problem)
    assert found.exact
    assert found.name == f"{tmp_path.name}/tokenizer.json"
    assert [found.count(text) for text in ("", "def f", "def f(x): return x + 1 - 2")] == [0, 2, 11]


@pytest.mark.parametrize("content", [None, "{}", "not json"])
def test_a_tokenizer_file_that_cannot_be_read_is_a_problem(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)
    found = counter_from_file(str(path))
    assert isinstance(found, Problem)
    assert str(path) in found.message


def test_other_tokenizer_files_are_refused() -> None:
    found = counter_from_file("/x/cl100k_base.tiktoken")
    assert isinstance(found, Problem)
    assert "no tokenizer.json" in found.message


# ---------------------------------------------------------------- models


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("qwen2.5-coder", 4000),
        ("qwen2.5-coder:3b", 3000),
        ("qwen2.5-coder:7b", 4000),
        ("llama3.2", 3000),
        ("codellama", 4000),
        ("llama-3.3-70b", 20000),
        ("llama-4-scout", 20000),
        ("gpt-4", 6000),
        ("gpt-4-0613", 6000),
        ("gpt-4-turbo", 20000),
        ("gpt-4o", 20000),
        ("gpt-3.5-turbo", 4000),
        ("claude-3-opus", 50000),
        ("claude-3-sonnet", 50000),
        ("claude-3-haiku", 20000),
        ("GPT-4o", 20000),
        ("gpt-4o-mini", 16000),
        ("gpt-4.1-2025-04-14", 50000),
        ("openai/gpt-5-mini", 40000),
        ("claude-3-5-sonnet-20241022", 50000),
        ("anthropic/claude-sonnet-4.5", 60000),
        ("us.anthropic.claude-opus-4-20250514-v1:0", 60000),
        ("openrouter/meta-llama/Llama-3.3-70B-Instruct", 20000),
        ("gemini-2.5-pro", 60000),
        ("o3-mini-high", 30000),
        ("deepseek-r1:14b", 20000),
    ],
)
def test_a_model_gets_the_budget_of_its_longest_match(model: str, tokens: int) -> None:
    assert budget_for(model) == (tokens, None)


@pytest.mark.parametrize("model", ["", "banana-7b", "my-gpt-4", "vendor/unheard-of"])
def test_an_unknown_model_gets_the_default_and_a_warning(model: str) -> None:
    tokens, warning = budget_for(model)
    assert tokens == 8000
    assert warning == f'the model "{model}" is not in the model table; its budget is taken as 8000 tokens'


def test_the_model_table_is_lower_case_and_positive() -> None:
    default, table = models()
    assert default > 0
    assert all(name == name.lower() and 1000 <= tokens <= 100_000 for name, tokens in table.items())
