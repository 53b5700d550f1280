"""Leaders that are killed in turn, two that both believe they lead, and a minority that comes back: real processes.

Each keeps all texts as its state: what was confirmed must be in it at the end, in the one order.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import gcom
from gcom.values import lineage
from gcom.values.names import name_of
from tests.oracle import judge
from tests.runtime.nodes import until
from tests.runtime.processes import Network, Worker, Workers, confirm, together

WORDS = ("--ordering", "TOTAL", "--safe", "--keep", "--persist")
NAMES = ("alice", "bob", "carol", "dave", "erin")


class Company:
    """Five members that have confirmed one text."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.logs = folder / "logs"
        self.network = Network(folder)
        self.registry = stack.enter_context(gcom.embedded())
        self._workers = Workers(self.registry.address, stack)
        self._words = (*WORDS, "--log-dir", str(self.logs), *self.network.words)
        self.workers = {name: self._workers.start(name, *self._words) for name in NAMES}
        self.until_one_view(*NAMES)
        self.confirm("alice", "before", *NAMES)
        self.instance: str = self.workers["erin"].rows("view")[-1]["instance"]

    def confirm(self, sender: str, text: str, *others: str) -> None:
        """Send a text that its sender is told to be held by a majority, and wait until these have it."""
        confirm(self.workers[sender], text, *[self.workers[name] for name in others])

    def until_one_view(self, *names: str) -> None:
        members = {name: self.workers[name] for name in names}
        until(lambda: together(members), f"one view of {', '.join(names)}")

    def kill(self, name: str) -> Worker:
        worker = self.workers.pop(name)
        worker.signal(signal.SIGKILL)
        worker.end()
        return worker

    def start(self, name: str) -> None:
        self.workers[name] = self._workers.start(name, *self._words)

    def suspected(self, by: str, name: str) -> None:
        """Wait until one is told that another is suspected."""
        worker = self.workers[by]
        until(lambda: name in [name_of(row["process"]) for row in worker.rows("suspicion")], f"{by} to suspect {name}")

    def all_have(self, *texts: str) -> None:
        """The state of each is these texts, in this order."""
        assert {name: worker.report()["texts"] for name, worker in self.workers.items()} == {
            name: [*texts] for name in self.workers
        }

    def leave(self) -> None:
        """All in good order; what the logs say is right then."""
        for worker in self.workers.values():
            worker.say("leave")
            worker.told("left")
            worker.say("end")
            assert worker.end() == 0
            assert worker.errors == []
        report = judge(self.logs)
        assert {key: group.failed() for key, group in report.groups.items() if group.failed()} == {}


@pytest.fixture
def company(tmp_path: Path) -> Iterator[Company]:
    with ExitStack() as stack:
        yield Company(tmp_path, stack)


@pytest.mark.soak
def test_scenario_31_each_leader_is_killed_as_soon_as_the_next_one_suspects_the_one_before(company: Company) -> None:
    """Three of five die within the changes that the deaths before them began; then the next one, and one is left."""
    company.kill("alice")
    company.suspected("bob", "alice")
    company.kill("bob")
    company.suspected("carol", "bob")
    company.kill("carol")
    company.until_one_view("dave", "erin")
    company.confirm("dave", "for two", "erin")
    company.kill("dave")
    company.until_one_view("erin")
    company.confirm("erin", "for one")
    now = company.workers["erin"].rows("view")[-1]["instance"]
    assert lineage.descends(now, company.instance)
    for name in NAMES[:4]:
        company.start(name)
    company.until_one_view(*NAMES)
    company.confirm("alice", "after", *NAMES)
    company.all_have("before", "for two", "for one", "after")
    company.leave()


@pytest.mark.soak
def test_scenario_32_a_leader_wakes_and_leads_those_whom_it_still_hears_beside_its_successor(company: Company) -> None:
    """1. Alice is paused, and the others go on under bob. 2. She wakes among two who do not hear of that: cut off from
    the rest, they take her for their leader. 3. All hear each other.
    """
    alice = company.workers["alice"]
    company.network.cut("cut=alice+erin<>bob+carol+dave")
    alice.signal(signal.SIGSTOP)
    company.until_one_view("bob", "carol", "dave")
    company.confirm("bob", "of bob's", "carol", "dave")
    alice.say("send of alice's")
    alice.signal(signal.SIGCONT)
    alice.told("quorum", has=False)
    assert alice.rows("view")[-1]["members"] == [*NAMES]
    directory = gcom.Directory(company.registry.address)
    try:
        (entry,) = directory.groups()
    finally:
        directory.close()
    assert [name_of(member) for member in entry.members] == ["bob", "carol", "dave"]
    company.network.cut("")
    company.until_one_view(*NAMES)
    company.confirm("erin", "after", *NAMES)
    company.all_have("before", "of bob's", "after")
    gone = alice.told("departure")
    assert gone["reason"] == "expelled"
    settled = [row for row in alice.rows("settled") if (row["first"], row["last"], row["arrived"]) == (2, 2, False)]
    told = [*settled, *[gone[what] for what in ("unconfirmed", "unsent") if gone[what]]]
    assert len(told) == 1, "what became of hers is told once"
    assert {worker.rows("view")[-1]["instance"] for worker in company.workers.values()} == {company.instance}
    company.leave()


@pytest.mark.slow
def test_scenario_33_a_minority_comes_back_with_the_state_of_the_majority_and_knows_what_arrived(
    company: Company,
) -> None:
    """Bob's message after the cut reaches alice only: he is told that it never arrived. The members are heard again
    before the registry is, which knows that he is out, but not what arrived.
    """
    alice, bob = company.workers["alice"], company.workers["bob"]
    company.network.cut("cut=alice+bob<>carol+dave+erin+registry")
    bob.say("send in doubt")
    company.until_one_view("carol", "dave", "erin")
    company.confirm("carol", "meanwhile", "dave", "erin")
    assert bob.told("quorum", has=False)["in_doubt"] == [1, 1]
    alice.told("quorum", has=False)
    assert [worker.rows("view")[-1]["members"] for worker in (alice, bob)] == [[*NAMES]] * 2
    company.network.cut("cut=alice+bob<>registry")
    assert [worker.told("departure")["reason"] for worker in (alice, bob)] == ["expelled", "expelled"]
    company.network.cut("")
    for worker in (alice, bob):
        worker.told("returned")
        worker.told("took", texts=["before", "meanwhile"])
    bob.told("settled", first=1, last=1, arrived=False)
    assert bob.rows("departure")[0]["unconfirmed"] is None
    company.until_one_view(*NAMES)
    company.confirm("bob", "after", *NAMES)
    company.all_have("before", "meanwhile", "after")
    assert {worker.rows("view")[-1]["instance"] for worker in company.workers.values()} == {company.instance}
    company.leave()
