"""Faults put into a node's calls on purpose, so that real processes meet a bad network; off unless asked for.

    GCOM_FAULTS="seed=7,drop=0.1,delay=0..40ms,duplicate=0.05,reorder=0.05,cut=alice>bob"
    GCOM_FAULTS=@FILE       the same from a file, read again whenever it has changed: all processes are cut at once

Only faults that a network has (docs/TESTING.md has the words):

  * a request that is dropped, or whose answer is, ends the call as a broken connection does;
  * a request that is reordered seems dropped to the caller, and arrives after a later one;
  * a request over a cut is swallowed: the call waits until the cut is healed or its time is over. The answers of a
    caller that is cut off are lost as well, since nothing that it sends arrives.

Draws come from one generator per pair of names and seed, so that threads do not disturb each other's.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event, Lock
from time import monotonic

from loguru import logger

from gcom.errors import BadValue, PeerError
from gcom.runtime import pyro
from gcom.values import names

VARIABLE = "GCOM_FAULTS"
REGISTRY = "registry"  # the registry's name in a cut
ANYBODY = "*"
TEXT_CHARS_MAX = 64 * 1024
DELAY_MS_MAX = 10_000
HELD_MAX = 4  # reordered requests that wait for a later one; the oldest is lost for good
HEAL_POLL_S = 0.01  # how soon a call that waits at a cut sees that it is healed

_ALLOWED = "seed=N, drop=P, drop_reply=P, duplicate=P, reorder=P (P: 0 to 1), delay=A..Bms, cut=A>B or cut=A+B<>C+D"
_DELAY = re.compile(r"([0-9]{1,6})(?:\.\.([0-9]{1,6}))?ms")
_CUT = re.compile(r"([^<>]+)(<?>)([^<>]+)")
_SHARES = ("drop", "drop_reply", "duplicate", "reorder")


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """The faults that calls may have. `cuts` are pairs of names: nothing from the first reaches the second."""

    seed: int = 0
    drop: float = 0.0
    drop_reply: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    delay_ms: tuple[int, int] = (0, 0)  # each way
    cuts: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def parse(cls, text: str) -> FaultPlan:
        """Read a plan from a text; raises BadValue naming what is allowed."""
        shares: dict[str, float] = {}
        cuts: set[tuple[str, str]] = set()
        seed, delay_ms = 0, (0, 0)
        if len(text) > TEXT_CHARS_MAX:
            raise BadValue(f"faults of {len(text):,} characters are too long: at most {TEXT_CHARS_MAX:,}")
        for item in [item for item in re.split(r"[,\s]+", text) if item]:
            key, _, value = item.partition("=")
            if key == "cut":
                cuts.update(_cuts(item, value))
            elif key == "seed" and value.isascii() and value.isdigit() and len(value) <= 18:
                seed = int(value)
            elif key == "delay":
                delay_ms = _delay_ms(item, value)
            elif key in _SHARES:
                shares[key] = _share(item, value)
            else:
                raise _bad(item)
        return cls(seed, delay_ms=delay_ms, cuts=frozenset(cuts), **shares)

    def __str__(self) -> str:
        """Return a text that parses to this plan; `none` where nothing goes wrong."""
        items = [f"{name}={getattr(self, name):g}" for name in _SHARES if getattr(self, name)]
        if any(self.delay_ms):
            items.append(f"delay={self.delay_ms[0]}..{self.delay_ms[1]}ms")
        items += [f"cut={source}>{target}" for source, target in sorted(self.cuts)]
        return ",".join([f"seed={self.seed}", *items]) if items else "none"

    def cut(self, source: str, target: str) -> bool:
        """Tell whether nothing gets from one name to the other."""
        return bool(self.cuts) and any((a, b) in self.cuts for a in (source, ANYBODY) for b in (target, ANYBODY))


@dataclass(frozen=True, slots=True)
class _Fate:
    """The fate of one call, but for cuts."""

    there_s: float
    back_s: float
    drop: bool
    drop_reply: bool
    duplicate: bool
    reorder: bool


@dataclass(slots=True)
class _Way:
    """The way from this node to one name."""

    rng: Random
    held: deque[bytes] = field(default_factory=lambda: deque(maxlen=HELD_MAX))

    def draw(self, plan: FaultPlan) -> _Fate:
        """Draw a fate, with as many draws whatever the plan is, so that a change of it moves no later fate."""
        drop, reply, again, late, there, back = (self.rng.random() for _ in range(6))
        least, most = plan.delay_ms
        there_s, back_s = ((least + share * (most - least)) / 1000 for share in (there, back))
        return _Fate(
            there_s, back_s, drop < plan.drop, reply < plan.drop_reply, again < plan.duplicate, late < plan.reorder
        )


class FaultInjector:
    """The faults of one node's calls, changed by `change`, or by the file that they come from.

    Raises BadValue for a text or file that says nothing sensible. Any thread may call anything.
    """

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._lock = Lock()
        self._closed = Event()
        self._ways: dict[str, _Way] = {}
        self._file: Path | None = None
        self._seen: tuple[int, ...] = ()
        self._plan = FaultPlan()
        self.change(text)

    def change(self, text: str) -> None:
        """Have these faults from now on, in place of what there was; `@FILE` follows a file."""
        with self._lock:
            self._file = Path(text[1:]) if text.startswith("@") else None
            if self._file is None:
                self._adopt(FaultPlan.parse(text))
            else:
                self._seen = _stamp(self._file)
                self._adopt(FaultPlan.parse(_content(self._file)))

    def close(self) -> None:
        """End every wait: the node closes."""
        self._closed.set()

    def call(self, caller: pyro.Caller, peer: str, data: bytes, timeout_s: float) -> bytes:
        """Put a request to `peer`, a process or the registry, as the faults let it; raises as `Caller.call` does."""
        deadline = monotonic() + timeout_s
        target = names.name_of(peer)
        with self._lock:
            way = self._way(target)
            fate = way.draw(self._current())
        self._closed.wait(fate.there_s)
        self._pass_cut(target, deadline)
        if fate.reorder and target != REGISTRY:  # no request outlives the registry that it was put to
            with self._lock:
                way.held.append(data)
        if fate.reorder or fate.drop:
            raise pyro.ConnectionLost(f"the request to {target} was lost, on purpose")
        answer = caller.call(data, max(0.001, deadline - monotonic()))
        for late in self._late(way, data, fate):
            self._put_late(caller, late, deadline)
        self._closed.wait(fate.back_s)
        if fate.drop_reply or self._is_cut(target, self._name):
            raise pyro.ConnectionLost(f"the answer of {target} was lost, on purpose")
        return answer

    def _pass_cut(self, target: str, deadline: float) -> None:
        while self._is_cut(self._name, target):
            left = deadline - monotonic()
            if left <= 0 or self._closed.wait(min(left, HEAL_POLL_S)):
                raise pyro.TimedOut(f"the way to {target} is cut, on purpose")

    def _is_cut(self, source: str, target: str) -> bool:
        with self._lock:
            return self._current().cut(source, target)

    def _late(self, way: _Way, data: bytes, fate: _Fate) -> Iterator[bytes]:
        """Yield the requests that arrive after this one: it once more, and older ones that were held up."""
        if fate.duplicate:
            yield data
        with self._lock:
            held = list(way.held)
            way.held.clear()
        yield from held

    @staticmethod
    def _put_late(caller: pyro.Caller, data: bytes, deadline: float) -> None:
        """Put a request for whose answer nobody waits."""
        try:
            caller.call(data, max(0.001, deadline - monotonic()))
        except (pyro.ConnectionRefused, pyro.ConnectionLost, pyro.TimedOut, PeerError):
            return

    # the lock is held

    def _way(self, target: str) -> _Way:
        found = self._ways.get(target)
        if found is None:
            found = self._ways[target] = _Way(Random(f"{self._plan.seed} {self._name}>{target}"))
        return found

    def _current(self) -> FaultPlan:
        """Return the plan in force; a file that changed is read again, and one that means nothing is warned of."""
        if self._file is not None and (seen := _stamp(self._file)) != self._seen:
            self._seen = seen
            try:
                self._adopt(FaultPlan.parse(_content(self._file)))
            except BadValue as error:
                logger.warning("{}; the faults of {} stay as they were", error, self._name)
        return self._plan

    def _adopt(self, plan: FaultPlan) -> None:
        if plan.seed != self._plan.seed:
            self._ways.clear()
        self._plan = plan
        logger.warning("the calls of {} have faults, on purpose: {}", self._name, plan)


def wanted(text: str | None) -> str | None:
    """Return the faults that a program or the environment asks for; None: none."""
    return text if text is not None else os.environ.get(VARIABLE) or None


def _bad(item: str) -> BadValue:
    return BadValue(f"faults: {item[:200]!r} is not one of {_ALLOWED}, or @FILE in place of all")


def _share(item: str, value: str) -> float:
    if not re.fullmatch(r"[0-9]{0,3}(\.[0-9]{0,9})?", value) or not value.strip(".") or float(value) > 1:
        raise _bad(item)
    return float(value)


def _delay_ms(item: str, value: str) -> tuple[int, int]:
    match = _DELAY.fullmatch(value)
    if not match:
        raise _bad(item)
    least = int(match[1])
    most = int(match[2] or match[1])
    if not least <= most <= DELAY_MS_MAX:
        raise BadValue(f"faults: {item!r} is not A..Bms with A <= B <= {DELAY_MS_MAX}")
    return least, most


def _cuts(item: str, value: str) -> Iterator[tuple[str, str]]:
    match = _CUT.fullmatch(value)
    if not match:
        raise _bad(item)
    sources, targets = (_side(match[side]) for side in (1, 3))
    for source in sources:
        for target in targets:
            yield source, target
            if match[2] == "<>":
                yield target, source


def _side(text: str) -> list[str]:
    return [name if name == ANYBODY else names.member_name(name) for name in text.split("+")]


def _content(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(TEXT_CHARS_MAX + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise BadValue(f"faults: file {str(path)!r} cannot be read: {error}") from error


def _stamp(path: Path) -> tuple[int, ...]:
    """Return a value that tells one content of a file from the next; empty where there is no file."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size
