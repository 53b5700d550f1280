"""A registry's directory, with a disk and a clock of its own, and what its members ask of it."""

from __future__ import annotations

from gcom.core.codec import registry as codec
from gcom.core.directory.rows import DissolvedInstance, Row, Store
from gcom.core.directory.table import Directory
from gcom.core.directory.witness import Witness
from gcom.core.messages.registry import (
    Answer,
    Claim,
    GroupInfo,
    Lookup,
    Refusal,
    Register,
    Request,
)
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.view import View
from tests.core.ids import CountedIds

NEWS = Definition.parse("news")
LOOSE = Definition.parse("news", ordering="NONORDERED")
SIDES = Definition.parse("news", netsplit="PARTITIONABLE")
A, B, C = "alice#1", "bob#1", "carol#1"
HOME, AWAY = "127.0.0.1:1001", "127.0.0.1:1002"
PAUSE_MS = 2 * limits.TICK_MS + limits.LAG_MS + 1  # a step that is longer than any that a running registry makes


class Disk(Store):
    """The disk of a registry: what was written, in the form in which it is on a disk."""

    def __init__(self) -> None:
        self.written: dict[str, bytes] = {}
        self.buried: dict[str, DissolvedInstance] = {}
        self.writes = 0

    def rows(self) -> list[Row]:
        return [codec.decode_row(data) for data in self.written.values()]

    def dissolved(self) -> list[DissolvedInstance]:
        return list(self.buried.values())

    def save(self, row: Row) -> None:
        self.writes += 1
        self.written[row.definition.group] = codec.encode_row(row)

    def drop(self, group: str) -> None:
        del self.written[group]

    def bury(self, gone: DissolvedInstance) -> None:
        self.buried[gone.group] = gone

    def forget(self, group: str) -> None:
        del self.buried[group]


class Registry:
    """A directory, and the time that passes for it."""

    def __init__(self, grace_ms: int = 0, disk: Disk | None = None) -> None:
        self.disk = disk or Disk()
        self.now_ms = 0
        self.ids = CountedIds(digits=1)
        self._votes = Witness((), lambda record: None)
        self.start(grace_ms)

    def start(self, grace_ms: int = 0) -> None:
        """Another life: it knows only what is on its disk."""
        self.directory = Directory(self.ids, self._votes, self.disk, grace_ms=grace_ms)
        self.directory.tick(self.now_ms)

    def ask(self, request: Request) -> Answer:
        return self.directory.ask(request, self.now_ms)

    def run(self, duration_ms: int) -> None:
        """It runs for so long."""
        end_ms = self.now_ms + duration_ms
        while self.now_ms < end_ms:
            self.now_ms = min(end_ms, self.now_ms + limits.TICK_MS)
            self.directory.tick(self.now_ms)

    def pause(self, duration_ms: int) -> None:
        """It stands still for so long, and does not know it yet."""
        self.now_ms += duration_ms

    @property
    def news(self) -> GroupInfo:
        return entry(self.ask(Lookup("news")))


def directory() -> Registry:
    return Registry()


def entry(answer: Answer) -> GroupInfo:
    assert isinstance(answer, GroupInfo), answer
    return answer


def code(answer: Answer) -> str:
    assert isinstance(answer, Refusal), answer
    return answer.code


def text(answer: Answer) -> str:
    assert isinstance(answer, Refusal), answer
    return answer.text


def view(number: int, *members: str) -> View:
    return View(number, members or (A,), tuple(HOME for _ in members or (A,)))


def register(
    number: int,
    *members: str,
    instance: str = "k2",
    by: str = "",
    detached: bool = False,
    definition: Definition = NEWS,
) -> Register:
    """A member, the oldest one unless it is said, registers its view."""
    here = view(number, *members)
    return Register(definition, instance, here, by or here.leader, detached)


def claim(number: int, *gone: str, instance: str = "k2", process: str = C) -> Claim:
    return Claim("news", instance, number, process, AWAY, gone)


def others(answer: Answer) -> set[str]:
    return {process for process, _ in entry(answer).others}
