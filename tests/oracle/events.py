"""Events of one (group, instance) in a process's log, message by message: runs are taken apart when they are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Process = str
Message = tuple[Process, int]
Coverage = Literal["closed", "torn", "lost", "open"]


@dataclass(frozen=True, slots=True)
class Succession:
    """One entry of `succeeds`; None stands for a field that it lacks. `without` are messages that nobody held."""

    instance: str
    view: int | None
    cut: dict[Process, int] | None
    without: frozenset[Message]
    by: str
    gone: frozenset[Process]
    gives_up: frozenset[Process]
    serial: int | None


@dataclass(frozen=True, slots=True)
class View:
    at: int
    view: int
    members: tuple[Process, ...]
    leader: Process
    ordering: str
    multicast: str
    safe: bool
    netsplit: str
    base: dict[Process, int]
    base_serial: int
    succeeds: tuple[Succession, ...] = ()
    carries: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Send:
    at: int
    view: int
    number: int
    clock: dict[Process, int]
    digest: int | None


@dataclass(frozen=True, slots=True)
class Deliver:
    at: int
    view: int
    sent_view: int
    sender: Process
    number: int
    serial: int | None
    digest: int | None

    @property
    def message(self) -> Message:
        return (self.sender, self.number)


@dataclass(frozen=True, slots=True)
class Skip:
    at: int
    view: int
    message: Message | None
    serial: int | None


@dataclass(frozen=True, slots=True)
class End:
    """`leave` or `detach`; `seen` is false if it happened in a gap. `settled` is of a `leave` alone."""

    at: int
    settled: int | None = None
    seen: bool = True
    into: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Confirm:
    at: int
    view: int
    number: int
    by: str


@dataclass(frozen=True, slots=True)
class Adopt:
    at: int
    giver: Process
    cut: dict[Process, int]


@dataclass(frozen=True, slots=True)
class Elect:
    at: int
    view: int
    leader: Process


@dataclass(frozen=True, slots=True)
class Gap:
    """Records are missing here; `state` tells whether the next event says what they added up to."""

    at: int
    state: bool


@dataclass(frozen=True, slots=True)
class State:
    view: int
    number: int
    settled: frozenset[Message]
    clock: dict[Process, int]
    serial: int


@dataclass(frozen=True, slots=True)
class Opened:
    """A segment began, or a `lost` record ended: the next clock carries all."""

    at: int
    state: State | None


Event = View | Send | Deliver | Skip | End | Confirm | Adopt | Elect | Gap | Opened


@dataclass(slots=True)
class History:
    """One process in one (group, instance). A process without a log has nothing but a gap."""

    process: Process
    coverage: Coverage
    events: list[Event] = field(default_factory=list)

    @property
    def closed(self) -> bool:
        return self.coverage == "closed"
