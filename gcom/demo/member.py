"""`python -m gcom.demo.member REGISTRY NAME LOG-FOLDER [FILE]`: one process of the demo.

For each ordering it is ordered to join, go and leave, and reports: joined, progress..., done, left. At the end it
is ordered to join one of these groups again, and reports: again.
"""

from __future__ import annotations

import sys
import threading
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from time import monotonic, monotonic_ns
from typing import Any

import gcom
from gcom.bench.processes import child
from gcom.demo.checks import DemoStream
from gcom.demo.texts import split_lines
from gcom.values.names import name_of

JOIN_S = 30.0  # ten times what it takes on a machine that is busy with all the others
STALL_S = 10.0  # nothing delivered for this long: the rest is missing
PROGRESS_S = 0.1  # how often a terminal's line moves


class DemoTurn:
    """An ordering's turn at this member."""

    def __init__(self, group: gcom.Group, strides: dict[str, int]) -> None:
        self._group = group
        self._name = ""  # of the member whose turn this is
        self._strides = strides  # by sender: one message in so many is timed
        self._streams: defaultdict[str, DemoStream] = defaultdict(DemoStream)
        self._all = DemoStream()  # every line with its sender, as delivered
        self._sent_ns: dict[int, int] = {}
        self._delivered_ns: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self._sender = threading.Thread(target=lambda: None)
        self._answers = threading.Event()  # the last line may go: it follows one of another member, or need not
        self.count = 0

    def start_sending(self, name: str, lines: tuple[bytes, ...]) -> None:
        """Send the lines in a thread; all but the first member keep their last line until they have heard another."""
        self._name = name
        if next(iter(self._strides), name) == name:
            self._answers.set()
        args = (lines, self._strides.get(name, 1))
        self._sender = threading.Thread(target=self._send, args=args, name="sends", daemon=True)
        self._sender.start()

    def _send(self, lines: tuple[bytes, ...], stride: int) -> None:
        for number, line in enumerate(lines, 1):
            # 1. A short text is sent before anything is heard. 2. No line follows another member's. 3. The audit has no
            # case of CAUSAL. Bounded: where nothing comes, the parent tells what is missing.
            if number == len(lines):
                self._answers.wait(STALL_S)
            if number % stride == 0:
                self._sent_ns[number] = monotonic_ns()
            self._group.send(line, JOIN_S)

    def take_until(self, count: int) -> None:
        """Take what is delivered, until that many were, or nothing comes any more."""
        told_at = monotonic()
        # A delivery that never comes must end the turn: the parent then says whose lines are missing.
        while self.count < count and self._take_one(STALL_S):
            if monotonic() - told_at > PROGRESS_S:
                told_at = monotonic()
                child.say("progress", count=self.count)

    def take_rest(self) -> None:
        """Take the rest after the group was left; any delivery now is one too many."""
        try:
            while self._take_one(0):
                pass
        except (gcom.NotAMember, gcom.Detached):
            pass

    def _take_one(self, timeout_s: float) -> bool:
        event = self._group.receive(timeout_s)
        if isinstance(event, gcom.Message):
            name = name_of(event.sender)
            self._streams[name].add(event.data)
            # A zero byte between them, which no name has: else two splits of the same bytes would be one entry.
            self._all.add(name.encode() + b"\0" + event.data)
            self.count += 1
            if name != self._name:
                self._answers.set()
            # One in so many: keeping the times of all messages would cost more memory than the messages.
            stride = self._strides.get(name)
            if stride and event.number % stride == 0:
                self._delivered_ns[name][event.number] = monotonic_ns()
        return event is not None and not isinstance(event, gcom.Departure)

    def report(self) -> dict[str, Any]:
        # Bounded: a sender that still waits for its window must not keep back the report that says so.
        self._sender.join(STALL_S)
        return {
            "count": self.count,
            "streams": {name: asdict(stream.report()) for name, stream in self._streams.items()},
            "sequence": self._all.report().same_order,
            "sent_ns": self._sent_ns,
            "delivered_ns": self._delivered_ns,
        }


def take_turn(node: gcom.Node, name: str, lines: tuple[bytes, ...], order: dict[str, Any]) -> None:
    """Join, send and take, leave, as told."""
    # Patient, by `wan`: no silence is shown here, and a busy machine leaves a process without a turn for a second.
    wanted = gcom.Definition.parse(order["group"], order["ordering"], detection="wan")
    with node.join(wanted.group, create=wanted, timeout_s=JOIN_S) as group:
        group.wait_for_members(order["members"], JOIN_S)
        child.say("joined")
        go = child.hear("go")
        began = monotonic()
        turn = DemoTurn(group, go["strides"])
        # In a thread: sending waits for the window, which only reading here opens.
        turn.start_sending(name, lines)
        turn.take_until(go["count"])
        child.say("done", seconds=monotonic() - began)
        child.hear("leave")
        group.leave(JOIN_S)
        # After leaving: a delivery that comes now was not part of the group's last view.
        turn.take_rest()
    child.say("left", **turn.report())


def live_again(node: gcom.Node, order: dict[str, Any]) -> None:
    """Join a group that has ended, and leave it after two rounds: its name has a second instance then."""
    wanted = gcom.Definition.parse(order["group"], order["ordering"], detection="wan")
    with node.join(wanted.group, create=wanted, timeout_s=JOIN_S) as group:
        group.wait_for_members(order["members"], JOIN_S)
        turn = DemoTurn(group, {})
        # Two rounds: the lines of the second follow those of the first, which CAUSAL judges.
        for rounds in (1, 2):
            group.send(b"here again", JOIN_S)
            turn.take_until(order["members"] * rounds)
        group.leave(JOIN_S)
    child.say("again")


def main() -> None:
    """Take turns until told to end."""
    registry, name, folder, *files = sys.argv[1:]
    lines = split_lines(Path(files[0]).read_bytes()) if files else ()
    with gcom.connect(name, registry, log_dir=folder, log_digests=True) as node:
        child.say("ready")
        while (order := child.hear("join", "again", "end"))["say"] == "join":
            take_turn(node, name, lines, order)
        if order["say"] == "again":
            live_again(node, order)
            child.hear("end")
    child.end()


if __name__ == "__main__":
    main()
