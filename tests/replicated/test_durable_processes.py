"""All of three durable replicas are killed, at every point that matters, and a disk is lost: nothing answered is."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import permutations
from pathlib import Path

import pytest

import gcom
import gcom.audit
import gcom.replicated
from gcom.cli.app import run as run_command
from gcom.errors import BadValue
from tests.replicated.durable_worker import NAMES, POINTS, Ledger
from tests.replicated.machines import Stock
from tests.running import Child, environment
from tests.runtime.nodes import until


class Trio:
    """Three replicas, killed together again and again, and all that any of them was answered."""

    def __init__(self, folder: Path, registry: str) -> None:
        self.folder = folder
        self._registry = registry
        self.answered: dict[str, int] = {}

    def round(self, point: str, count: int, victim: str) -> None:
        """Start all three, of which the victim dies at a point; then kill the rest, and note what was answered."""
        with ExitStack() as stack:
            children = {name: stack.enter_context(self._start(name, point, count, name == victim)) for name in NAMES}
            # Where the others were fast, one that is late takes their log, and passes no such point: it is killed, too.
            if dead := children.get(victim):
                until(lambda: dead.process.poll() is not None or len(dead.rows("answered")) >= 20, "the end of one")
            others = [child for name, child in children.items() if name != victim]
            for child in others:  # the two that are left go on; and they had what was answered before
                child.until(lambda child=child: len(child.rows("answered")) >= 3, "answers")  # type: ignore[misc]
                self.check(child.rows("ready")[0]["tokens"])
            for child in children.values():
                if child.process.poll() is None:
                    child.signal(signal.SIGKILL)
            for name, child in children.items():
                child.end()
                assert not child.errors, "\n".join([f"{name} at {point!r}:", *child.errors])
                for row in child.rows("answered"):
                    self.answered[row["token"]] = row["place"]

    def check(self, tokens: list[str]) -> None:
        """Compare a later state with all that was answered: each is there once, where its answer said."""
        assert len(tokens) == len(set(tokens))
        lost = {token: place for token, place in self.answered.items() if tokens[place - 1 : place] != [token]}
        assert lost == {}

    def _start(self, name: str, point: str, count: int, dies: bool) -> Child:
        words = [sys.executable, "-m", "tests.replicated.durable_worker", name, self._registry, str(self.folder)]
        return Child([*words, point, str(count)] if dies else words, environment())


def run(folder: Path, rounds: int) -> None:
    with gcom.embedded() as registry:
        trio = Trio(folder, registry.address)
        for number in range(rounds):
            point = POINTS[number % len(POINTS)]
            many = 3 + number % 11 if point.startswith("append") else 1
            trio.round(point, many, NAMES[number % 3])
            if number % 5 == 2:
                shutil.rmtree(folder / NAMES[(number + 1) % 3])
                # All are there until that one has the log again: one disk lost, and another replica gone, is too much.
                trio.round("", 0, "")
        assert len(trio.answered) > 6 * rounds
    (state,) = gcom.audit.audit(folder / "logs").applications
    assert {rule.rule: rule.verdict for rule in state.rules}["DURABLE"] == "PASS", state.incidents


@pytest.mark.slow
def test_nothing_answered_is_lost_when_all_are_killed_and_a_disk_with_them(tmp_path: Path) -> None:
    run(tmp_path, len(POINTS))


@pytest.mark.soak
def test_nor_in_thirty_rounds(tmp_path: Path) -> None:
    run(tmp_path, 30)


def test_names_change_one_at_a_time_and_an_operator_can_give_replicas_up(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def opened(name: str, stack: ExitStack) -> Ledger:
        node = stack.enter_context(gcom.connect(name, registry.address))
        return stack.enter_context(
            gcom.replicated.open(node, "ledger", Ledger, timeout_s=30, data=tmp_path / name, replicas=("a", "b"))
        )

    with gcom.embedded() as registry:
        with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
            a, _ = pool.map(lambda name: opened(name, stack), "ab")
            assert a.add("one") == 1
            c = opened("c", stack)  # a member with a folder, which counts for nothing yet
            with pytest.raises(BadValue, match="one more or one fewer"):
                a.replicas.configure("c", "d")
            a.replicas.configure("a", "b", "c")
            assert c.fresh().all() == ["one"]
            assert c.replicas.configured == ("a", "b", "c")
            c.replicas.configure("a", "c")
            assert c.add("two") == 2
        assert run_command(["replicated", "status", str(tmp_path / "c"), "--json"]) == 0
        shown = json.loads(capfd.readouterr().out)
        assert (shown["replicas"], shown["name"], shown["state"]) == (["a", "c"], "c", "ledger")
        assert shown["index"] >= shown["confirmed"] > 0
        recover = ["replicated", "recover", str(tmp_path / "c"), "--give-up"]
        assert run_command([*recover, "b"]) == 2
        assert run_command([*recover, "a"]) == 1  # it says first what may be lost
        assert "what a synced beyond that is lost" in capfd.readouterr().err
        assert run_command([*recover, "a", "--yes"]) == 0
        with ExitStack() as stack:
            assert opened("c", stack).add("three") == 3


def test_a_replica_that_was_cut_off_goes_on_though_the_others_closed(
    tmp_path: Path, expect_log: Callable[[str], None]
) -> None:
    expect_log("on purpose")
    expect_log("all others left it")
    with ExitStack() as stack:
        registry = stack.enter_context(gcom.embedded()).address
        nodes = {it: stack.enter_context(gcom.connect(it, registry, timeout_s=30.0)) for it in NAMES}

        def opened(name: str) -> Stock:
            data, node = tmp_path / name, nodes[name]
            return gcom.replicated.open(node, "stock", Stock, data=data, replicas=NAMES, timeout_s=30.0)

        with ThreadPoolExecutor() as pool:
            a, b, c = pool.map(opened, NAMES)
        stack.callback(a.close)
        for node in nodes.values():
            node.inject(gcom.Faults(seed=1, cuts=frozenset(it for it in permutations(NAMES, 2) if NAMES[0] in it)))
        assert b.put("nails", 5) == 5
        until(lambda: a.replicas.group.snapshot().detached)
        b.close()
        c.close()
        for node in nodes.values():
            node.inject("")
        with opened(NAMES[1]) as again:
            assert again.of("nails") == 5
            assert a.put("nails", 1) == 6
