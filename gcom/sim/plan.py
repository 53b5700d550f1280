"""What one simulated run is made of, all drawn from its seed before the run begins, so that it can be printed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from random import Random

from gcom.values.definition import Definition, Multicast, Ordering


@dataclass(frozen=True, slots=True)
class Plan:
    """Rates are probabilities a call; times are in simulated milliseconds."""

    seed: int
    definition: Definition
    members: int
    messages: int  # that each member tries to send
    fault_ms: int  # faults happen until then; afterwards the network is healed
    delay_ms: int  # a call's usual one-way delay is 1…delay_ms
    reset: float  # the connection breaks before the call arrives
    reply_lost: float  # the call arrives, the caller never learns
    duplicate: float  # the call arrives a second time, later
    crashes: int
    pauses: int
    leaves: int
    late: int  # of the members, how many join later
    at_install: bool  # who crashes does so at its next view, before anybody hears of that from it

    def describe(self) -> dict[str, object]:
        """For people and for --json."""
        fields = asdict(self)
        definition = fields.pop("definition")
        return {**fields, "ordering": str(definition["ordering"]), "multicast": str(definition["multicast"])}


def draw(seed: int) -> Plan:
    """The plan of a seed."""
    rng = Random(seed)
    members = rng.randint(2, 6)
    static = tuple(f"m{index}" for index in range(members)) if rng.random() < 0.15 else ()
    ordering = rng.choice(list(Ordering))
    multicast = rng.choice([Multicast.RELIABLE, Multicast.RELIABLE, Multicast.BASIC])
    faulty = rng.random() < 0.85
    return Plan(
        seed,
        Definition("sim", ordering, multicast, static),
        members,
        max(20, 500 // members) + rng.randint(0, 60),
        rng.randint(3_000, 9_000),
        rng.choice([2, 5, 20, 60]),
        rng.choice([0.0, 0.01, 0.05]) if faulty else 0.0,
        rng.choice([0.0, 0.01, 0.05]) if faulty else 0.0,
        rng.choice([0.0, 0.02]) if faulty else 0.0,
        rng.randint(0, (members - 1) // 2) if faulty and not static else 0,
        rng.randint(0, 1) if faulty else 0,
        rng.randint(0, 2) if members > 3 and not static else 0,
        rng.randint(0, members - 2),
        rng.random() < 0.3,
    )
