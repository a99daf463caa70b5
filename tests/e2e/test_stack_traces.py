"""promptls/buildPrompt with a pasted stack trace or log: the code that it names, the marked lines, a long log."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from conftest import write_tree
from lsp import Client, ResponseError

TREE = """
-- src/shop/cart.py --
class Cart:
    def total(self, items):
        return sum(parse(item) for item in items)


def parse(text):
    if not text:
        raise ValueError(f"cannot parse the price {text!r} of an item")
    return float(text)
-- web/src/order.js --
export class Order {
  submit(items) {
    const first = items[0];
    return first.price.value;
  }
}
-- cmd/server.go --
package main

func handle(n int) int {
	values := []int{1, 2, 3}
	return values[n]
}
-- java/com/acme/Store.java --
package com.acme;

class Store {
    String read(String name) {
        throw new IllegalStateException("closed: " + name);
    }
}
-- java/com/other/Store.java --
package com.other;

class Store {
    String read(String name) {
        return name;
    }
}
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    root = write_tree(tmp_path_factory.mktemp("traces") / "work", TREE)
    filler = [f"def step_{n}(value):\n    first = value + {n}\n    return first * 2\n" for n in range(60)]
    filler[30] = "def fail(value):\n" + "".join(f"    value += {n}\n" for n in range(300)) + "    return value\n"
    (root / "src/steps.py").write_text("\n\n".join(filler), encoding="utf-8")
    client = Client(root.parent / "cache")
    client.initialize(root)
    client.wait_indexed()
    yield client
    client.kill()


@pytest.mark.parametrize(
    ("trace", "path", "frame", "line"),
    [
        (
            'Traceback (most recent call last):\n  File "/app/src/shop/cart.py", line 3, in total\n'
            '  File "/app/src/shop/cart.py", line 8, in parse\nValueError: cannot parse',
            "src/shop/cart.py",
            "3, 8",
            "        raise ValueError(",
        ),
        (
            "TypeError: first.price is undefined\n    at Order.submit (webpack://web/./src/order.js?1a:4:5)",
            "web/src/order.js",
            "4",
            "    return first.price.value;",
        ),
        (
            "panic: index out of range\n\ngoroutine 1 [running]:\nmain.handle(0x5)\n\t/build/cmd/server.go:5 +0x1d",
            "cmd/server.go",
            "5",
            "\treturn values[n]",
        ),
        (
            'Exception in thread "main" java.lang.IllegalStateException: x\n\tat com.acme.Store.read(Store.java:5)',
            "java/com/acme/Store.java",
            "5",
            "        throw new IllegalStateException(",
        ),
    ],
    ids=["python", "javascript", "go", "java"],
)
def test_definition_of_the_innermost_frame_is_marked(
    client: Client, trace: str, path: str, frame: str, line: str
) -> None:
    result = client.build(f"Why does this fail?\n\n{trace}")
    item = next(i for i in result["items"] if i["origin"] == "task")
    assert item["path"] == path
    element = re.search(rf'<context-\w+ path="{re.escape(path)}"[^>]* at="{frame}">\n(.*?)\n</', result["prompt"], re.S)
    assert element
    assert line in element[1]


def test_raise_site_is_found_without_a_frame(client: Client) -> None:
    result = client.build("ValueError: cannot parse the price '' of an item")
    assert 'at="8"' in result["prompt"]
    assert result["items"][0]["origin"] == "task"


def test_long_definition_is_shown_around_the_marked_line(client: Client) -> None:
    source = 'File "src/steps.py", line 300, in fail'
    result = client.build(f"Why?\n{source}", budget={"tokens": 700, "counter": "chars4"})
    item = result["items"][0]
    assert (item["symbol"], item["form"]) == ("fail", "partial")
    shown = result["prompt"]
    assert 'at="300"' in shown
    assert "    value += 1" in shown
    assert "elided" in shown or "…" in shown


def test_no_line_is_shown_twice(client: Client) -> None:
    trace = "".join(f'  File "src/steps.py", line {5 * n + 2}, in step_{n}\n' for n in range(0, 20, 3))
    result = client.build(f"What do step_3 and step_9 of src/steps.py return?\n{trace}")
    shown = re.findall(r"^def (step_\d+)", result["prompt"], re.M)
    assert len(shown) == len(set(shown))


def test_trace_without_retrieval_adds_no_code(client: Client) -> None:
    result = client.build('File "src/shop/cart.py", line 8, in parse', sections={"retrieval": False})
    assert not result["items"]


def test_long_log_is_shortened_and_a_long_question_is_refused(client: Client) -> None:
    records = [f"2024-05-01 10:00:{n % 60:02} INFO request {n} served" for n in range(3000)]
    records[1500:1502] = [
        '  File "src/shop/cart.py", line 8, in parse',
        "ValueError: cannot parse the price '' of an item",
    ]
    message = "\n".join(["Why does it fail? See @src/steps.py:1.", "", *records, "", "What about @web/src/order.js?"])
    result = client.build(message, budget={"tokens": 2000, "counter": "chars4"})
    assert result["tokens"]["used"] <= 2000
    assert any(w.startswith("The log was shortened from 3,000 to ") for w in result["warnings"])
    assert re.search(r"^… [\d,]+ lines left out$", result["prompt"], re.M)
    assert "cannot parse the price" in result["prompt"]
    assert 'at="8"' in result["prompt"]
    for mention in result["mentions"]:
        assert message[mention["range"]["start"] : mention["range"]["end"]] == mention["text"]
        assert mention["status"] == "included"
    with pytest.raises(ResponseError, match="more than the budget"):
        client.build("Please explain every step of it. " * 1000, budget={"tokens": 2000, "counter": "chars4"})
