"""Values that many tests of the core need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256

from gcom.core.codec import frames as codec
from gcom.core.messages.effects import Deliver, Effect, Skip
from gcom.core.messages.frames import Decision
from gcom.core.multicast.signing import Verify
from gcom.core.streams import Streams
from gcom.values.definition import Definition
from gcom.values.names import Process
from gcom.values.run import Payload, Run
from gcom.values.view import View

A, B, C, D, E = "a#1", "b#1", "c#1", "d#1", "e#1"


def run(sender: Process, first: int, count: int, view: int = 1, clock: dict[Process, int] | None = None) -> Run:
    """Messages first … first+count-1, each saying its sender and number."""
    payloads: list[Payload] = [f"{sender} {number}" for number in range(first, first + count)]
    past = clock or {}
    return Run(sender, view, first, past, payloads, codec.encode_run(sender, view, first, past, payloads))


def view(*members: Process, number: int = 1) -> View:
    return View(number, members, tuple(address(member) for member in members))


def address(member: Process) -> str:
    return f"{member.replace('#', '-')}:1"


def decision(old: View, *members: Process, cut: dict[Process, int] | None = None, at_registry: bool = True) -> Decision:
    """The next view of `old` has `members`; who is gone left by request."""
    joined = tuple(member for member in members if member not in old.members)
    left = {member: "request" for member in old.members if member not in members}
    return Decision(view(*members, number=old.number + 1), joined, left, cut or {}, at_registry)


def opening(first: View, at_registry: bool = True) -> Decision:
    """The decision that made a group's first view."""
    return Decision(first, first.members, {}, {}, at_registry)


def data_path(process: Process, definition: Definition, first: View, at_registry: bool = True) -> Streams:
    """The data path of one member in a group's first view."""
    return Streams(process, "g", "i", definition, opening(first, at_registry), 0)


def numbers(runs: Iterable[Run]) -> list[int]:
    return [number for each in runs for number in range(each.first, each.last + 1)]


def delivered(effects: Iterable[Effect]) -> list[tuple[Process, int]]:
    """The messages that were handed over, in order."""
    runs = [effect.run for effect in effects if isinstance(effect, Deliver)]
    return [(each.sender, number) for each in runs for number in range(each.first, each.last + 1)]


def skipped(effects: Iterable[Effect]) -> list[tuple[Process, int]]:
    """The messages that were given up, in order."""
    skips = [effect for effect in effects if isinstance(effect, Skip)]
    return [(each.sender, number) for each in skips for number in range(each.first, each.first + each.count)]


class Key:
    """A key that only its own process signs with, as the tests have it; all know it when they see it."""

    def __init__(self, process: Process) -> None:
        self.process = process

    def sign(self, data: bytes) -> bytes:
        return _signature(self.process, data)

    def credential(self, process: Process) -> bytes:
        assert process == self.process, "nobody asks for another's"
        return b"of " + process.encode()

    def verifier(self, sender: Process, credential: bytes) -> Verify | None:
        if credential != b"of " + sender.encode():
            return None
        return lambda signature, data: signature == _signature(sender, data)


def _signature(process: Process, data: bytes) -> bytes:
    return sha256(process.encode() + b" signs " + data).digest()


def retold(run: Run, text: str) -> Run:
    """Return a run with another text, under the seal that it had."""
    assert run.seal is not None
    encoded = codec.encode_run(run.sender, run.view, run.first, run.clock, [text])
    sealed, seal = codec.seal_run(encoded, run.seal.signature, run.seal.credential)
    return replace(run, payloads=[text], encoded=sealed, seal=seal)
