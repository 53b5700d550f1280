"""A member that sends without end and reports what happens to it.

One process may be in many groups, one after the other. It is told to join, to flow (send a stamped message every few
milliseconds), to watch (say when it has heard from all who are left), and to leave. CLOCK_MONOTONIC is one clock for
all processes of a machine, so a stamp of one process can be compared with a delivery at another.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import struct
import sys
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from time import monotonic

import gcom
from gcom.bench.frame import JsonRow
from gcom.bench.processes import child

SEND_S = 30.0  # a send that waits longer is told as refused
KEPT = 20_000  # deliveries; several seconds of all senders

_STAMP = struct.Struct("!d")


@dataclass(frozen=True, slots=True)
class SeenDelivery:
    """A delivery: its sender, the times of sending and delivery, its view."""

    sender: str
    sent_at: float
    at: float
    view: int


@dataclass(slots=True)
class DeliveryWatch:
    """A wait for a message of each of `senders` that was sent after `since`, and for one in a view without `gone`."""

    token: int
    since: float
    senders: frozenset[str]
    gone: str
    first: dict[str, float] = field(default_factory=dict)
    resumed: dict[str, float] = field(default_factory=dict)

    def take(self, seen: SeenDelivery, members: Iterable[str]) -> bool:
        """Take a delivery; return whether nothing is missing any more."""
        if seen.sent_at > self.since and seen.sender in self.senders:
            # The first of each sender: the slowest of them is the figure.
            self.first.setdefault(seen.sender, seen.at)
            # A message in a view with the dead member came before the group went on without it.
            if self.gone not in members:
                self.resumed.setdefault(seen.sender, seen.at)
        return len(self.resumed) == len(self.senders)

    def report(self) -> JsonRow:
        return {"token": self.token, "first": max(self.first.values()), "resumed": max(self.resumed.values())}


class ProbeProcess:
    """The member. The parent's orders are its methods, called in the main thread; events and sends have their own."""

    def __init__(self, node: gcom.Node) -> None:
        self._node = node
        self._lock = threading.Lock()
        # With an end: a probe lives through hundreds of trials, and a watch is only ever about the last seconds.
        self._seen: deque[SeenDelivery] = deque(maxlen=KEPT)
        self._watch: DeliveryWatch | None = None
        self._views: dict[int, tuple[str, ...]] = {}
        self._group: gcom.Group | None = None
        self._counts: Counter[str] = Counter()  # the application's state: messages, by sender
        self._stop = threading.Event()
        self._stop.set()

    def join(self, definition: JsonRow, at: float | None, state: bool) -> None:
        """Join at that instant, if given; with `state` hand over what was counted, and take it."""
        wanted = gcom.Definition.parse(**definition)
        wait_until(at)
        at = monotonic()
        give, take = (self._get_state, self._set_state) if state else (None, None)
        self._counts = Counter()
        group = self._node.join(wanted.group, create=wanted, get_state=give, set_state=take, timeout_s=child.JOIN_S)
        with self._lock:
            # Reports of the group before must not answer a wait that is about this one.
            self._seen.clear()
            self._views.clear()
            self._watch = None
        self._group = group
        child.say("joined", process=group.process, instance=group.instance, at=at)
        threading.Thread(target=self._receive, args=(group,), name="receives", daemon=True).start()

    def _get_state(self) -> bytes:
        return json.dumps(self._counts).encode()

    def _set_state(self, data: bytes) -> None:
        self._counts = Counter(json.loads(data))
        child.say("state", messages=self._counts.total(), at=monotonic())

    def _receive(self, group: gcom.Group) -> None:
        for event in group.events():
            match event:
                case gcom.Message():
                    self._counts[event.sender] += 1
                    # The payload is its own time of sending, so a delivery alone gives the latency.
                    (sent_at,) = _STAMP.unpack(event.data)
                    self._take(SeenDelivery(event.sender, sent_at, monotonic(), event.view))
                case gcom.ViewChange(view=view):
                    with self._lock:
                        self._views[view.number] = view.members
                    child.say("view", group=group.name, number=view.number, members=view.members, at=monotonic())
                case gcom.QuorumLost():
                    child.say("detached", group=group.name, at=monotonic())
                case gcom.Departure():
                    child.say("departed", group=group.name, reason=event.reason, at=monotonic())
                case gcom.Returned():
                    child.say("returned", group=group.name, process=event.process, at=monotonic())
                case _:
                    pass  # what else there is to hear is not measured

    def _take(self, seen: SeenDelivery) -> None:
        with self._lock:
            self._seen.append(seen)
            self._show_to_watch(seen)

    def watch(self, token: int, since: float, senders: list[str], gone: str) -> None:
        with self._lock:
            self._watch = DeliveryWatch(token, since, frozenset(senders), gone)
            # What is waited for may have come before the order to wait.
            for seen in self._seen:
                self._show_to_watch(seen)

    def _show_to_watch(self, seen: SeenDelivery) -> None:
        """Show a delivery to the watch, and report the watch's end if that was its last one. The lock is held."""
        watch = self._watch
        if watch is not None and watch.take(seen, self._views.get(seen.view, ())):
            self._watch = None
            child.say("seen", **watch.report())

    def flow(self, every_s: float) -> None:
        assert self._group is not None, "told to join before"
        self._stop = threading.Event()
        arguments = (self._group, self._stop, every_s)
        # A thread per flow: a send may wait for a whole failover, and orders must be heard meanwhile.
        threading.Thread(target=_send_all, args=arguments, name="sends", daemon=True).start()

    def leave(self) -> JsonRow:
        assert self._group is not None, "told to join before"
        self._stop.set()
        at = monotonic()
        self._group.leave()
        return {"at": at}

    def stop(self) -> None:
        """Send no more."""
        self._stop.set()


def wait_until(at: float | None) -> None:
    """Return at that time of the monotonic clock, or at once."""
    pause = threading.Event()
    while at is not None and (left := at - monotonic()) > 0:
        # Again and again, as a wait may end early.
        pause.wait(left)


def _send_all(group: gcom.Group, stop: threading.Event, every_s: float) -> None:
    """Send until told to stop; report the first refusal of a series."""
    refused = False
    while not stop.wait(every_s):
        try:
            # Stamped before the send: the time that it waits is a part of the failover.
            group.send(_STAMP.pack(monotonic()), SEND_S)
            refused = False
        except gcom.GComError as error:
            # The first of a series is the instant that is measured; a report per refusal would be thousands.
            if not refused:
                child.say("refused", group=group.name, error=type(error).__name__, at=monotonic())
            refused = True


@contextlib.contextmanager
def probe(name: str, registry: str) -> Iterator[ProbeProcess]:
    with gcom.connect(name, registry) as node:
        made = ProbeProcess(node)
        yield made
        made.stop()


def pause(process: int, seconds: float) -> None:
    """Stop a process until the parent lets it go on, or for so long; report the time of each.

    A process that is stopped cannot see that its parent is gone. This one sees it, so nothing stays stopped for ever.
    """
    with contextlib.suppress(ProcessLookupError):  # it ended
        at = monotonic()
        os.kill(process, signal.SIGSTOP)
        child.say("stopped", at=at)
        # Until its parent lets it go, dies, or the time is over: in each case the stopped process goes on.
        select.select([sys.stdin], [], [], seconds)
        at = monotonic()
        os.kill(process, signal.SIGCONT)
        child.say("continued", at=at)
