"""Requests defer the events of the indexer for a limited time, except urgent ones."""

from __future__ import annotations

import threading

import pytest

from promptls.index import index_client
from promptls.index.index_client import RequestPriority

LONG_S = 30.0


def start_indexer_thread(requests: RequestPriority, urgent: threading.Event) -> threading.Thread:
    """Start a thread that yields to requests, and ends afterwards."""
    thread = threading.Thread(target=requests.yield_to_requests, args=(urgent.is_set,), daemon=True)
    thread.start()
    return thread


@pytest.fixture
def long_delay(monkeypatch: pytest.MonkeyPatch) -> RequestPriority:
    monkeypatch.setattr(index_client, "MAX_DELAY_S", LONG_S)
    return RequestPriority()


def test_indexer_continues_when_the_request_ends(long_delay: RequestPriority) -> None:
    with long_delay.request_running():
        thread = start_indexer_thread(long_delay, threading.Event())
        thread.join(0.05)
        assert thread.is_alive()
    thread.join(LONG_S)
    assert not thread.is_alive()


def test_indexer_does_not_wait_without_a_request(long_delay: RequestPriority) -> None:
    with long_delay.request_running():
        pass
    long_delay.yield_to_requests(lambda: False)


def test_urgent_work_is_not_deferred(long_delay: RequestPriority) -> None:
    urgent = threading.Event()
    with long_delay.request_running():
        thread = start_indexer_thread(long_delay, urgent)
        thread.join(0.05)
        assert thread.is_alive()
        urgent.set()
        thread.join(LONG_S)
        assert not thread.is_alive()


def test_wait_for_a_long_request_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_client, "MAX_DELAY_S", 0.02)
    requests = RequestPriority()
    with requests.request_running():
        thread = start_indexer_thread(requests, threading.Event())
        thread.join(LONG_S)
        assert not thread.is_alive()


def test_later_requests_do_not_prolong_the_wait(long_delay: RequestPriority) -> None:
    with long_delay.request_running():
        thread = start_indexer_thread(long_delay, threading.Event())
        thread.join(0.05)
        later = long_delay.request_running()
        later.__enter__()
    thread.join(LONG_S)
    assert not thread.is_alive()
    later.__exit__(None, None, None)


def test_failed_request_no_longer_defers_the_indexer(long_delay: RequestPriority) -> None:
    with pytest.raises(KeyError), long_delay.request_running():
        raise KeyError("gone")
    long_delay.yield_to_requests(lambda: False)
