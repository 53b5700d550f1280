"""Values that many tests of the core need."""

from __future__ import annotations

from gcom.core import codec
from gcom.core.frames import Decision
from gcom.values.names import Process
from gcom.values.run import Payload, Run
from gcom.values.view import View

A, B, C, D, E = "a#1", "b#1", "c#1", "d#1", "e#1"


def run(sender: Process, first: int, count: int, view: int = 1) -> Run:
    """Messages first … first+count-1, each saying its sender and number."""
    payloads: list[Payload] = [f"{sender} {number}" for number in range(first, first + count)]
    return Run(sender, view, first, {}, payloads, codec.encode_run(sender, view, first, {}, payloads))


def view(*members: Process, number: int = 1) -> View:
    return View(number, members, tuple(address(member) for member in members))


def address(member: Process) -> str:
    return f"{member.replace('#', '-')}:1"


def decision(old: View, *members: Process, cut: dict[Process, int] | None = None) -> Decision:
    """The next view of `old` has `members`; who is gone left by request."""
    joined = tuple(member for member in members if member not in old.members)
    left = {member: "request" for member in old.members if member not in members}
    return Decision(view(*members, number=old.number + 1), joined, left, cut or {})


def numbers(runs: list[Run]) -> list[int]:
    return [number for each in runs for number in range(each.first, each.last + 1)]
