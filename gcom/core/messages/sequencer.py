"""Requests to the registry's sequencer, and its answers (docs/protocols/order.md)."""

from __future__ import annotations

from dataclasses import dataclass

from gcom.core.messages.orders import Orders
from gcom.values.names import GroupName, InstanceId, Process


@dataclass(frozen=True, slots=True)
class Open:
    """A leader opens `view`: serials go on after `serial`, numbers after those in `settled`."""

    group: GroupName
    instance: InstanceId
    view: int
    # Where the last view ended, by its members' logs: a sequencer that has started again knows nothing of it.
    serial: int
    settled: dict[Process, int]


@dataclass(frozen=True, slots=True)
class Want:
    """`process` wants serials for its messages up to `upto`, and to hear the order after serial `after`.

    All members hold the order up to `stable`.
    """

    # Cumulative: a request put twice, or answered late, gives the same serials, so there is no table of duplicates.

    group: GroupName
    instance: InstanceId
    view: int
    process: Process
    upto: int
    # An answer is cut short at its bound: the next request goes on behind what came.
    after: int
    stable: int


@dataclass(frozen=True, slots=True)
class Close:
    """The last member left: forget the group's order."""

    group: GroupName
    instance: InstanceId


@dataclass(frozen=True, slots=True)
class Opened:
    """The view is served from now on, or was already."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The view is not served here, or no more."""


SequencerRequest = Open | Want | Close


SequencerAnswer = Opened | Orders | Unknown
