"""The time a group is held up by a kill: real processes on loopback, all of them sending.

A trial is a fresh group; one process gets SIGKILL at a random instant. Two times are taken, each of the slowest
survivor: until it has delivered a message of every other survivor that was sent after the kill, and until one of these
came in a view without the dead member. Total orders may deliver nothing before the second time; the other orders do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from statistics import median
from typing import NamedTuple

from gcom.bench.failover import membership
from gcom.bench.failover.scenario import REGISTRY, Reporter, Scenario
from gcom.bench.frame import BenchResult, BenchTable, Tell, judgement
from gcom.bench.settings import FailoverSetup
from gcom.bench.throughput.load import percentile
from gcom.errors import GComTimeout
from gcom.values import limits

RESUME_S = 20.0  # a trial in which survivors do not go on for so long has failed
PHASE_S = limits.HEARTBEAT_MS / 1000  # kills fall anywhere in one heartbeat
MEDIAN_MS, WORST_MS = 700.0, 1500.0
ROUNDS_MAX = 3  # of each scene of the membership


class Trial(NamedTuple):
    """The seconds after one kill; None: longer than RESUME_S."""

    first_s: float | None
    resumed_s: float | None


def measure(setup: FailoverSetup, tell: Tell) -> Iterator[BenchResult]:
    """Run every trial, and with kills of all kinds the scenes. Raises Unavailable or GComTimeout if a process fails."""
    # One stream for all kinds: the same seed chooses the same instants and victims.
    rng = Random(setup.seed)
    with Scenario() as scenario:
        for kill in setup.kills:
            trials = []
            for number in range(1, setup.trials + 1):
                trials.append(_trial(setup, kill, scenario, rng))
                tell(f"{kill} killed, {number} of {setup.trials}")
            yield result(setup, kill, trials)
    # Whoever asks for one kind of kill wants that figure and not ten minutes of scenes.
    if setup.kill == "all":
        yield from membership.measure(setup.definition, min(ROUNDS_MAX, setup.trials), tell)


def result(setup: FailoverSetup, kill: str, trials: Sequence[Trial]) -> BenchResult:
    """Return the figures of one kind of kill.

    It is judged by the stricter time, which ends with a view without the dead. Beside it is the other one: an order
    that waits for nobody goes on delivering before that view.
    """
    resumed = _spread_ms([it.resumed_s for it in trials])
    first = _spread_ms([it.first_s for it in trials])
    failed = sum(it.resumed_s is None for it in trials)
    middle, worst = resumed["median"], resumed["worst"]
    met = not failed and middle is not None and worst is not None and middle <= MEDIAN_MS and worst <= WORST_MS
    row = {
        "type": setup.command,
        "kill": kill,
        "trials": len(trials),
        "failed": failed,
        **{f"{name}_ms": value for name, value in resumed.items()},
        "first_message_ms": first,
        "to_reach_ms": {"median": MEDIAN_MS, "worst": WORST_MS},
        "met": met,
    }
    shown = ["never" if value is None else f"{value:,.0f}" for value in (*resumed.values(), first["worst"])]
    cells = [kill, f"{len(trials)}", *shown, f"{MEDIAN_MS:.0f}, {WORST_MS:.0f}", judgement(met)]
    title = f"From a kill until the rest goes on: {setup.members} members, {setup.promises}"
    spread = ("median ms", "p90 ms", "worst ms", "first message, worst ms")
    table = BenchTable(title, ("killed", "trials", *spread, "to reach", "judgement"), [cells])
    wrong = [f"{failed} groups did not go on within {RESUME_S:g} s: {kill} killed"] if failed else []
    return BenchResult(row, [table], wrong)


def _spread_ms(seconds: Sequence[float | None]) -> dict[str, float | None]:
    """Return the median, the 90th percentile and the worst of the seconds that there are, in milliseconds."""
    there = sorted(it for it in seconds if it is not None)
    if not there:
        return {"median": None, "p90": None, "worst": None}
    values = {"median": median(there), "p90": percentile(there, 0.9), "worst": there[-1]}
    return {name: round(value * 1000, 1) for name, value in values.items()}


def _trial(setup: FailoverSetup, kill: str, scenario: Scenario, rng: Random) -> Trial:
    scenario.ensure(setup.members)
    members = scenario.form_group(setup.definition)
    scenario.flow(members)
    # So that kills fall evenly into the members' heartbeats, and the median is no matter of luck.
    scenario.pass_time(rng.uniform(0, PHASE_S))
    if kill == "sequencer":
        scenario.watch(members, scenario.kill(REGISTRY))  # from here on the leader orders
        scenario.pass_time(rng.uniform(0, PHASE_S))
    trial = _killed(kill, members, scenario, rng)
    # Processes are used again, and groups are not: starting Python takes longer than a failover.
    scenario.leave([member for member in members if member.name in scenario.members])
    return trial


def _killed(kill: str, members: list[Reporter], scenario: Scenario, rng: Random) -> Trial:
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


def _victim(kill: str, members: list[Reporter], rng: Random) -> Reporter | None:
    """Return the member to kill, None for the registry."""
    if kill == "registry":
        return None
    view = members[0].view
    assert view is not None, "members in play have a view"
    # By the view and not by who was started first: an earlier kill may have made another one the oldest.
    leader = next(member for member in members if member.process == view["members"][0])
    if kill == "member":
        return rng.choice([member for member in members if member is not leader])
    return leader
