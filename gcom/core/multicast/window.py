"""A sender's stream of runs, as its sender and as its receivers keep it (JGroups NAKACK4's fixed window).

One structure serves three ends: resending, flow control, and the union of a view change. A run stays in a store until
it is *stable*, held by every member of the view; over BASIC until it was put to each. Cursors and acks move by whole
runs. Only a run that no frame holds is cut, into fragments of its bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from operator import attrgetter

from gcom.values import limits
from gcom.values.names import Process
from gcom.values.run import Fragment, Run

_HELD, _CONSUMED, _ENCODED, _DATA = map(attrgetter, ("held", "consumed", "encoded", "data"))


@dataclass(frozen=True, slots=True)
class Load:
    """The part of a stream that one frame takes: runs, or a fragment of one that no frame holds."""

    runs: tuple[Run, ...] = ()
    fragments: tuple[Fragment, ...] = ()
    size: int = field(init=False)  # bytes of a frame that it takes; 0: it is empty

    def __post_init__(self) -> None:
        # In C loops, and once: each frame asks for the size several times, and a load may have hundreds of
        # runs.
        whole = sum(map(len, map(_ENCODED, self.runs))) + len(self.runs) * limits.RUN_HEADER_BYTES
        parts = sum(map(len, map(_DATA, self.fragments))) + len(self.fragments) * limits.FRAGMENT_HEADER_BYTES
        object.__setattr__(self, "size", whole + parts)

    @property
    def end(self) -> tuple[int, int]:
        """The place where the stream goes on: after which message, and at which byte of the run that follows it."""
        if self.runs:
            return self.runs[-1].last, 0
        fragment = self.fragments[-1]
        return (fragment.first, 0) if fragment.end == fragment.total else (fragment.first - 1, fragment.end)


NOTHING = Load()


class RunStore:
    """Contiguous runs of one sender, each kept until it is dropped.

    Everything up to `floor` was dropped or came before; floor <= last.
    """

    def __init__(self, floor: int) -> None:
        self.floor = floor
        self.last = floor
        self._runs: list[Run] = []
        self._lasts: list[int] = []  # of each run, for bisection
        self._loaded: tuple[tuple[int, int, int], Load] | None = None  # what `load` was asked last, and returned

    def append(self, run: Run) -> None:
        assert run.first == self.last + 1, "runs of a store are contiguous"
        self._runs.append(run)
        self._lasts.append(run.last)
        self.last = run.last
        self._loaded = None

    def after(self, number: int, bytes_max: int) -> list[Run]:
        """Return the runs after `number`, as many as fit; none if the first alone does not."""
        # A peer's status can ask for no such number: a run is dropped only when every peer has acknowledged it.
        assert number >= self.floor, "what was dropped cannot be had again"
        found: list[Run] = []
        for run in self._runs[bisect_right(self._lasts, number) :]:
            bytes_max -= len(run.encoded) + limits.RUN_HEADER_BYTES
            if bytes_max < 0:
                break
            found.append(run)
        return found

    def load(self, number: int, at_byte: int, bytes_max: int) -> Load:
        """Return what a frame takes after `number` and the first `at_byte` bytes of the run that follows it."""
        # Peers mostly stand at the same place: what one is given is counted once for all.
        asked = number, at_byte, bytes_max
        if self._loaded is None or self._loaded[0] != asked:
            self._loaded = asked, self._load(*asked)
        return self._loaded[1]

    def _load(self, number: int, at_byte: int, bytes_max: int) -> Load:
        runs = self.after(number, bytes_max)
        place = bisect_right(self._lasts, number)
        if runs or place == len(self._runs):
            return Load(tuple(runs))
        # There is a run, and no frame holds it: it goes in fragments.
        return Load(fragments=(_cut(self._runs[place], at_byte, bytes_max),))

    def drop(self, number: int) -> None:
        """Forget the runs up to `number`."""
        count = bisect_right(self._lasts, number)
        if count:
            self.floor = self._lasts[count - 1]
            del self._runs[:count], self._lasts[:count]
            self._loaded = None  # else it would be kept in memory

    def ends_at(self, number: int) -> bool:
        """Return whether the stream can be cut after `number`: only between runs."""
        return number == self.floor or number in self._lasts

    def truncate(self, number: int) -> None:
        """Forget the runs after `number`, which are in no cut."""
        count = bisect_right(self._lasts, number)
        del self._runs[count:], self._lasts[count:]
        self.last = self._lasts[-1] if count else self.floor
        self._loaded = None


def _cut(run: Run, at_byte: int, bytes_max: int) -> Fragment:
    """Return a fragment that fits."""
    total = len(run.encoded)
    # A peer may claim more bytes than there are; then the run begins anew, or nothing would ever go out.
    at_byte = at_byte if at_byte < total else 0
    # A byte at least, however little room the frame has: a load without any would be taken again and again.
    data = bytes(run.encoded[at_byte : at_byte + max(1, bytes_max - limits.FRAGMENT_HEADER_BYTES)])
    return Fragment(run.sender, run.view, run.first, at_byte, total, data)


@dataclass(slots=True)
class Peer:
    """A receiver of a stream, as its sender knows it; consumed <= held in RELIABLE."""

    cursor: int  # put to the peer
    held: int  # acknowledged by the peer's core
    consumed: int  # behind the peer's application
    view: int = 0  # installed at the peer, by its last status
    wedged: bool = False
    at_byte: int = 0  # bytes put to the peer of the run after `cursor`
    partial: int = 0  # bytes at the peer of the run after `held`
    since: int = 0  # 1…since were sent before it was a member: it is given none of them

    def go_back(self) -> None:
        """Go back to what the peer acknowledges: the rest is put again."""
        self.cursor, self.at_byte = self.held, self.partial


class Flow:
    """The part of this process's stream that some application has not read, bounded by the window.

    Credit is another count than the hold ack. A slow application then never makes anybody resend, and a fast core never
    opens the window of a slow application (JGroups MFC).
    """

    def __init__(self, number: int) -> None:
        self._part = limits.WINDOWS_MESSAGES_MAX  # messages: of the windows of all members together
        self._waiting: deque[tuple[int, int]] = deque()  # (last, bytes) of each run not yet consumed by all
        self._bytes = 0
        self._number = number
        self._floor = self._floor_before = number  # now, and at the last tick
        self._may_be_small = False  # a run: the window opens for whatever there is room for, until more is given back

    def share(self, members: int) -> None:
        """Take this sender's part of what all members of a view may have under way together."""
        # Of 16 that all send, each with 8,192 carried a tenth less; of 32, with as much as 16, a message waited for
        # seven seconds and more (docs/decisions/0014).
        few = members <= limits.WINDOW_FEW_MEMBERS
        least = limits.WINDOW_MESSAGES_FEW_MIN if few else limits.WINDOW_MESSAGES_MIN
        self._part = max(least, limits.WINDOWS_MESSAGES_MAX // members)

    @property
    def most(self) -> int:
        """The window, in messages."""
        return min(limits.WINDOW_MESSAGES_MAX, self._part)

    def add(self, run: Run) -> None:
        self._waiting.append((run.last, len(run.encoded)))
        self._bytes += len(run.encoded)
        self._number = run.last

    def consumed(self, floor: int) -> None:
        """Record that every member has consumed 1…floor."""
        if floor > self._floor:
            self._floor, self._may_be_small = floor, False
        while self._waiting and self._waiting[0][0] <= self._floor:
            self._bytes -= self._waiting.popleft()[1]

    @property
    def room(self) -> int:
        """Messages that may be numbered now."""
        # The bound is checked before a run is added, so one message of any size is let in.
        if self._bytes >= limits.WINDOW_BYTES_MAX:
            return 0
        return max(0, self.most - (self._number - self._floor))

    def opens_for(self, count: int) -> bool:
        """Return whether so many messages may be numbered now, or a run of the largest kind, or a part of the window.

        What a slow reader gives back in small pieces would be sent in small pieces for good (Clark 1982, RFC 813 §3).
        """
        room = self.room
        worth = min(count, limits.RUN_MESSAGES_MAX, self.most // limits.WINDOW_PARTS)
        return room > 0 and (self._may_be_small or room >= worth)

    def stop_waiting(self) -> bool:
        """Open for whatever there is room for, if no room was given back since the last call; return whether it does.

        To be called with each tick (RFC 1122 §4.2.3.4: the override timeout).
        """
        self._may_be_small, self._floor_before = self._floor == self._floor_before, self._floor
        return self._may_be_small


class OwnStream:
    """This process's own stream in the view: numbers, cursors, acks, credit."""

    def __init__(self, process: Process, number: int) -> None:
        self.process = process
        self.number = number  # last assigned
        self.store = RunStore(number)
        self.flow = Flow(number)
        self.peers: dict[Process, Peer] = {}
        self.stable = number  # held by all of the view
        self.self_consumed = number

    @property
    def all_stable(self) -> bool:
        """Return whether every member of the view holds all that has a number."""
        return self.stable == self.number

    def add(self, run: Run) -> None:
        assert run.first == self.number + 1, "numbers are dense"
        self.number = run.last
        self.store.append(run)
        self.flow.add(run)
        # Alone in the view no status will come; what is sent is stable at once.
        if not self.peers:
            self._recount()

    def install(self, peers: list[Process]) -> None:
        """Begin a view: all that was sent before is settled, so every cursor stands at the last number."""
        # A new store, not an emptied one: the old one is still read by members that fetch the cut of the last
        # view.
        self.store = RunStore(self.number)
        old = self.peers
        self.peers = {peer: self._carried(old.get(peer)) for peer in peers}
        self.flow.share(len(peers) + 1)
        self._recount()

    def _carried(self, peer: Peer | None) -> Peer:
        if peer is None:
            # A newcomer has nothing of this stream and will get nothing of it: its base is the cut.
            return Peer(self.number, self.number, self.number, since=self.number)
        # Nothing of before is put again: all who are in the view have the whole cut, or fetch it from whom
        # the change names. Credit goes on.
        return Peer(self.number, self.number, peer.consumed, peer.view, since=peer.since)

    def on_status(self, peer: Peer, held: int, consumed: int, partial: int = 0) -> None:
        """Take an ack and credit from a peer in the same view."""
        # A status with a smaller ack was overtaken by a later one; its `partial` is of another run.
        if held >= peer.held:
            peer.partial = partial
        if held > peer.held or consumed > peer.consumed:
            # A peer may lie: it cannot acknowledge what was not sent, or a run would be dropped too early.
            # Never back: a status that was overtaken on its way would make stable runs unstable that are
            # dropped already.
            peer.held = max(peer.held, min(held, self.number))
            peer.consumed = max(peer.consumed, min(consumed, self.number))
            self._recount()

    def on_self_consumed(self, number: int) -> None:
        self.self_consumed = max(self.self_consumed, number)
        self._recount()

    def _recount(self) -> None:
        """Compute anew how far all members hold this stream, and how far all have consumed it."""
        # Kept, not computed when asked: every frame asks, and only acks, credit and views change it.
        peers = self.peers.values()
        self.stable = min(map(_HELD, peers), default=self.number)
        self.flow.consumed(min([self.self_consumed, *map(_CONSUMED, peers)]))
