"""The time a group is held up by a kill: real processes on loopback, all of them sending.

A trial is a fresh group; one process gets SIGKILL at a random instant. Two times are taken, each of the slowest
survivor: until it has delivered a message of every other survivor that was sent after the kill, and until one of these
came in a view without the dead member. Total orders may deliver nothing before the second time; the other orders do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from statistics import median
from typing import Annotated

from gcom.bench.benchmark import BenchSetup, Between, Figure, Goal, Tell
from gcom.bench.failover.scenario import REGISTRY, Reporter, Scenario
from gcom.bench.throughput.load import percentile
from gcom.errors import BadValue, GComTimeout
from gcom.values import limits

RESUME_S = 20.0  # a trial in which survivors do not go on for so long has failed
PHASE_S = limits.HEARTBEAT_MS / 1000  # kills fall anywhere in one heartbeat
GOALS = (Goal("median", "median", "s", 0.7, "median"), Goal("worst", "worst", "s", 1.5))


class Kill(StrEnum):
    """The process to kill."""

    LEADER = "leader"  # the oldest member
    MEMBER = "member"  # any other
    REGISTRY = "registry"  # the process that also orders, where the order is total
    SEQUENCER = "sequencer"  # the leader while it orders, since the registry was killed just before

    @classmethod
    def parse(cls, text: str) -> tuple[Kill, ...]:
        """Return the kinds that a word names, one or `all`; raises BadValue."""
        if text.lower() == "all":
            return tuple(cls)
        if text.lower() not in list(cls):
            raise BadValue(f"kill {text!r} is not one of {', '.join(cls)}, all")
        return (cls(text.lower()),)


@dataclass(frozen=True, slots=True)
class FailoverSetup(BenchSetup):
    """The kills, and how many trials of each."""

    members: Annotated[int, Between(3, limits.MEMBERS_MAX, "the rest must be a majority")]
    trials: Annotated[int, Between(1, 10_000)]
    kills: tuple[Kill, ...]
    seed: int = 0

    def refusal(self) -> str:
        if self.kills == (Kill.SEQUENCER,) and not self.ordered:
            return f"{self.definition.ordering} has no sequencer: choose a total order"
        return ""

    @property
    def ordered(self) -> bool:
        """Tell whether the group has a sequencer."""
        return self.definition.total

    @property
    def wanted(self) -> tuple[Kill, ...]:
        """Return the kinds that exist in this group."""
        return tuple(kill for kill in self.kills if self.ordered or kill is not Kill.SEQUENCER)


@dataclass(frozen=True, slots=True)
class Trial:
    """The seconds after one kill; None: longer than RESUME_S."""

    first_s: float | None
    resumed_s: float | None


@dataclass(frozen=True, slots=True)
class FailoverResult:
    """All trials of one kind."""

    kill: Kill
    trials: tuple[Trial, ...]

    @property
    def failed(self) -> int:
        return sum(trial.resumed_s is None for trial in self.trials)

    @property
    def first_s(self) -> list[float]:
        return sorted(trial.first_s for trial in self.trials if trial.first_s is not None)

    @property
    def resumed_s(self) -> list[float]:
        return sorted(trial.resumed_s for trial in self.trials if trial.resumed_s is not None)

    @property
    def met(self) -> bool:
        """Tell whether the goals are reached, by the stricter of the two times."""
        return all(Figure(goal, tuple(trial.resumed_s for trial in self.trials)).met for goal in GOALS)

    def row(self) -> dict[str, object]:
        return {
            "type": "failover",
            "kill": str(self.kill),
            "trials": len(self.trials),
            "failed": self.failed,
            **{f"{name}_ms": value for name, value in spread_ms(self.resumed_s).items()},
            "first_message_ms": spread_ms(self.first_s),
            "to_reach_ms": {goal.key: goal.most * 1000 for goal in GOALS},
            "met": self.met,
        }


def spread_ms(seconds: list[float]) -> dict[str, float | None]:
    """Return the median, the 90th percentile and the worst of sorted seconds, in milliseconds."""
    if not seconds:
        return {"median": None, "p90": None, "worst": None}
    values = {"median": median(seconds), "p90": percentile(seconds, 0.9), "worst": seconds[-1]}
    return {name: round(value * 1000, 1) for name, value in values.items()}


def measure(setup: FailoverSetup, scenario: Scenario, tell: Tell) -> Iterator[FailoverResult]:
    """Run every trial; `tell` is called after each. Raises Unavailable or GComTimeout when a process fails."""
    # One stream for all kinds: the same seed chooses the same instants and victims.
    rng = Random(setup.seed)
    for kill in setup.wanted:
        trials = []
        for number in range(1, setup.trials + 1):
            trial = _trial(setup, kill, scenario, rng)
            trials.append(trial)
            took = "not" if trial.resumed_s is None else f"after {trial.resumed_s * 1000:.0f} ms"
            tell(f"{kill} killed, {number} of {setup.trials}: the rest went on {took}")
        yield FailoverResult(kill, tuple(trials))


def _trial(setup: FailoverSetup, kill: Kill, scenario: Scenario, rng: Random) -> Trial:
    scenario.ensure(setup.members)
    members = scenario.form_group(setup.definition)
    scenario.flow(members)
    # So that kills fall evenly into the members' heartbeats, and the median is no matter of luck.
    scenario.pass_time(rng.uniform(0, PHASE_S))
    if kill is Kill.SEQUENCER:
        scenario.watch(members, scenario.kill(REGISTRY))  # from here on the leader orders
        scenario.pass_time(rng.uniform(0, PHASE_S))
    trial = _killed(kill, members, scenario, rng)
    # Processes are used again, and groups are not: starting Python takes longer than a failover.
    scenario.leave([member for member in members if member.name in scenario.members])
    return trial


def _killed(kill: Kill, members: list[Reporter], scenario: Scenario, rng: Random) -> Trial:
    victim = _victim(kill, members, rng)
    left = [member for member in members if member is not victim]
    since = scenario.kill(victim.name if victim else REGISTRY)
    try:
        # The registry is in no view, so after its end any message that was sent later shows that the group goes on.
        seen = scenario.watch(left, since, victim.process if victim else "", RESUME_S)
    except GComTimeout:
        # A result and no error: the other trials go on, and the kind counts as failed.
        return Trial(None, None)
    return Trial(max(it["first"] for it in seen) - since, max(it["resumed"] for it in seen) - since)


def _victim(kill: Kill, members: list[Reporter], rng: Random) -> Reporter | None:
    """Return the member to kill, None for the registry."""
    if kill is Kill.REGISTRY:
        return None
    view = members[0].view
    assert view is not None, "members in play have a view"
    # By the view and not by who was started first: an earlier kill may have made another one the oldest.
    leader = next(member for member in members if member.process == view["members"][0])
    if kill is Kill.MEMBER:
        return rng.choice([member for member in members if member is not leader])
    return leader
