"""Sessions of a program that is interrupted: each write is applied once, and its outcome can be had."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import gcom.sessions
from gcom.bank.accounts import Bank
from gcom.errors import GComTimeout, LocalError
from gcom.replicated import OutcomeUnknown
from gcom.sessions import GUARANTEES, ClientSession, RemoteSessionStore, SessionStore
from gcom.sessions.access import SessionAnswer
from tests.interrupts import interrupt_each_step
from tests.sessions.stores import Branches

# 1. A client makes a socket. 2. It is interrupted before anything has that. 3. The collector closes it.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
AnyStore = SessionStore[Bank] | RemoteSessionStore[Bank]


@pytest.fixture
def branches() -> Iterator[Branches]:
    with ExitStack() as stack:
        yield Branches(stack)


@pytest.fixture(params=["replica", "remote"])
def store(branches: Branches, request: pytest.FixtureRequest) -> Iterator[AnyStore]:
    replica = branches.open("a")
    if request.param == "replica":
        yield replica
        return
    with gcom.sessions.open(f"gcom://{branches.registry.address}", "bank", Bank, timeout_s=30.0) as remote:
        yield remote


def settled(session: ClientSession[Bank]) -> int | None:
    """Return what an interrupted write returned; None: it was not begun."""
    try:
        balance: int = session.retry()
    except LocalError:
        return None
    return balance


def test_retry_settles_an_interrupted_write(store: AnyStore) -> None:
    """1. A write is applied. 2. Its call is interrupted as it returns. 3. `retry` has what it returned."""
    balance = 0

    def check(interrupted: bool) -> None:
        nonlocal balance
        if not interrupted or settled(session) is not None:
            balance += 1
        assert session.state.balance(1) == balance

    with store.session() as session:
        assert interrupt_each_step(lambda: session.state.deposit(1, 1), check, stride=3) > 50
        assert session.state.deposit(1, 0) == balance


def test_an_interrupted_call_leaves_no_session_open(branches: Branches, store: AnyStore) -> None:
    opened = [store.session()]
    before = opened[0].token

    def begin() -> None:
        opened.extend(map(store.session, [GUARANTEES]))  # in C: no step is between the call and the list

    interrupt_each_step(begin, lambda _: None, stride=5)
    tokens = {session.token for session in opened}
    assert len(tokens) == len(opened)
    assert before in tokens
    opened.append(store.session())  # has what the last interrupted call began
    with branches.open("b") as other:
        assert other.sessions == len(opened)
    for session in opened:
        session.close()
        session.close()


def test_a_failed_retry_leaves_the_outcome_unknown(branches: Branches) -> None:
    """1. A write is carried out, and its answer lost. 2. No replica answers `retry`. 3. A later one has the answer."""
    with branches.open("a").session() as session:
        real, errors = session._replica.write, [OutcomeUnknown("a test's"), GComTimeout("a test's")]

        def write(*given: Any) -> SessionAnswer:
            if len(errors) == 2:
                real(*given)
            raise errors.pop(0)

        session._replica.write = write  # type: ignore[assignment, method-assign]
        with pytest.raises(OutcomeUnknown):
            session.state.deposit(1, 1)
        with pytest.raises(GComTimeout):
            session.retry()
        session._replica.write = real  # type: ignore[method-assign]
        assert session.retry() == 1
        assert session.state.deposit(1, 1) == 2
