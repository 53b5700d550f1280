"""The plan of one simulated run: everything that chance decides, and what every run must show."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from gcom.sim.plan.events import OCCASIONAL, Fault, TroubleEvent
from gcom.values.definition import Definition

MESSAGES_MIN = 500  # a run with fewer has hardly a message under way when a fault comes
KINDS_MIN = 3  # one by one faults are easy: a run is for what comes where they meet


@dataclass(frozen=True, slots=True)
class Plan:
    """Rates are probabilities per call; times are in true simulated milliseconds."""

    seed: int
    definition: Definition
    members: int
    late: int  # of them, how many come while faults happen
    cold: bool  # faults begin before the group has formed
    messages: int  # to send in all, while faults happen
    window: int  # messages of a sender that may wait for its slowest reader
    fault_ms: int  # faults happen until then; afterwards all is healed
    delay_ms: int  # a call's usual one-way delay is 1…delay_ms
    rates: dict[Fault, float]
    drift: tuple[tuple[int, int], ...]  # per member: local milliseconds per thousand true ones, and an offset in ms
    crashed_max: int  # at a time
    answering: float  # how often a delivery is answered from inside its callback
    size: int  # the largest message, in words
    keepers: tuple[str, ...]  # names of applications with a state
    refusing: float  # how often a get_state fails
    silent: bool  # applications fall silent before the heal: what was lost last must come out without a later message
    posting: float  # how often an application writes an envelope, or calls, when it may write
    load_bytes: int  # bound on a frame's runs
    forgets: bool  # the registry starts again at the heal
    registries: int  # of which the first is the group's home, unless faults begin before it is formed
    events: tuple[TroubleEvent, ...]
    two_groups: bool = False  # the processes are in another group, too, whose heartbeats stand for this one's
    stranger: bool = False  # a process that is in no group lies to the registries
    boundary: str = ""  # the ambush at its end, between two instances, if it has one

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"m{index}" for index in range(self.members))

    @property
    def kinds(self) -> set[str]:
        """Return the kinds of fault that are drawn, without those that may find no occasion."""
        drawn = {event.kind for event in self.events if isinstance(event.kind, Fault)}
        drawn |= {kind for kind, rate in self.rates.items() if rate}
        drawn |= {Fault.DRIFT} if any(rate != 1000 for rate, _ in self.drift) else set()
        return {str(kind) for kind in drawn - OCCASIONAL}

    def describe(self) -> dict[str, object]:
        """Return the plan as plain values, without what is empty."""
        fields = asdict(self)
        words = {"static": bool(self.definition.static), "detection": str(self.definition.detection)}
        fields["definition"] = {**fields["definition"], **words}
        fields["events"] = [
            {name: value for name, value in event.items() if value} for event in map(asdict, self.events)
        ]
        return fields
