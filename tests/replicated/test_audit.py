"""Each way to break a promise of a replicated state, or of sessions on it, makes the audit say FAIL."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gcom
import gcom.audit
import gcom.replicated
import gcom.sessions
from gcom.bank.accounts import Bank
from gcom.replicated.durable import agreement
from gcom.replicated.durable.agreement import DurableReplica, TellSynced
from gcom.replicated.machine import command
from gcom.sessions.access import LocalReplica
from tests.replicated.durable_worker import Ledger
from tests.runtime.nodes import until
from tests.sessions.stores import held_back


def failed(folder: Path) -> set[str]:
    """The rules that the audit finds broken."""
    (state,) = gcom.audit.audit(folder / "logs").applications
    return {rule.rule for rule in state.rules if rule.verdict == "FAIL"}


def ledger(folder: Path) -> None:
    """Three durable replicas, and some commands."""
    with gcom.embedded() as registry, ExitStack() as stack, ThreadPoolExecutor(3) as pool:
        nodes = [stack.enter_context(gcom.connect(it, registry.address, log_dir=folder / "logs")) for it in "abc"]

        def opened(node: gcom.Node) -> Ledger:
            data = folder / node.name
            return gcom.replicated.open(node, "ledger", Ledger, data=data, replicas=("a", "b", "c"), timeout_s=30)

        ledgers = [stack.enter_context(it) for it in pool.map(opened, nodes)]
        for number in range(6):
            ledgers[number % 3].add(str(number))


def _answers_at_delivery(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(agreement, "committed", lambda *_: 1 << 40)


def _does_not_await_the_disk(patch: pytest.MonkeyPatch) -> None:
    append = DurableReplica._append

    def early(self: DurableReplica, entry: Any, message: Any) -> None:
        self._out.append(TellSynced(entry.term, entry.index))
        append(self, entry, message)

    patch.setattr(DurableReplica, "_append", early)


@pytest.mark.parametrize("mutant", [None, _answers_at_delivery, _does_not_await_the_disk])
def test_durable(mutant: Callable[[pytest.MonkeyPatch], None] | None, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if mutant is not None:
            mutant(patch)
        ledger(tmp_path)
    assert failed(tmp_path) == ({"DURABLE"} if mutant else set())


class Dice(gcom.replicated.Machine):
    def __init__(self) -> None:
        self.thrown = 0

    @command
    def throw(self) -> None:
        self.thrown += random.randint(1, 6)


def test_a_machine_that_throws_dice(tmp_path: Path, expect_log: Callable[[str], None]) -> None:
    expect_log("differed from the other replicas' at index")
    with gcom.embedded() as registry, ExitStack() as stack:
        nodes = [stack.enter_context(gcom.connect(it, registry.address, log_dir=tmp_path / "logs")) for it in "ab"]
        first, second = [stack.enter_context(gcom.replicated.open(node, "dice", Dice)) for node in nodes]
        changes: list[object] = []
        second.replicas.watch(changes.append)
        thrown = [first.submit.throw() for _ in range(1000)]
        for it in thrown:
            it.result(30)
        # The younger one is found to differ, and is given the state of the other.
        until(lambda: any(isinstance(it, gcom.replicated.StateReplaced) for it in changes), "another state")
    assert failed(tmp_path) == {"DETERMINISM"}


class Leaky(Bank):
    """A bank that loses a coin with each deposit."""

    @command
    def deposit(self, account: int, money: int) -> int:
        self.balances[account] = self.balances.get(account, 0) + money - 1
        self.put_in += money
        return self.balances[account]


def _awaits_nothing(patch: pytest.MonkeyPatch) -> None:
    read = LocalReplica.read

    def stale(self: LocalReplica, token: Any, *of: Any) -> Any:
        return read(self, replace(token, write_index=0, read_index=0), *of)

    patch.setattr(LocalReplica, "read", stale)


@pytest.mark.parametrize(
    ("machine", "mutant", "rules"),
    [(Bank, None, set()), (Leaky, None, {"BANK"}), (Bank, _awaits_nothing, {"RYW", "MR"})],
)
def test_sessions(
    machine: type[Bank], mutant: Callable[[pytest.MonkeyPatch], None] | None, rules: set[str], tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch, gcom.embedded() as registry, ExitStack() as stack:
        if mutant is not None:
            mutant(patch)
        nodes = [stack.enter_context(gcom.connect(it, registry.address, log_dir=tmp_path / "logs")) for it in "ab"]
        here, there = [stack.enter_context(gcom.sessions.open(node, "bank", machine, timeout_s=30)) for node in nodes]
        with here.session() as session:
            session.state.deposit(1, 5)
            session.state.balance(1)
            moved = stack.enter_context(there.session(token=session.token))
            moved.state.balance(1)
            with held_back(there) if mutant else ExitStack():
                session.state.deposit(1, 5)
                session.state.deposit(1, 5)
                session.state.deposit(1, 5)
                session.state.balance(1)
                there.session(token=session.token).state.balance(1)
    assert failed(tmp_path) == rules
