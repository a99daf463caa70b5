"""Requests go before events of the loop, for a moment, and never before what somebody waits for."""

from __future__ import annotations

import threading

import pytest

from promptls.index.scan import priority
from promptls.index.scan.priority import Precedence

LONG_S = 30.0


def giving(of: Precedence, needed: threading.Event) -> threading.Thread:
    """A loop that gives precedence now; it ends when it goes on."""
    loop = threading.Thread(target=of.give, args=(needed.is_set,), daemon=True)
    loop.start()
    return loop


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> Precedence:
    monkeypatch.setattr(priority, "MOST_S", LONG_S)
    return Precedence()


def test_the_loop_goes_on_when_the_request_has_computed(patient: Precedence) -> None:
    with patient.taken():
        loop = giving(patient, threading.Event())
        loop.join(0.05)
        assert loop.is_alive()
    loop.join(LONG_S)
    assert not loop.is_alive()


def test_nobody_computes_and_the_loop_does_not_wait(patient: Precedence) -> None:
    with patient.taken():
        pass
    patient.give(lambda: False)


def test_what_somebody_waits_for_goes_first(patient: Precedence) -> None:
    needed = threading.Event()
    with patient.taken():
        loop = giving(patient, needed)
        loop.join(0.05)
        assert loop.is_alive()
        needed.set()
        loop.join(LONG_S)
        assert not loop.is_alive()


def test_a_request_that_takes_long_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priority, "MOST_S", 0.02)
    of = Precedence()
    with of.taken():
        loop = giving(of, threading.Event())
        loop.join(LONG_S)
        assert not loop.is_alive()


def test_requests_that_come_one_after_the_other_do_not_stop_the_loop(patient: Precedence) -> None:
    with patient.taken():
        loop = giving(patient, threading.Event())
        loop.join(0.05)
        later = patient.taken()
        later.__enter__()
    loop.join(LONG_S)
    assert not loop.is_alive()
    later.__exit__(None, None, None)


def test_a_request_that_fails_computes_no_longer(patient: Precedence) -> None:
    with pytest.raises(KeyError), patient.taken():
        raise KeyError("gone")
    patient.give(lambda: False)
