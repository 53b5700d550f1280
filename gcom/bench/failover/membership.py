"""The time a group's membership takes to follow pauses, simultaneous joins, a leave, a split, and a succession.

Real processes on loopback, all of them sending. A round of a scene gives a value for each of its figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from gcom.bench.benchmark import Figure, Goal, Told
from gcom.bench.failover.scenario import Prober, Scenario
from gcom.bench.processes.children import Report
from gcom.errors import GComTimeout
from gcom.runtime import fault_injection
from gcom.values.definition import Definition

LIMIT_S = 12.0  # the figure is None if it has not happened by then
PAUSE_S = 30.0  # at most; it ends a second after the others have gone on
APART_S = 1.0  # the least time that a split lasts after it was noticed
GENTLY_S = 0.2  # between a sender's messages, where what eight of them do to two processors would be measured
START_S = 1.0  # for the word to join to reach all


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene; `play` is one round. Without `network` no member can be cut off."""

    name: str
    play: Callable[[Scenario, Definition], tuple[float | None, ...]]
    goals: tuple[Goal, ...]
    times: int = 1  # of a round
    network: bool = False

    def rounds(self, kind: Definition, count: int, told: Told) -> list[tuple[float | None, ...]]:
        """Return the values of each figure, one per round."""
        found = []
        with ExitStack() as stack:
            cast = stack.enter_context(Scenario(_network(stack) if self.network else None))
            for number in range(1, count + 1):
                found.append(self.play(cast, kind))
                told(f"{self.name}, {number} of {count}: {', '.join(map(_shown, found[-1], self.goals))}")
        return found


def measure(kind: Definition, rounds: int, told: Told) -> Iterator[Figure]:
    """Play all scenes; `told` is called after each round. Raises Unavailable or GComTimeout when a process fails."""
    for scene in SCENES:
        found = scene.rounds(kind, rounds * scene.times, told)
        for place, goal in enumerate(scene.goals):
            yield Figure(goal, tuple(values[place] for values in found))


def _network(stack: ExitStack) -> dict[str, str]:
    """Return the environment of processes whose faults come from a file."""
    folder = stack.enter_context(TemporaryDirectory(prefix="gcom-bench-"))
    path = Path(folder) / "faults"
    path.touch()
    return {fault_injection.VARIABLE: f"@{path}"}


def _shown(value: float | None, goal: Goal) -> str:
    return f"{goal.name} {goal.shown(value)}"


def _after(
    since: float, cast: Scenario, players: list[Prober], found: Callable[[Prober], Report | None]
) -> float | None:
    """Return the seconds from `since` until `found` has something for each, by their own clock; None: not in time."""
    try:
        return max(float(it["at"]) for it in cast.until_all(players, found, LIMIT_S, "it")) - since
    except GComTimeout:
        return None


def _back(since: float, cast: Scenario, rest: list[Prober], gone: list[Prober]) -> float | None:
    """Return the seconds until all are in one view at each member, and those that come back have the state."""
    names = [player.name for player in (*rest, *gone)]
    seen = _after(since, cast, rest, lambda it: it.view_with_names(names, since))
    given = _after(since, cast, gone, lambda it: it.state_after(since)) if seen is not None else None
    return None if seen is None or given is None else max(seen, given)


def _pause(cast: Scenario, kind: Definition) -> tuple[float | None, ...]:
    """Stop one of five, and have it go on a second after the others did without it."""
    cast.ensure(5)
    players = cast.play(kind, state=True)
    cast.flow(players)
    *rest, victim = players
    at = cast.pause(victim, PAUSE_S)
    out = _after(at, cast, rest, lambda it: it.view_without(victim.process, at))
    cast.pass_time(APART_S)
    back = _back(cast.go_on(victim), cast, rest, [victim])
    cast.leave(rest)
    cast.kill(victim.name)
    return out, back


def _join(cast: Scenario, kind: Definition) -> tuple[float | None, ...]:
    """Have ten processes join a group that does not exist, at one instant."""
    cast.ensure(10)
    at = monotonic() + START_S
    players = cast.play(kind, at)
    views = [player.view for player in players]
    instances = {joined["instance"] for player in players if (joined := player.said("joined"))}
    numbers = [view["number"] for view in views if view]
    took = _after(at, cast, players, lambda it: it.view_with_names([player.name for player in players], at))
    cast.leave(players)
    return float(max(numbers)), float(len(instances)), took


def _change(cast: Scenario, kind: Definition) -> tuple[float | None, ...]:
    """Have one of eight leave and come back."""
    cast.ensure(8)
    players = cast.play(kind)
    cast.flow(players, GENTLY_S)
    *rest, goer = players
    group = str((goer.view or {})["group"])
    asked = monotonic()
    cast.leave([goer])
    left = _after(asked, cast, rest, lambda it: it.view_without(goer.process, asked))
    everybody = [player.name for player in players]
    asked_again = monotonic()
    cast.join(goer, kind, group)
    joined = _after(asked_again, cast, players, lambda it: it.view_with_names(everybody, asked_again))
    cast.leave(players)
    return _ms(left), _ms(joined)


def _split(cast: Scenario, kind: Definition) -> tuple[float | None, ...]:
    """Cut two of five, the leader among them, off from the others and from the registry; then heal the cut."""
    cast.ensure(5)
    players = cast.play(kind, state=True)
    cast.flow(players)
    few, many = players[:2], players[2:]
    sides = ["+".join(player.name for player in side) for side in (few, many)]
    at = cast.set_faults(f"cut={sides[0]}<>{sides[1]}+{fault_injection.REGISTRY}")
    refused = _after(at, cast, few, lambda it: it.said("refused"))
    detached = _after(at, cast, few, lambda it: it.said("detached"))
    cast.watch(many, at)
    cast.pass_time(APART_S)
    back = _back(cast.set_faults(""), cast, many, few)
    cast.leave(many)
    for player in few:
        cast.kill(player.name)
    return refused, detached, back


def _succession(cast: Scenario, kind: Definition) -> tuple[float | None, ...]:
    """Kill two of three, the leader among them; the last goes on in an instance that succeeds theirs."""
    cast.ensure(3)
    players = cast.play(kind)
    cast.flow(players)
    *gone, last = players
    at = max(cast.kill(player.name) for player in gone)
    try:
        (seen,) = cast.watch([last], at, gone[0].process, LIMIT_S)
    except GComTimeout:
        return (None,)
    cast.leave([last])
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
        "two of three",
        _succession,
        (Goal("succession", "of three with two killed the last sends again", "s", 3.0),),
    ),
)


def steps(rounds: int) -> int:
    """Return the number of calls of `told`."""
    return rounds * sum(scene.times for scene in SCENES)
