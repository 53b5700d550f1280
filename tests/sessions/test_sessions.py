"""Sessions over real replicas: each guarantee, what it waits for, and tokens on their way."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from gcom.bank.accounts import BadMoney, Overdrawn
from gcom.errors import BadValue, LocalError
from gcom.sessions import BadToken, SessionForked, SessionTimeout, SessionToken, SessionUnknown
from gcom.sessions.errors import WriteMissing
from tests.runtime.nodes import until
from tests.sessions.stores import Branches, held_back


@pytest.fixture
def branches() -> Iterator[Branches]:
    with ExitStack() as stack:
        yield Branches(stack)


def test_a_session_reads_its_own_writes_at_any_replica(branches: Branches) -> None:
    a, b = branches.open("a"), branches.open("b")
    with a.session() as s:
        assert s.state.deposit(1, 400) == 400
        moved = b.session(token=s.token)
        assert moved.state.balance(1) == 400
        assert moved.state.withdraw(1, 370) == 30
        assert moved.guarantees == {"RYW", "MR", "MW", "WFR"}


def test_a_read_waits_for_the_own_write_and_says_for_which(branches: Branches) -> None:
    a, b = branches.open("a"), branches.open("b")
    with ThreadPoolExecutor() as pool, a.session(guarantees={"RYW"}) as s, a.session(guarantees=()) as free:
        until(lambda: b.sessions == 2)
        with held_back(b):
            for account in (1, 2, 3):
                s.state.deposit(account, 100)
                free.state.deposit(account + 10, 100)
            late = b.session(token=s.token, timeout_s=0.2)
            with pytest.raises(
                SessionTimeout, match=r"its own write 3, index \d+, which replica 'b' has not .* at replica 'a'"
            ):
                late.state.balance(3)
            # Without the guarantee the same read is answered at once, and is stale: the anomaly that it forbids.
            assert b.session(token=free.token).state.balance(13) == 0
            waiting = pool.submit(b.session(token=s.token, timeout_s=30).state.balance, 3)
            assert not waiting.done()
        assert waiting.result(30) == 100


def test_reads_never_go_back(branches: Branches) -> None:
    a, b = branches.open("a"), branches.open("b")
    with a.session(guarantees={"MR"}) as reader, a.session(guarantees=()) as free, a.session() as writer:
        until(lambda: b.sessions == 3)
        with held_back(b):
            for _ in range(3):
                writer.state.deposit(1, 10)
            assert reader.state.balance(1) == free.state.balance(1) == 30
            with pytest.raises(SessionTimeout, match="which it has read already"):
                b.session(token=reader.token, timeout_s=0.2).state.balance(1)
            assert b.session(token=free.token).state.balance(1) < 30


def test_writes_keep_their_order_and_a_gap_is_told(branches: Branches) -> None:
    a, b = branches.open("a"), branches.open("b")
    with a.session(guarantees={"MW"}) as s:
        s.state.deposit(1, 5)
        token = SessionToken.decode(s.token)
        ahead = SessionToken(token.store, token.session, token.secret, token.guarantees, 7, 10**6, 0, "z")
        with pytest.raises(
            SessionTimeout, match=r"write 8 of session \d+ waits for write 7, .* seen last at replica 'z'"
        ):
            b.session(token=ahead.encode(), timeout_s=0.2).state.deposit(1, 1)
        # A replica that did not look is refused by all.
        with pytest.raises(WriteMissing, match="write 2 of session"):
            b._table.write(token.session, token.secret, 8, True, "deposit", b"")


def test_a_copied_token_is_told_and_a_retry_is_applied_once(branches: Branches) -> None:
    a, b = branches.open("a"), branches.open("b")
    with a.session() as s:
        copy = s.token
        assert s.state.deposit(1, 100) == 100
        # The same write again, as after a lost answer: the first answer, and nothing twice.
        assert b.session(token=copy).state.deposit(1, 100) == 100
        with pytest.raises(SessionForked, match="somebody else goes on with a copy"):
            b.session(token=copy).state.deposit(1, 55)
        assert s.state.balance(1) == 100


def test_what_is_refused_is_refused_once_and_for_all(branches: Branches) -> None:
    a, b = branches.open("a"), branches.open("b")
    with a.session() as s:
        token = s.token
        with pytest.raises(Overdrawn, match="5 are missing"):
            s.state.withdraw(1, 5)
        with pytest.raises(Overdrawn, match="5 are missing"):
            b.session(token=token).state.withdraw(1, 5)
        with pytest.raises(BadMoney, match="money must be"):
            s.state.deposit(1, -1)
        assert s.state.deposit(1, 6) == 6


@pytest.mark.parametrize("text", ["", "x", "gs1.", "gs1.AAAA", "gs1.%%%", 5, "gs1." + "A" * 2000, None])
def test_what_is_no_token_is_refused(branches: Branches, text: str) -> None:
    a = branches.open("a")
    if text is None:
        with a.session() as s:
            text = s.token[:-3] + "AAA"
    with pytest.raises(BadToken):
        a.session(token=text)


def test_tokens_of_others(branches: Branches) -> None:
    a = branches.open("a")
    with a.session() as s, a.session() as other:
        mine, theirs = SessionToken.decode(s.token), SessionToken.decode(other.token)
        guessed = SessionToken(mine.store, theirs.session, mine.secret, mine.guarantees)
        with pytest.raises(SessionUnknown):
            a.session(token=guessed.encode()).state.deposit(1, 1)
        elsewhere = SessionToken("another", mine.session, mine.secret, mine.guarantees)
        with pytest.raises(BadToken, match="another store than 'bank'"):
            a.session(token=elsewhere.encode())
        token = s.token
    with pytest.raises(SessionUnknown, match="was closed"):
        a.session(token=token).state.deposit(1, 1)
    s.close()
    with pytest.raises(BadValue, match="closed"):
        s.state.balance(1)


def test_options_are_checked(branches: Branches) -> None:
    a = branches.open("a")
    with pytest.raises(BadValue, match="must be one of RYW, MR, MW, WFR; got 'XX'"):
        a.session(guarantees={"XX"})
    with pytest.raises(BadValue, match="timeout_s"):
        a.session(timeout_s=-1)
    with a.session() as s, pytest.raises(LocalError, match="unknown outcome"):
        s.retry()


def test_idle_sessions_are_retired(branches: Branches) -> None:
    a = branches.open("a")
    idle, busy = a.session(), a.session()
    busy.state.deposit(1, 1)
    assert a.sessions == 2
    assert a.retire(a.replicas.index) == 1
    assert busy.state.deposit(1, 1) == 2
    with pytest.raises(SessionUnknown):
        idle.state.deposit(1, 1)


def test_a_newcomer_knows_all_sessions(branches: Branches) -> None:
    a = branches.open("a")
    with a.session() as s:
        s.state.deposit(1, 7)
        b = branches.open("b")
        a.close()
        moved = b.session(token=s.token)
        assert moved.state.balance(1) == 7
        assert moved.state.deposit(1, 1) == 8
