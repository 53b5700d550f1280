"""The tables of docs/protocols/netsplit.md, row by row: who goes on, who waits, and what is lost.

A row of the note is the scenario: its second column is played on the hand-driven network, the others are what must come
of it. An arrow stands between things that happen one after the other, each when all has come to rest; a semicolon
between things that happen at once. Who goes on can confirm a text, which counts as confirmed for the rest of the row.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from gcom.core.machine import Stage
from gcom.core.messages.registry import Fork
from gcom.values import lineage
from gcom.values.definition import Definition
from gcom.values.names import Process
from tests.core.islands import Islands
from tests.core.keepers import Keepers
from tests.core.making import A
from tests.core.network import Disk
from tests.tidy.source import ROOT

NOTE = ROOT / "docs" / "protocols" / "netsplit.md"
TABLES = {
    "LEADER": Definition.parse("g", "TOTAL", safe=True),
    "REGISTRY": Definition.parse("g", "TOTAL", safe=True, tie_breaker="REGISTRY"),
    "PARTITIONABLE": Definition.parse("g", "TOTAL", safe=True, netsplit="PARTITIONABLE"),
}
COLUMNS = ("members", "what happens", "goes on", "waits", "until", "then in the group", "lost")
REST_MS = 12_000  # whatever happened has had its consequences, an order by an operator too (FREE_MS)
SUCCESSOR, ANEW = ", in a successor", ", in a new group"
BEFORE, AFTER = "before", "after"


@dataclass(frozen=True)
class Row:
    """A row of the note, as it is written there."""

    table: str
    members: str
    happens: str
    goes_on: str
    waits: str
    until: str
    then: str
    lost: str

    @property
    def id(self) -> str:
        text = " → ".join(part for part in (self.happens, self.until) if part != "—")
        return f"{self.table}: {self.members}: {text}"


def rows(table: str) -> list[Row]:
    """The rows of one kind of group, in all tables of the note."""
    found = re.findall(f"<!-- rows: {table} -->\n(.*?)<!-- end of rows -->", NOTE.read_text("utf-8"), re.DOTALL)
    assert found, f"{NOTE.name} has no table {table}"
    return [row for text in found for row in _rows(table, text.strip().splitlines())]


def _rows(table: str, lines: list[str]) -> list[Row]:
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert tuple(cells[0]) == COLUMNS
    return [Row(table, *line) for line in cells[2:]]


def letters(text: str) -> str:
    """Names in lower case, of `A, B and C`."""
    return "".join(re.findall(r"\b[A-Z]\b", text)).lower()


class Sides(Keepers):
    """Members of a PARTITIONABLE group bring their states, and merge them."""

    _bring = Islands._bring
    _read = Islands._read


class Scene:
    """Plays what a row says, and tells what has become of whom."""

    def __init__(self, row: Row) -> None:
        self.row = row
        definition = TABLES[row.table]
        self.net = Sides(definition) if row.table == "PARTITIONABLE" else Keepers(definition)
        self.names = "abcde"[: int(row.members)]
        self.net.form(*self.names)
        self.instance = self.net.machines[A].instance
        self.confirmed: set[str] = set()
        self.still: set[str] = set()  # paused, crashed, off, or left: neither goes on nor waits
        self.off: set[Process] = set()
        self.confirm("a", BEFORE)
        self.net.pass_ms(500)

    def confirm(self, name: str, text: str) -> None:
        self.net.confirm(self.net.latest(f"{name}#1"), text)
        self.confirmed.add(text)

    def play(self, text: str) -> None:
        """Let all of this happen, and its consequences."""
        for moment in [] if text == "—" else text.split(" → "):
            for event in moment.split("; "):
                self.happen(event)
            self.net.pass_ms(REST_MS)

    def happen(self, event: str) -> None:
        for pattern, act in ACTS.items():
            if found := re.fullmatch(pattern, event):
                act(self, *found.groups())
                return
        raise AssertionError(f"{NOTE.name} says what nobody can play: {event}")

    # what may happen

    def crash(self, who: str) -> None:
        for name in letters(who):
            self.net.kill(self.net.latest(f"{name}#1"))
            self.still.add(name)

    def pause(self, who: str) -> None:
        for name in letters(who):
            self.net.pause(self.net.latest(f"{name}#1"))
            self.still.add(name)

    def run_again(self, who: str) -> None:
        for name in letters(who):
            self.net.resume(self.net.latest(f"{name}#1"))
            self.still.remove(name)

    def leave(self, who: str) -> None:
        for name in letters(who):
            self.net.leave(self.net.latest(f"{name}#1"))
            self.still.add(name)

    def cut_off(self, who: str) -> None:
        self.net.cut_off |= {f"{name}#1" for name in letters(who)}

    def go_off(self, who: str) -> None:
        """Silent for good, and no kernel that can be asked says more."""
        self.off |= {f"{name}#1" for name in letters(who)}
        self.still |= set(letters(who))
        self.net.cut_off |= self.off

    def split(self, sides: str) -> None:
        named = [[*letters(side), *(["registry"] if "registry" in side else [])] for side in sides.split(" / ")]
        self.net.split(*map(" ".join, named))

    def heal(self) -> None:
        self.net.heal()
        self.net.cut_off |= self.off

    def forget(self) -> None:
        """It starts again with an empty disk."""
        self.net.disk = Disk()
        self.net.votes.clear()
        self.net.start_registry()

    def come(self, who: str) -> None:
        self.net.start(letters(who))
        self.names += letters(who)

    def wait_for_state(self, who: str, donor: str) -> None:
        """One comes, and the application that is asked for its state takes its time."""
        self.net.stalled.add(self.net.latest(f"{letters(donor)}#1"))
        self.come(who)
        self.net.until_view(*[self.net.latest(f"{name}#1") for name in self.names if name not in self.still])

    def fork(self) -> None:
        self.net.directory.ask(Fork("g", self.instance), self.net.now_ms)

    # what came of it

    def views(self) -> tuple[set[str], set[str]]:
        """The sides that go on, and who waits: a member that is detached, or one that is not in."""
        sides: set[str] = set()
        waiting: set[str] = set()
        for name in [name for name in self.names if name not in self.still]:
            who = self.net.latest(f"{name}#1")
            machine = self.net.machines[who]
            if machine.stage is Stage.MEMBER and not machine.detached:
                sides.add("".join(sorted(member[0] for member in self.net.members(who))))
            elif machine.stage in (Stage.MEMBER, Stage.ENTERING) or machine.view is None:  # refused, and tries again
                waiting.add(name)
        return sides, waiting

    def kind(self, names: str) -> str:
        """Which instance these are in, as the note says it: the first one, one that succeeds it, or a stranger."""
        (instance,) = {self.net.machines[self.net.latest(f"{name}#1")].instance for name in names}
        if instance == self.instance:
            return ""
        return SUCCESSOR if lineage.descends(instance, self.instance) else ANEW


def kind_in(text: str) -> str:
    """The same of a cell."""
    return next((kind for kind in (SUCCESSOR, ANEW) if text.endswith(kind)), "")


ACTS: dict[str, Callable[..., None]] = {
    r"(.+?) crash(?:es)?": Scene.crash,
    r"(.+?) pauses?": Scene.pause,
    r"(.+?) runs? again": Scene.run_again,
    r"(.+?) leaves?": Scene.leave,
    r"(.+?) (?:is|are) cut off": Scene.cut_off,
    r"the hosts? of (.+?) (?:is|are) off": Scene.go_off,
    r"split: (.+)": Scene.split,
    r"the network heals": Scene.heal,
    r"([A-Z]) comes": Scene.come,
    r"([A-Z]) comes and awaits the state from ([A-Z])": Scene.wait_for_state,
    r"`gcom fork`": Scene.fork,
    r"([A-Z]) confirms (\w)": lambda stage, who, text: stage.confirm(letters(who), text),
    r"the registry stops": lambda stage: stage.net.stop_registry(),
    r"the registry forgets everything": Scene.forget,
    r"the registry starts": lambda stage: stage.net.start_registry(),
}


def expected(row: Row) -> list[tuple[set[str], set[str]]]:
    """The sides that go on and who waits, each way in which it may come out."""
    ways = zip(row.goes_on.split(" or "), row.waits.split(" or "), strict=True)
    return [({letters(side) for side in go.split(" beside ")} - {""}, set(letters(wait))) for go, wait in ways]


def kinds(row: Row) -> dict[str, str]:
    """In which instance each side goes on."""
    return {letters(side): kind_in(side) for way in row.goes_on.split(" or ") for side in way.split(" beside ")}


def lost(row: Row, confirmed: set[str]) -> set[str]:
    """Return what the row gives up, of what was confirmed before anybody went on."""
    if row.lost == "everything":
        return confirmed
    alone = re.findall(r"what ([A-Z]) goes on to confirm", row.lost)
    earlier = {BEFORE} if row.lost.startswith("what was before") else set()
    return {*earlier, *re.findall(r"\b[b-z]\b", row.lost), *[f"of {name.lower()}" for name in alone]}


def check_meanwhile(scene: Scene) -> None:
    """Check that those who go on can confirm."""
    found = scene.views()
    assert found in expected(scene.row), scene.net.describe()
    for side in sorted(found[0]):
        text = f"of {side[0]}"
        scene.confirm(side[0], text)
        for name in side:
            scene.net.until(lambda it=name: text in scene.net.applications[it].texts)  # type: ignore[misc] # noqa: B023
        if scene.row.table != "PARTITIONABLE":
            assert scene.kind(side) == kinds(scene.row)[side], scene.net.describe()


def check_in_the_end(scene: Scene, gone: set[str]) -> None:
    """All who live are one group again, and have all that was confirmed but what is `gone`."""
    row, net = scene.row, scene.net
    left = letters(row.then)
    if row.then.startswith("nobody"):
        assert scene.views() == (set(), set(left)), net.describe()
        return
    net.unite(left, 120_000)
    scene.confirm(left[0], AFTER)
    net.until(lambda: all(AFTER in net.applications[name].texts for name in left))
    if row.table != "PARTITIONABLE":
        assert scene.kind(left) == kind_in(row.then), net.describe()
    assert {name: scene.confirmed - net.applications[name].texts for name in left} == dict.fromkeys(left, gone)


@pytest.mark.parametrize("row", [row for table in TABLES for row in rows(table)], ids=lambda row: row.id)
def test_what_the_note_says_of(row: Row) -> None:
    scene = Scene(row)
    scene.play(row.happens)
    gone = lost(row, set(scene.confirmed))
    check_meanwhile(scene)
    scene.play(row.until)
    check_in_the_end(scene, gone)


def test_the_tests_with_processes_that_the_note_names_are_there() -> None:
    named = re.findall(r"`(\w+)\.py::(test_\w+)`", NOTE.read_text("utf-8"))
    assert named
    for file, test in named:
        assert f"def {test}(" in (ROOT / "tests" / "runtime" / f"{file}.py").read_text("utf-8")


def test_an_operator_frees_a_name_whose_only_member_will_not_come_back() -> None:
    """1. A was alone in its group, and its host is off for good: nothing proves that it is dead. 2. Z comes, and waits.
    3. The operator gives A up, and as nobody goes on by that order, the name is Z's.
    """
    scene = Scene(Row("LEADER", "1", *[""] * 6))
    scene.play("the host of A is off → Z comes → `gcom fork`")
    assert scene.views() == ({"z"}, set())
