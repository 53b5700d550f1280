"""The sequencer killed under real processes: what serials say before and after, read from everybody's delivery log."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.oracle import judge
from tests.oracle.events import Deliver, Message, Skip
from tests.oracle.read import read
from tests.runtime.nodes import until
from tests.runtime.processes import Registry, Workers, flows

NAMES = ["alice", "bob", "carol", "dave"]
RULES = ("TOTAL", "TOTAL_GAP_FREE", "SERIAL_UNIQUE")


class Cast:
    """Four members in a TOTAL group, each sending from five threads, and the registry that orders for them."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.logs = folder / "logs"
        self._faults = folder / "faults"
        self.cut("")
        self.registry = stack.enter_context(Registry())
        workers = Workers(self.registry.address, stack)
        words = ("--ordering", "TOTAL", "--log-dir", str(self.logs), "--faults", f"@{self._faults}")
        self.workers = {name: workers.start(name, *words) for name in NAMES}
        for worker in self.workers.values():
            worker.told("view", members=NAMES)
            worker.say("flow 5")
        flows([*self.workers.values()], NAMES)

    def cut(self, text: str) -> None:
        """By a rename, so that nobody reads half of it."""
        fresh = self._faults.with_suffix(".new")
        fresh.write_text(text)
        fresh.rename(self._faults)

    def kill(self, name: str) -> None:
        worker = self.workers.pop(name)
        worker.signal(signal.SIGKILL)
        worker.end()

    def settle(self) -> None:
        """The survivors stop sending, have all of it, and leave."""
        for worker in self.workers.values():
            worker.say("stop")
        sent = {name: worker.told("stopped")["sent"] for name, worker in self.workers.items()}
        for worker in self.workers.values():
            until(lambda it=worker: sent.items() <= it.report()["counts"].items(), "all that was sent")  # type: ignore[misc]
            assert worker.report()["out_of_order"] == 0
        for worker in self.workers.values():
            worker.say("leave")
            worker.told("left")
            worker.say("end")
            assert worker.end() == 0
            assert worker.errors == []


def serials(folder: Path) -> dict[str, dict[int, tuple[int, Message | None]]]:
    """By name and serial: the view in which it was delivered or skipped, and the message that it is of."""
    found: dict[str, dict[int, tuple[int, Message | None]]] = {}
    for history in [history for histories in read(folder).groups.values() for history in histories]:
        ups = [event for event in history.events if isinstance(event, Deliver | Skip) and event.serial]
        given = [event.serial for event in ups if event.serial]
        assert given == list(range(given[0], given[0] + len(given))), f"a gap or a double at {history.process}"
        found[history.process.partition("#")[0]] = {
            event.serial: (event.view, event.message) for event in ups if event.serial
        }
    return found


def is_one_order(folder: Path, killed: str | None, last_view: int) -> None:
    """Serials go on through the failover; the one who died has contradicted nobody."""
    by_name = serials(folder)
    survivors = [by_name[name] for name in NAMES if name != killed]
    end = max(survivors[0])
    assert [max(each) for each in survivors] == [end] * len(survivors)
    for each in by_name.values():
        common = each.keys() & survivors[0].keys()
        assert common
        assert [each[serial] for serial in sorted(common)] == [survivors[0][serial] for serial in sorted(common)]
    views = [view for _, (view, _) in sorted(survivors[0].items())]
    assert views == sorted(views)
    assert {4, last_view} <= set(views), "all serials were given in one view"
    messages = [message for _, message in survivors[0].values() if message]
    assert len(messages) == len(set(messages))


def passes(folder: Path) -> None:
    report = judge(folder).group("news")
    assert report.failed() == {}
    assert {rule: report.verdicts()[rule] for rule in RULES} == dict.fromkeys(RULES, "PASS")


@pytest.mark.slow
def test_scenario_15_the_sequencer_is_killed_when_it_has_given_serials_that_nobody_was_told(tmp_path: Path) -> None:
    with ExitStack() as stack:
        cast = Cast(tmp_path, stack)
        members = list(cast.workers.values())
        cast.cut("cut=registry>*")
        before = [worker.report()["sent"] for worker in members]
        until(
            lambda: all(worker.report()["sent"] > sent for worker, sent in zip(members, before, strict=True)), "sends"
        )
        cast.registry.kill()
        for worker in members:
            worker.told("view", number=5, members=NAMES)  # of the same members: the sequencer is at the leader
        cast.cut("")
        flows(members, NAMES)
        cast.settle()
    is_one_order(cast.logs, None, 5)
    passes(cast.logs)


@pytest.mark.slow
def test_scenario_17_the_sequencer_is_killed_twice_while_five_threads_of_each_member_send(tmp_path: Path) -> None:
    """First the registry, then the leader that orders in its place."""
    with ExitStack() as stack:
        cast = Cast(tmp_path, stack)
        cast.registry.kill()
        for worker in cast.workers.values():
            worker.told("view", number=5, members=NAMES)
        flows(list(cast.workers.values()), NAMES)
        cast.kill("alice")
        for worker in cast.workers.values():
            worker.told("view", number=6, members=NAMES[1:])
        flows(list(cast.workers.values()), NAMES[1:])
        cast.settle()
    is_one_order(cast.logs, "alice", 6)
    passes(cast.logs)
