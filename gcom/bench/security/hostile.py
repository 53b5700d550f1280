"""Honest members beside hostile connections: the ages of their messages with and without, in turns within one run."""

from __future__ import annotations

import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from threading import Event
from typing import Annotated

from gcom.bench.benchmark import BenchSetup, Between, Bounded, Tell, verdict
from gcom.bench.latency import turns as latency_turns
from gcom.bench.latency.turns import LatencySetup
from gcom.bench.processes.children import START_S, Children, Report
from gcom.bench.security import certificates
from gcom.runtime import pyro
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.values.names import place_of

WORSE_MS_MOST = 100.0  # honest p99 with hostile connections, minus that without
ATTACKER = "attacker"
SETTLE_S = 1.0  # for all connections to be dialled, or ended
ASK_S = 10.0  # a limit for what hangs, not a figure
SIZE = 100  # a chat message's, as in the other benches


@dataclass(frozen=True, slots=True)
class HostileBenchSetup(BenchSetup):
    """The members of a group over TLS, one of them sending at `rate`, and the hostile `connections` at once."""

    connections: Annotated[int, Between(1, 20_000)]
    rate: Annotated[float, Between(1, 100_000)]
    rounds: Annotated[int, Between(1, 1000)]

    @property
    def latency(self) -> LatencySetup:
        return LatencySetup(self.definition, self.members, 1, self.rate, SIZE, 1.0)


@dataclass(frozen=True, slots=True)
class HostileBenchResult:
    """The p99 of honest messages in ms, by turn, and what the attacker did."""

    setup: HostileBenchSetup
    quiet_ms: tuple[float, ...]
    attacked_ms: tuple[float, ...]
    dialled: int
    ended: int
    most: int
    wrong: tuple[str, ...]

    @property
    def worse_ms(self) -> float:
        return median(self.attacked_ms) - median(self.quiet_ms)

    @property
    def figures(self) -> list[Bounded]:
        return [Bounded("worse_ms", "honest p99 worse by, ms", self.worse_ms, WORSE_MS_MOST)]

    def row(self) -> dict[str, object]:
        return {
            **self.setup.row("hostile"),
            "connections": self.setup.connections,
            "rate": self.setup.rate,
            "ok": not self.wrong,
            "wrong": list(self.wrong),
            "p99_ms": {
                "without": [round(it, 3) for it in self.quiet_ms],
                "with": [round(it, 3) for it in self.attacked_ms],
            },
            "worse_ms": round(self.worse_ms, 3),
            "open_at_once": self.most,
            "dialled": self.dialled,
            "ended_by_servers": self.ended,
            **verdict(self.figures),
        }


def measure(setup: HostileBenchSetup, tell: Tell = lambda _text: None) -> HostileBenchResult:
    """Take all turns. Raises Unavailable or GComTimeout if a process fails."""
    p99s_ms: dict[bool, list[float]] = {False: [], True: []}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="gcom-bench-") as folder:
        files = certificates.issued(Path(folder), setup.names)
        with Children(certificates.environment(files)) as children:
            registry = latency_turns.start(children, setup.latency)
            with closing(DirectoryClient(registry, ASK_S, credentials=pyro.Credentials(files))) as client:
                members = [place_of(address) for address in client.lookup(setup.definition.group).addresses]
            children.start(
                ATTACKER, "gcom.bench.security.attacker", str(setup.connections), place_of(registry), *members
            )
            children.gather("ready", [ATTACKER], START_S)
            latency_turns.take_turn(children, setup.latency)  # not counted: connections are made, code is warm
            for number in range(1, setup.rounds + 1):
                # Quiet and attacked within one round, so that what else the machine does falls on both.
                for attacked in (False, True):
                    _switch(children, attacked)
                    turn = latency_turns.take_turn(children, setup.latency)
                    p99s_ms[attacked].append(turn.slowest.p99)
                    wrong += turn.wrong
                    beside = f"beside {setup.connections:,} hostile connections" if attacked else "undisturbed"
                    tell(f"round {number} of {setup.rounds}: p99 {turn.slowest.p99:.2f} ms {beside}")
            # Off once more, which changes nothing: its answer tells what was done in all.
            did = _switch(children, False)
    counts = did["dialled"], did["ended"], did["most"]
    return HostileBenchResult(setup, tuple(p99s_ms[False]), tuple(p99s_ms[True]), *counts, tuple(wrong))


def _switch(children: Children, on: bool) -> Report:
    """Have the attack begin or end, and wait until that is done; return what the attacker did so far."""
    children.tell(ATTACKER, "switch", on=on)
    report = children.gather("switched", [ATTACKER], START_S)[ATTACKER]
    # The answer comes at once: the attacker's thread has yet to dial all its connections, or to end them.
    Event().wait(SETTLE_S)
    return report
