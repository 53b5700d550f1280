"""A member as a process of its own: told what to do by lines on its input, it tells what it sees on its output.

    python -m tests.runtime.worker NAME REGISTRY GROUP [OPTION...]

With `--state BYTES` it keeps a state of so many bytes and a digest of each sender's texts, gives it, and takes it; with
`--keep` its state is the list of all texts in the order in which they came.

Input: `flow [THREADS]` (send numbered texts, each thread about a thousand a second), `pour BYTES` (send messages of
that size, each once all hold the one before), `stop`, `send TEXT`, `confirm TEXT` (send it, and say so when a majority
holds it), `report`, `assembled` (what there is of messages in fragments), `leave`, `end` (end without closing
anything), `wait` (block in receive until interrupted), `mute` (what it sends gets serials, and reaches nobody). Output:
one JSON object a line, with `at`, the seconds of the monotonic clock that all processes of a machine share.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections import Counter
from time import monotonic
from typing import Any
from zlib import crc32

from loguru import logger

import gcom
from gcom.core.multicast.window import Load

JOIN_S = 3.0  # of one attempt
AGAIN_S = 0.1  # between two
LARGE = 1024 * 1024

_telling = threading.Lock()  # a line of one thread is not cut by another's


def tell(kind: str, **fields: Any) -> None:
    with _telling:
        print(json.dumps({"type": kind, "at": monotonic(), **fields}), flush=True)


def poured(place: int, size: int) -> bytes:
    """Return the text that a worker pours at a place."""
    return (f"{place} ".encode() * (size // 2))[:size]


class State:
    """The state of an application, built from all texts: of each sender how many, and a digest of them in order."""

    def __init__(self, size: int) -> None:
        self._padding = bytes(range(256)) * (size // 256)
        self.streams: dict[str, list[int]] = {}

    def add(self, message: gcom.Message) -> None:
        stream = self.streams.setdefault(message.sender, [0, 0])
        stream[:] = [stream[0] + 1, crc32(message.data, stream[1])]

    def get(self) -> bytes:
        data = json.dumps(self.streams).encode() + b"\n" + self._padding
        tell("gave", size=len(data))
        return data

    def set(self, data: bytes) -> None:
        streams, _, self._padding = data.partition(b"\n")
        self.streams = json.loads(streams)
        tell("took", size=len(data))


class Kept(State):
    """All texts in order: what came to be in it must be in it for ever."""

    def __init__(self) -> None:
        super().__init__(0)
        self.texts: list[str] = []

    def add(self, message: gcom.Message) -> None:
        self.texts.append(message.text)

    def get(self) -> bytes:
        return json.dumps(self.texts).encode()

    def set(self, data: bytes) -> None:
        self.texts = json.loads(data)
        tell("took", texts=self.texts)


class Worker:
    """Joins, listens, and obeys."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._pause = threading.Event()
        self._definition = gcom.Definition.parse(options.group, options.ordering, options.multicast, safe=options.safe)
        self._node = self._connect()
        if options.faults:  # not before: another try to connect would only meet the same draws again
            self._node.inject(options.faults)
        self._state = Kept() if options.keep else State(options.state) if options.state is not None else None
        self._group = self._join()
        self._counts: Counter[str] = Counter()
        self._last: dict[str, int] = {}
        self._places: dict[tuple[str, str], int] = {}  # of texts, by sender and thread
        self._out_of_order = 0
        self._stop = threading.Event()
        self._senders: list[threading.Thread] = []
        self._sent = 0
        self._counting = threading.Lock()

    def _connect(self) -> gcom.Node:
        while True:
            try:
                return gcom.connect(self._options.name, self._options.registry, log_dir=self._options.log_dir)
            except gcom.Unavailable as error:
                self._try_again(error)

    def _join(self) -> gcom.Group:
        create = None if self._options.find else self._definition
        timeout_s = JOIN_S if self._options.persist else None
        while True:
            try:
                gives, takes = (self._state.get, self._state.set) if self._state else (None, None)
                return self._node.join(
                    self._definition.group, create=create, get_state=gives, set_state=takes, timeout_s=timeout_s
                )
            except gcom.GComError as error:
                self._try_again(error)

    def _try_again(self, error: gcom.GComError) -> None:
        """Try again where the obstacle may go: a registry that is down, a former holder of the name."""
        if not self._options.persist:
            raise error
        tell("kept_out", error=type(error).__name__, text=str(error))
        self._pause.wait(AGAIN_S)

    def listen(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for event in self._group.events():
            self._on_event(event)

    def _on_event(self, event: gcom.Event) -> None:
        match event:
            case gcom.Message():
                self._out_of_order += event.number <= self._last.get(event.sender, 0)
                self._last[event.sender] = event.number
                self._check_place(event)
                self._counts[event.name] += 1
                if len(event.payload) >= LARGE:
                    data = event.data
                    tell("large", sender=event.name, number=event.number, sum=crc32(data), size=len(data))
                if self._state:
                    self._state.add(event)
            case gcom.ViewChange(view=view, left=left):
                instance = self._group.instance
                tell("view", number=view.number, members=view.names, left=list(left.values()), instance=instance)
            case gcom.StateLost(reason=reason):
                tell("state_lost", reason=reason)
            case gcom.StateRestored(reason=reason):
                tell("state_restored", reason=reason)
            case gcom.Departure():
                doubt = {"unconfirmed": event.unconfirmed, "unsent": event.unsent}
                tell("departure", reason=event.reason, returning=event.returning, **doubt)
            case gcom.Returned():
                tell("returned", process=event.process)
            case gcom.Suspicion(process=process):
                tell("suspicion", process=process)
            case gcom.QuorumLost() | gcom.QuorumRegained():
                tell("quorum", has=isinstance(event, gcom.QuorumRegained), in_doubt=event.in_doubt)
            case gcom.Settled():
                tell("settled", first=event.first, last=event.last, arrived=event.arrived)
            case gcom.Lost():
                tell("lost", count=event.count)

    def _check_place(self, event: gcom.Message) -> None:
        """The texts of one thread come in the order in which it sent them."""
        match event.payload.split() if isinstance(event.payload, str) else []:
            case ["text", thread, place]:
                stream = event.sender, thread
                self._out_of_order += int(place) <= self._places.get(stream, -1)
                self._places[stream] = int(place)

    def report(self) -> None:
        counts = dict(self._counts)
        tell(
            "report",
            counts=counts,
            sent=self._sent,
            out_of_order=self._out_of_order,
            state=self._state.streams if self._state else {},
            texts=self._state.texts if isinstance(self._state, Kept) else [],
        )

    def _begin(self, *senders: threading.Thread) -> None:
        self._stop.clear()
        self._senders = list(senders)
        for sender in senders:
            sender.start()

    def _stop_sending(self) -> None:
        """Its last message counts, too: one that is just being sent would be missing from `sent`, and arrive."""
        self._stop.set()
        for sender in self._senders:
            sender.join()

    def flow(self, count: int) -> None:
        self._begin(*[threading.Thread(target=self._flow, args=(thread,), daemon=True) for thread in range(count)])

    def _flow(self, thread: int) -> None:
        place = 0
        while not self._stop.wait(self._options.every_ms / 1000):
            try:
                self._group.send(f"text {thread} {place}")
                place += 1
                with self._counting:
                    self._sent += 1
            except gcom.GComError as error:
                tell("refused", error=type(error).__name__, text=str(error))
                if not self._options.persist:
                    return
                self._stop.wait(AGAIN_S)

    def pour(self, size: int) -> None:
        """The payload of a message repeats its place in the stream, so that no two are alike."""
        self._begin(threading.Thread(target=self._pour, args=(size,), daemon=True))

    def _pour(self, size: int) -> None:
        while not self._stop.is_set():
            self._sent += 1
            self._group.send(poured(self._sent, size), None, "all")
            tell("poured", number=self._sent)

    def confirm(self, text: str) -> None:
        """Send a text that a majority holds when this returns: a promise to whoever asked for it."""
        self._group.send(text, None, "majority")
        tell("confirmed", text=text)

    def assembled(self) -> None:
        member = self._group._session.machine._member
        assert member is not None
        found = list(member.streams.multicast.assemblies.open.values())
        tell("assembled", count=len(found), bytes=sum(len(each.data) for each in found))

    def mute(self) -> None:
        """From now on no call has a message of its own in it; its questions to the sequencer and heartbeats go on."""
        member = self._group._session.machine._member
        assert member is not None
        take = member.streams.multicast.take

        def lost(peer: str, bytes_max: int, whole: bool = False) -> Load:
            take(peer, bytes_max, whole)  # it counts as put: else no later message would get a number
            return Load()

        member.streams.multicast.take = lost  # type: ignore[method-assign]
        tell("muted")

    def obey(self, line: str) -> None:
        word, _, rest = line.strip().partition(" ")
        match word:
            case "flow":
                self.flow(int(rest or 1))
            case "pour":
                self.pour(int(rest))
            case "assembled":
                self.assembled()
            case "mute":
                self.mute()
            case "stop":
                self._stop_sending()
                self._group.flush()
                tell("stopped", sent=self._sent)
            case "send":
                self._group.send(rest)
            case "confirm":
                self.confirm(rest)
            case "report":
                self.report()
            case "leave":
                self._node.close()
                tell("left")

    def run(self) -> None:
        for line in sys.stdin:
            if line.strip() == "end":
                return
            if line.strip() == "wait":
                self.wait()
                return
            self.obey(line)

    def wait(self) -> None:
        """Block in receive, which nothing but an interrupt ends."""
        self._group.receive()  # its own view
        try:
            tell("waiting")
            self._group.receive()
        except KeyboardInterrupt:
            tell("interrupted")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in ("name", "registry", "group"):
        parser.add_argument(name)
    parser.add_argument("--ordering", default="FIFO")
    parser.add_argument("--multicast", default="RELIABLE")
    parser.add_argument("--safe", action="store_true")
    parser.add_argument("--log-dir")
    parser.add_argument("--faults", help="put into its calls once it is connected")
    parser.add_argument("--every-ms", type=float, default=1.0, help="between texts")
    parser.add_argument("--persist", action="store_true", help="try until it is in, and send whenever it may")
    parser.add_argument("--state", type=int, help="keep a state of so many bytes")
    parser.add_argument("--keep", action="store_true", help="keep all texts as its state")
    parser.add_argument("--find", action="store_true", help="do not make the group")
    parser.add_argument("--quiet", action="store_true", help="do not listen")
    parser.add_argument("--warn", action="store_true", help="show GCom's log on standard error")
    return parser.parse_args()


def main() -> None:
    options = parsed()
    if options.warn:
        logger.enable("gcom")
    worker = Worker(options)
    tell("joined")
    if not options.quiet:
        worker.listen()
    worker.run()


if __name__ == "__main__":
    main()
