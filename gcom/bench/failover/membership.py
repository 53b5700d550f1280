"""The time a group's membership takes to follow pauses, simultaneous joins, a leave, a split, and a succession.

Real processes on loopback, all of them sending. A round of a scene gives a value for each of its figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from time import monotonic
from typing import NamedTuple

from gcom.bench.failover.scenario import Reporter, Scenario
from gcom.bench.frame import BenchResult, BenchTable, Tell, judgement
from gcom.bench.processes.children import Report
from gcom.errors import GComTimeout
from gcom.runtime import fault_injection
from gcom.values.definition import Definition

LIMIT_S = 12.0  # the figure is None if it has not happened by then
PAUSE_S = 30.0  # at most; it ends a second after the others have gone on
APART_S = 1.0  # the least time that a split lasts after it was noticed
GENTLY_S = 0.2  # between a sender's messages, where what eight of them do to two processors would be measured
START_S = 1.0  # for the order to join to reach all members


class Goal(NamedTuple):
    """A figure of a scene, and the bound for the worst or the median of its rounds."""

    key: str
    name: str
    unit: str
    most: float
    by: str = "worst"

    def shown(self, value: float | None) -> str:
        return "never" if value is None else f"{value:.3g} {self.unit}".rstrip()

    def result(self, values: Sequence[float | None]) -> BenchResult:
        """Return the figure of all rounds; a None is a round in which it did not happen in time."""
        there = [value for value in values if value is not None]
        value = None
        # A round in which it did not happen is worse than any number: the figure has none.
        if there and len(there) == len(values):
            # The worst, unless the goal says otherwise: a median would hide the one round that took too long.
            value = median(there) if self.by == "median" else max(there)
        met = value is not None and value <= self.most
        row = {
            "type": "figure",
            "key": self.key,
            "name": self.name,
            "unit": self.unit,
            # Under the name of what counts, `worst` or `median`: the key says how it was reckoned.
            self.by: None if value is None else round(value, 3),
            "rounds": [None if it is None else round(it, 3) for it in values],
            "to_reach": self.most,
            "met": met,
        }
        cells = [self.name, f"{len(values)}", self.by, self.shown(value), self.shown(self.most), judgement(met)]
        columns = ("", "rounds", "which", "value", "to reach", "judgement")
        return BenchResult(row, [BenchTable("Membership", columns, [cells])])


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene; `play` is one round. Without `network` no member can be cut off."""

    name: str
    play: Callable[[Scenario, Definition], tuple[float | None, ...]]
    goals: tuple[Goal, ...]
    times: int = 1  # of a round
    network: bool = False

    def rounds(self, kind: Definition, count: int, tell: Tell) -> list[tuple[float | None, ...]]:
        found = []
        with Scenario(self.network) as scenario:
            for number in range(1, count + 1):
                found.append(self.play(scenario, kind))
                values = zip(self.goals, found[-1], strict=True)
                shown = ", ".join(f"{goal.name} {goal.shown(value)}" for goal, value in values)
                tell(f"{self.name}, {number} of {count}: {shown}")
        return found


def measure(kind: Definition, rounds: int, tell: Tell) -> Iterator[BenchResult]:
    """Play all scenes; `tell` is called after each round. Raises Unavailable or GComTimeout when a process fails."""
    for scene in SCENES:
        found = scene.rounds(kind, rounds * scene.times, tell)
        for place, goal in enumerate(scene.goals):
            yield goal.result([values[place] for values in found])


def _after(
    since: float, scenario: Scenario, members: list[Reporter], found: Callable[[Reporter], Report | None]
) -> float | None:
    """Return the seconds until `found` returned a report for each member, by the reports' clock; None: too late."""
    try:
        # By the members' own clocks, which are one on this machine: the report's way to the parent does not count.
        return max(float(it["at"]) for it in scenario.until_all(members, found, LIMIT_S, "it")) - since
    except GComTimeout:
        return None


def _back(since: float, scenario: Scenario, rest: list[Reporter], gone: list[Reporter]) -> float | None:
    """Return the seconds until all are in one view at each member, and those that come back have the state."""
    names = [member.name for member in (*rest, *gone)]
    seen = _after(since, scenario, rest, lambda it: it.view_with_names(names, since))
    given = _after(since, scenario, gone, lambda it: it.state_after(since)) if seen is not None else None
    return None if seen is None or given is None else max(seen, given)


def _pause(scenario: Scenario, kind: Definition) -> tuple[float | None, ...]:
    """Stop one of five, and have it go on a second after the others did without it."""
    scenario.ensure(5)
    members = scenario.form_group(kind, state=True)
    scenario.flow(members)
    # Not the first one: the leader's absence costs an election as well.
    *rest, victim = members
    at = scenario.pause(victim, PAUSE_S)
    out = _after(at, scenario, rest, lambda it: it.view_without(victim.process, at))
    scenario.pass_time(APART_S)
    back = _back(scenario.go_on(victim), scenario, rest, [victim])
    scenario.leave(rest)
    # Killed, not asked to leave: one that did not come back in time is in no group, and could not.
    scenario.kill(victim.name)
    return out, back


def _join(scenario: Scenario, kind: Definition) -> tuple[float | None, ...]:
    """Have ten processes join a group that does not exist, at one instant."""
    scenario.ensure(10)
    # All are told beforehand, and join at one instant of the clock that they share.
    at = monotonic() + START_S
    members = scenario.form_group(kind, at)
    views = [member.view for member in members]
    # Ten that claim one name at once must end in one group: the number of groups is a figure, too.
    instances = {joined["instance"] for member in members if (joined := member.said("joined"))}
    numbers = [view["number"] for view in views if view]
    took = _after(at, scenario, members, lambda it: it.view_with_names([member.name for member in members], at))
    scenario.leave(members)
    return float(max(numbers)), float(len(instances)), took


def _change(scenario: Scenario, kind: Definition) -> tuple[float | None, ...]:
    """Have one of eight leave and come back."""
    scenario.ensure(8)
    members = scenario.form_group(kind)
    # Eight that send at full rate keep two processors 95 % busy, and their queue would be measured
    # instead of the change.
    scenario.flow(members, GENTLY_S)
    *rest, goer = members
    group = str((goer.view or {})["group"])
    asked = monotonic()
    scenario.leave([goer])
    left = _after(asked, scenario, rest, lambda it: it.view_without(goer.process, asked))
    everybody = [member.name for member in members]
    asked_again = monotonic()
    scenario.join(goer, kind, group)
    joined = _after(asked_again, scenario, members, lambda it: it.view_with_names(everybody, asked_again))
    scenario.leave(members)
    return _ms(left), _ms(joined)


def _split(scenario: Scenario, kind: Definition) -> tuple[float | None, ...]:
    """Cut two of five, the leader among them, off from the others and from the registry; then heal the cut."""
    scenario.ensure(5)
    members = scenario.form_group(kind, state=True)
    scenario.flow(members)
    few, many = members[:2], members[2:]
    sides = ["+".join(member.name for member in side) for side in (few, many)]
    at = scenario.set_faults(f"cut={sides[0]}<>{sides[1]}+{fault_injection.REGISTRY}")
    refused = _after(at, scenario, few, lambda it: it.said("refused"))
    detached = _after(at, scenario, few, lambda it: it.said("detached"))
    # Until the majority goes on without the two: else the heal would come before there is a split to mend.
    scenario.watch(many, at)
    scenario.pass_time(APART_S)
    back = _back(scenario.set_faults(""), scenario, many, few)
    scenario.leave(many)
    # They are in no group that could be left; the next round begins with fresh processes.
    for member in few:
        scenario.kill(member.name)
    return refused, detached, back


def _succession(scenario: Scenario, kind: Definition) -> tuple[float | None, ...]:
    """Kill two of three, the leader among them; the last goes on in an instance that succeeds theirs."""
    scenario.ensure(3)
    members = scenario.form_group(kind)
    scenario.flow(members)
    # One of three is no majority: it may go on only because the kernel says that the other two are dead.
    *gone, last = members
    at = max(scenario.kill(member.name) for member in gone)
    try:
        (seen,) = scenario.watch([last], at, gone[0].process, LIMIT_S)
    except GComTimeout:
        return (None,)
    scenario.leave([last])
    return (float(seen["resumed"]) - at,)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


SCENES = (
    Scene(
        "pause",
        _pause,
        (
            Goal("pause_out", "a paused member is out", "s", 5.0),
            Goal("pause_back", "one that was paused is back by itself, with the state", "s", 5.0),
        ),
    ),
    Scene(
        "ten joins",
        _join,
        (
            Goal("joins_views", "views until ten that join at one instant are in", "", 3),
            Goal("joins_groups", "groups that these ten are in", "", 1),
            Goal("joins_time", "time until these ten are in one view", "s", 5.0),
        ),
    ),
    Scene(
        "change",
        _change,
        (
            Goal("change_leave", "view change of eight members, one leaves", "ms", 100, "median"),
            Goal("change_join", "view change of eight members, one joins", "ms", 100, "median"),
        ),
        # The figure is a median, which of a single value says little.
        times=5,
    ),
    Scene(
        "split",
        _split,
        (
            Goal("split_refuses", "a minority refuses to send after a split", "s", 5.0),
            Goal("split_detached", "a minority without a quorum shows that it is detached", "s", 5.0),
            Goal("split_back", "a minority is back by itself, with the state, after the heal", "s", 5.0),
        ),
        network=True,
    ),
    Scene(
        "two of three", _succession, (Goal("succession", "of three with two killed the last sends again", "s", 3.0),)
    ),
)
