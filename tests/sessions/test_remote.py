"""Sessions of clients that are no members, with replicas that are real processes, killed and paused."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

import gcom
import gcom.sessions
from gcom.bank.accounts import Bank, Overdrawn
from gcom.errors import GComTimeout, NotPermitted, Untrusted
from gcom.replicated import OutcomeUnknown
from gcom.sessions import BadToken, RemoteSessionStore, SessionForked, SessionTimeout, SessionToken, SessionUnknown
from tests.running import Child, environment
from tests.runtime.authorities import TestAuthority
from tests.runtime.nodes import until
from tests.runtime.test_rights import World
from tests.sessions.stores import Branches, held_back


@contextmanager
def branch_processes(*names: str) -> Iterator[tuple[str, dict[str, Child]]]:
    """A registry here, and a process for each branch; yield the registry's address and the processes."""
    with ExitStack() as stack:
        registry = stack.enter_context(gcom.embedded())
        words = [sys.executable, "-m", "tests.sessions.branch", registry.address]
        children = {name: stack.enter_context(Child([*words, name], environment())) for name in names}
        for child in children.values():
            child.until(lambda child=child: "ready" in child.out, "branch")  # type: ignore[misc]
        yield registry.address, children


def opened(registry: str, timeout_s: float = 10.0, patience_s: float = 1.0) -> RemoteSessionStore[Bank]:
    return gcom.sessions.open(f"gcom://{registry}", "bank", Bank, timeout_s=timeout_s, patience_s=patience_s)


class Saver(Thread):
    """A customer that deposits one after another, and looks at its account each time, in one session."""

    def __init__(self, store: RemoteSessionStore[Bank], account: int) -> None:
        super().__init__(daemon=True)
        self._store = store
        self._account = account
        self.enough = Event()
        self.deposits = 0
        self.wrong: list[str] = []

    def run(self) -> None:
        with self._store.session() as s:
            while not self.enough.is_set():
                try:
                    found = s.state.deposit(self._account, 1)
                except OutcomeUnknown:
                    found = s.retry()
                self.deposits += 1
                seen = s.state.balance(self._account)
                if not found == seen == self.deposits:
                    self.wrong.append(f"account {self._account}: {found}, {seen}, and {self.deposits} were deposited")


def test_clients_outlive_their_replica_and_see_nothing_stale_or_doubled() -> None:
    with branch_processes("a", "b", "c") as (registry, branches), opened(registry, timeout_s=60.0) as store:
        savers = [Saver(store, account) for account in range(1, 5)]
        for saver in savers:
            saver.start()

        def go_on() -> None:
            before = [saver.deposits for saver in savers]
            until(lambda: all(it.deposits > 10 + was for it, was in zip(savers, before, strict=True)), "deposits")

        go_on()
        paused = store.replica
        branches[paused].signal(signal.SIGSTOP)
        go_on()
        assert store.replica != paused
        branches[paused].signal(signal.SIGCONT)
        go_on()
        killed = store.replica
        branches[killed].signal(signal.SIGKILL)
        go_on()
        assert store.replica != killed
        for saver in savers:
            saver.enough.set()
        for saver in savers:
            saver.join(60.0)
        assert [it for saver in savers for it in saver.wrong] == []
        with store.session() as s:
            assert s.state.total() == s.state.expected() == sum(saver.deposits for saver in savers)


def test_a_remote_session_has_the_guarantees_of_a_local_one() -> None:
    with ExitStack() as stack:
        branches = Branches(stack)
        a, b = branches.open("a"), branches.open("b")
        store = stack.enter_context(opened(branches.registry.address))
        with store.session() as s:
            assert s.state.deposit(1, 400) == s.state.balance(1) == 400
            token = s.token
            assert b.session(token=token).state.balance(1) == 400
            with pytest.raises(Overdrawn, match="5 are missing"):
                s.state.withdraw(1, 405)
            assert store.session(token=s.token).state.withdraw(1, 400) == 0
            with pytest.raises(SessionForked):
                store.session(token=token).state.deposit(1, 5)
            token = s.token
        with pytest.raises(SessionUnknown):
            store.session(token=token).state.balance(1)
        # A read by the owner's token of a write that one replica lacks is answered by the other.
        with a.session() as s:
            until(lambda: b.sessions == a.sessions == 1)
            with held_back(b):
                for _ in range(3):
                    s.state.deposit(2, 1)
                assert store.session(token=s.token).state.balance(2) == 3
                b.close()


def _answered(ask: Callable[[float], object]) -> None:
    """Ask with more and more time, until the replica's own word comes in time, also where others use the machine."""
    timeout_s = 0.5
    while True:
        try:
            ask(timeout_s)
        except SessionTimeout:
            raise
        except GComTimeout:
            timeout_s *= 2


@pytest.mark.parametrize("patience_s", [0.2, 1.0])
def test_when_no_replica_has_the_write_the_error_names_it(patience_s: float) -> None:
    with ExitStack() as stack:
        branches = Branches(stack)
        a = branches.open("a")
        store = stack.enter_context(opened(branches.registry.address, patience_s=patience_s))
        with a.session() as s:
            token = SessionToken.decode(s.token)
            ahead = SessionToken(token.store, token.session, token.secret, token.guarantees, 3, 10**6, 0, "z")
            with pytest.raises(SessionTimeout, match=r"its own write 3, index 1000000, .* at replica 'z'"):
                _answered(lambda timeout_s: store.session(token=ahead.encode(), timeout_s=timeout_s).state.balance(1))
            other = SessionToken("another", token.session, token.secret, token.guarantees)
            with pytest.raises(BadToken, match="another store"):
                store.session(token=other.encode()).state.balance(1)


def test_certificates_and_rights_hold_for_remote_clients(tmp_path: Path, expect_log: Callable[[str], None]) -> None:
    with ExitStack() as stack:
        world = World(tmp_path, stack)
        node = world.node("alice")
        stack.enter_context(gcom.sessions.open(node, "bank", Bank))
        url = f"gcom://{world.registry.address}"
        bob = gcom.sessions.open(url, "bank", Bank, certificates=world.authority.member("bob"))
        with bob, bob.session() as s:
            assert s.state.deposit(1, 5) == s.state.balance(1) == 5
            world.rule({"deny": ["send"], "members": ["bob"], "groups": ["bank"]})
            with pytest.raises(NotPermitted, match="member/bob may not send in group 'bank'"):
                until(lambda: s.state.deposit(1, 0) < 0, "refusal")
            assert s.state.balance(1) == 5
        strangers = TestAuthority(tmp_path / "theirs").member("mallory")
        expect_log("refused from the network since the last report")
        with pytest.raises(Untrusted):
            gcom.sessions.open(url, "bank", Bank, certificates=strangers)


def test_bad_calls_of_remote_clients() -> None:
    class Shop(gcom.replicated.Machine):
        @gcom.replicated.command
        def deposit(self, account: int, money: int) -> None: ...

    with ExitStack() as stack:
        branches = Branches(stack)
        with pytest.raises(gcom.UnknownGroup):
            opened(branches.registry.address)
        branches.open("a")
        with pytest.raises(gcom.BadValue, match="with a node, or with gcom://HOST:PORT"):
            gcom.sessions.open("127.0.0.1:1", "bank", Bank)
        with pytest.raises(gcom.BadValue, match="patience_s"):
            opened(branches.registry.address, patience_s=0.0)
        shop = stack.enter_context(gcom.sessions.open(f"gcom://{branches.registry.address}", "bank", Shop))
        with pytest.raises(gcom.BadValue, match="'bank' has a Bank, and not a"):
            shop.session()
        store = stack.enter_context(opened(branches.registry.address))
        with store.session() as s:
            with pytest.raises(gcom.BadValue, match="bytes; a remote one has"):
                s.state.deposit("x" * 600_000, 1)  # type: ignore[arg-type]
            with pytest.raises(gcom.GComTimeout, match="no replica of 'bank' answered after 0 s"):
                store.session(token=s.token, timeout_s=0.0).state.deposit(1, 1)
            assert s.state.deposit(1, 1) == 1
        store.close()
        with pytest.raises(gcom.LocalError, match="closed"):
            store.session()
