"""Faults put into a node's calls on purpose, so that real processes meet a bad network; off unless asked for.

    GCOM_FAULTS="seed=7,drop=0.1,delay=0..40ms,duplicate=0.05,reorder=0.05,cut=alice>bob"
    GCOM_FAULTS="delay[alice>bob]=pareto:20ms,drop[*>carol]=0.2,freeze=dave:3000ms"
    GCOM_FAULTS=@FILE       the same from a file, read again whenever it has changed: all processes are cut at once

Only faults that a network has (docs/TESTING.md has the words):

  * a request that is dropped, or whose answer is, ends the call as a broken connection does;
  * a request that is reordered seems dropped to the caller, and arrives after a later one;
  * a request over a cut is swallowed: the call waits until the cut is healed or its time is over. The answers of a
    caller that is cut off are lost as well, since nothing that it sends arrives;
  * a call of, or to, a node that is frozen waits until that is over, as a call to a process that is paused does.

Draws come from one generator per pair of names and seed, so that threads do not disturb each other's.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event, Lock
from time import monotonic

from loguru import logger

from gcom.errors import BadValue, PeerError
from gcom.runtime import pyro
from gcom.runtime.faults import TEXT_CHARS_MAX, Faults, LinkFaults
from gcom.values import names

VARIABLE = "GCOM_FAULTS"
REGISTRY = "registry"  # the registry's name in a cut
HELD_MAX = 4  # reordered requests that wait for a later one; the oldest is lost for good
HEAL_POLL_S = 0.01  # how soon a call that waits at a cut sees that it is healed


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
    """The calls from this node to one name: their random numbers, and requests held back."""

    rng: Random
    held: deque[bytes] = field(default_factory=lambda: deque(maxlen=HELD_MAX))

    def draw(self, faults: LinkFaults) -> _Fate:
        """Draw a fate, with as many draws whatever the faults are, so that a change of them moves no later fate."""
        drop, reply, again, late, there, back = (self.rng.random() for _ in range(6))
        return _Fate(
            faults.delay.seconds(there) if faults.delay else 0.0,
            faults.delay.seconds(back) if faults.delay else 0.0,
            drop < (faults.drop or 0.0),
            reply < (faults.drop_reply or 0.0),
            again < (faults.duplicate or 0.0),
            late < (faults.reorder or 0.0),
        )


class FaultInjector:
    """The faults of one node's calls, changed by `change`, or by the file that they come from.

    Raises BadValue for a text or file that says nothing sensible. Any thread may call anything.
    """

    def __init__(self, name: str, faults: str | Faults) -> None:
        self._name = name
        self._lock = Lock()
        self._closed = Event()
        self._ways: dict[str, _Way] = {}
        self._file: Path | None = None
        self._seen: tuple[int, ...] = ()
        self._plan = Faults()
        self._since = monotonic()  # when these faults came in force
        self.change(faults)

    @property
    def faults(self) -> Faults:
        """The faults in force."""
        with self._lock:
            return self._current()

    def change(self, faults: str | Faults) -> None:
        """Have these faults from now on, in place of what there was; `@FILE` follows a file."""
        if not isinstance(faults, str | Faults):
            raise BadValue(f"faults are a text, or gcom.Faults; got {type(faults).__name__}")
        with self._lock:
            text = faults if isinstance(faults, str) else ""
            self._file = Path(text[1:]) if text.startswith("@") else None
            if self._file is None:
                self._adopt(faults if isinstance(faults, Faults) else Faults.parse(text))
            else:
                # The stamp before the content: a file that changes in between is read once more, and not missed.
                self._seen = _stamp(self._file)
                self._adopt(Faults.parse(_content(self._file)))

    def close(self) -> None:
        """End every wait: the node closes."""
        self._closed.set()

    def call(self, caller: pyro.Caller, peer: str, data: bytes, timeout_s: float) -> bytes:
        """Put a request to `peer`, a process or the registry, as the faults let it; raises as `Caller.call` does."""
        deadline = monotonic() + timeout_s
        target = names.name_of(peer)
        with self._lock:
            # One generator per way, drawn under the lock: the order in which threads call other peers changes nothing
            # here.
            way = self._way(target)
            fate = way.draw(self._current().of_link(self._name, target))
        # A wait that `close` ends, no sleep: a node closes at once, whatever delays its calls have.
        self._closed.wait(fate.there_s)
        self._pass(target, deadline, self._is_cut)
        # Kept to arrive after a later one, as in a network; to its caller it is lost.
        if fate.reorder and target != REGISTRY:  # no request outlives the registry that it was put to
            with self._lock:
                way.held.append(data)
        if fate.reorder or fate.drop:
            raise pyro.ConnectionLost(f"the request to {target} was lost, on purpose")
        # What the faults took of the time is the call's own: else a slow call would last longer than any real one.
        answer = caller.call(data, max(0.001, deadline - monotonic()))
        for late in self._late(way, data, fate):
            self._put_late(caller, late, deadline)
        self._closed.wait(fate.back_s)
        self._pass(target, deadline, self._is_frozen)
        # The faults as they are by now: a cut that came while the call was under way loses the answer.
        if fate.drop_reply or self.faults.cut(target, self._name):
            raise pyro.ConnectionLost(f"the answer of {target} was lost, on purpose")
        return answer

    def _pass(self, target: str, deadline: float, is_shut: Callable[[str, str], bool]) -> None:
        """Wait until the way to a name is open; raises TimedOut if the call's time is over before that."""
        while is_shut(self._name, target):
            left = deadline - monotonic()
            if left <= 0 or self._closed.wait(min(left, HEAL_POLL_S)):
                raise pyro.TimedOut(f"the way to {target} is cut, on purpose")

    def _is_cut(self, source: str, target: str) -> bool:
        with self._lock:
            return self._current().cut(source, target) or self._freezes(source, target)

    def _is_frozen(self, source: str, target: str) -> bool:
        with self._lock:
            return self._freezes(source, target)

    def _late(self, way: _Way, data: bytes, fate: _Fate) -> Iterator[bytes]:
        """Yield the requests that arrive after this one: it once more, and older ones that were held up."""
        if fate.duplicate:
            yield data
        with self._lock:
            # Taken under the lock and put without it: two threads must not put one request each.
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

    def _freezes(self, *names_of: str) -> bool:
        """Tell whether one of these names is frozen now."""
        frozen_ms = self._current().frozen_ms(names_of)
        return frozen_ms > 0 and monotonic() < self._since + frozen_ms / 1000

    def _way(self, target: str) -> _Way:
        found = self._ways.get(target)
        if found is None:
            # Seeded by a text, never by its hash, which differs from process to process: a seed would not replay.
            found = self._ways[target] = _Way(Random(f"{self._plan.seed} {self._name}>{target}"))
        return found

    def _current(self) -> Faults:
        """Return the plan in force; a file that changed is read again, and one that means nothing is warned of."""
        if self._file is not None and (seen := _stamp(self._file)) != self._seen:
            # First: a file that means nothing is warned of once, and not with each call.
            self._seen = seen
            try:
                self._adopt(Faults.parse(_content(self._file)))
            except BadValue as error:
                logger.warning("{}; the faults of {} stay as they were", error, self._name)
        return self._plan

    def _adopt(self, plan: Faults) -> None:
        # With the same seed the draws go on, so that a change of faults moves no later fate.
        if plan.seed != self._plan.seed:
            self._ways.clear()
        self._plan, self._since = plan, monotonic()
        logger.warning("the calls of {} have faults, on purpose: {}", self._name, plan)


def wanted(faults: str | Faults | None) -> str | Faults | None:
    """Return the faults that a program or the environment asks for; None: none."""
    return faults if faults is not None else os.environ.get(VARIABLE) or None


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
    # The inode too: a file that is replaced within one tick of its clock may have the same size.
    return found.st_ino, found.st_mtime_ns, found.st_size
