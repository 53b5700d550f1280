"""TLS beside plain loopback, and signed runs beside TLS, in turns within one run: throughput, latency, and joining.

A turn without TLS is followed by one with it, and that by one of a signed group; each figure is the ratio of two sides'
medians.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

import gcom
from gcom.bench.frame import BenchResult, Figure, JsonRow, Tell, figures_result, in_turns
from gcom.bench.latency import turns as latency_turns
from gcom.bench.latency.turns import LatencyTurn
from gcom.bench.processes.child import JOIN_S
from gcom.bench.processes.children import START_S, Children
from gcom.bench.settings import LatencySetup, ThroughputSetup, TlsBenchSetup
from gcom.bench.throughput import turns as throughput_turns
from gcom.bench.throughput.turns import OURS, Turn
from gcom.certificates import identity_files, keys
from gcom.certificates.authority import make_authority, now_utc
from gcom.certificates.identity_files import CertificateFiles
from gcom.runtime.security.process import TLS_VARIABLES
from gcom.values.identity import Identity

JOINER = "joiner"
JOINS = 5  # in each turn
PACED_S = 1.0  # of a turn of latency
PLAIN, TLS, SIGNED = "plain", "tls", "signed"
SIDES = (PLAIN, TLS, SIGNED)
Values = Mapping[str, list[float]]  # of each turn, by side


def measure(setup: TlsBenchSetup, tell: Tell) -> Iterator[BenchResult]:
    """Take all turns. Raises Unavailable or GComTimeout if a process fails."""
    with tempfile.TemporaryDirectory(prefix="gcom-bench-") as folder:
        files = _issued(Path(folder), [*setup.names, JOINER])
        secure = _environment(files)
        environments: dict[str, dict[str, str]] = {PLAIN: {}, TLS: secure, SIGNED: secure}
        # One after the other: throughput keeps all processors busy, and would be measured as latency.
        floods = in_turns(setup.rounds, {it: partial(_flood, setup, it, environments[it]) for it in SIDES}, tell)
        paced = _paced(setup, environments, tell)
    wrong = [f"{side}: {what}" for side, turns in floods.items() for turn in turns for what in turn.wrong]
    wrong += [f"{side}: {what}" for side, turns in paced.items() for turn, _ in turns for what in turn.wrong]
    yield result(
        setup,
        {side: [turn.rate for turn in turns] for side, turns in floods.items()},
        {side: [turn.slowest.p50 for turn, _ in turns] for side, turns in paced.items()},
        {side: [join_s * 1000 for _, joins in turns for _, join_s in joins] for side, turns in paced.items()},
        {side: [connect_s * 1000 for _, joins in turns for connect_s, _ in joins] for side, turns in paced.items()},
        wrong,
    )


def result(
    setup: TlsBenchSetup, rates: Values, p50s_ms: Values, joins_ms: Values, connects_ms: Values, wrong: list[str]
) -> BenchResult:
    """Return the figures of all turns; `signed` is a signed group with TLS."""
    at = f"p50 at {setup.rate:,.0f}/s"
    figures = [
        Figure("throughput_ratio", "throughput, TLS ÷ plain", _ratio(rates, TLS, PLAIN), 0.75, least=True),
        Figure("p50_ratio", f"{at}, TLS ÷ plain", _ratio(p50s_ms, TLS, PLAIN), 1.5),
        Figure("join_ms", "join over TLS, ms", median(joins_ms[TLS]), 100.0, digits=1),
        Figure("signed_throughput_ratio", "throughput, signed ÷ TLS", _ratio(rates, SIGNED, TLS), 0.5, least=True),
        Figure("signed_p50_ratio", f"{at}, signed ÷ TLS", _ratio(p50s_ms, SIGNED, TLS), 2.0),
    ]
    turns = {
        side: {
            "messages_per_s": [round(it) for it in rates[side]],
            "p50_ms": [round(it, 3) for it in p50s_ms[side]],
            "join_ms": [round(it, 1) for it in joins_ms[side]],
            "connect_ms": [round(it, 1) for it in connects_ms[side]],
        }
        for side in SIDES
    }
    fields = {"ok": not wrong, "wrong": wrong, "turns": turns}
    return figures_result(setup, f"TLS beside plain loopback: {setup.members} members", figures, fields, wrong=wrong)


def _ratio(values: Values, side: str, to: str) -> float:
    return median(values[side]) / median(values[to])


def _flood(setup: TlsBenchSetup, side: str, environment: Mapping[str, str]) -> Turn:
    """Take a turn in which all members send at full speed."""
    flood = ThroughputSetup(**_group(setup, side), senders=setup.members, size=setup.size)
    return throughput_turns.take_turn(flood, OURS, setup.seconds, environment=environment)


def _group(setup: TlsBenchSetup, side: str) -> JsonRow:
    words = {"ordering": setup.ordering, "multicast": setup.multicast, "safe": setup.safe}
    return {**words, "members": setup.members, "signed": side == SIGNED}


def _paced(
    setup: TlsBenchSetup, environments: Mapping[str, Mapping[str, str]], tell: Tell
) -> dict[str, list[tuple[LatencyTurn, list[tuple[float, float]]]]]:
    """Take the turns of latency and joining, with the processes of all sides alive."""
    with ExitStack() as stack:
        sides = {}
        for side, environment in environments.items():
            children = stack.enter_context(Children(environment))
            paced = LatencySetup(**_group(setup, side), rate=setup.rate, size=setup.size)
            registry = latency_turns.start(children, paced)
            children.run(JOINER, "gcom.bench.security.tls:JoiningProcess", registry=registry, setup=setup.plain())
            children.gather("ready", [JOINER], START_S)
            sides[side] = partial(_paced_turn, children, paced)
        in_turns(1, sides)  # not counted: connections are made, code is warm
        return in_turns(setup.rounds, sides, tell)


def _paced_turn(children: Children, paced: LatencySetup) -> tuple[LatencyTurn, list[tuple[float, float]]]:
    """Take a turn of latency; then return the seconds that connecting and joining took, too."""
    turn = latency_turns.take_turn(children, paced, PACED_S)
    joins = [children.ask([JOINER], "join", START_S)[JOINER] for _ in range(JOINS)]
    return turn, [(it["connect_s"], it["join_s"]) for it in joins]


class JoiningProcess:
    """A process whose method is the parent's order."""

    def __init__(self, registry: str, setup: JsonRow) -> None:
        self._registry, self._group = registry, TlsBenchSetup(**setup).definition.group

    def join(self) -> JsonRow:
        """Join and leave; return how long it took."""
        began = perf_counter()
        # A node of its own each time: a second join of one node would find its connections made.
        with gcom.connect(JOINER, self._registry) as node:
            connected = perf_counter()
            node.join(self._group, timeout_s=JOIN_S)
            # Within the block: the leave that follows is no part of the time.
            return {"connect_s": connected - began, "join_s": perf_counter() - connected}


def _issued(folder: Path, names: Iterable[str]) -> CertificateFiles:
    """Return the files of a certificate that is every member's of these names, and the registry's."""
    authority, key = make_authority(folder / "authority", now_utc()), keys.new_key()
    # One certificate for all of them: the cost of TLS is measured, and not whose certificate is whose.
    who = Identity(frozenset(names), frozenset(["main"]))
    certificate = authority.issue(key.public_key(), who, now_utc())
    identity_files.save(folder / "identity", keys.key_pem(key), certificate, authority.pem)
    return identity_files.files_in(folder / "identity")


def _environment(files: CertificateFiles) -> dict[str, str]:
    """Return the variables by which processes of this machine take that certificate, and speak TLS."""
    return dict(zip(TLS_VARIABLES, (files.cert, files.key, files.ca), strict=True))
