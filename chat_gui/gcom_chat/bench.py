"""`gcom-chat bench`: the figures of the window, each in a process of its own, without a screen.

The updates are fed where the client's threads feed them, so that bridge, model and widgets do all their work.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import quantiles
from threading import Thread

import gcom
from gcom_chat.model.updates import Arrived, Connected, Joined
from gcom_chat.model.wire import ChatMessage, MessageKind, encode

RUN_S = 5.0
FLOOD_PER_S, FLOOD_RUN = 10_000, 100
FLOODER, LAST = "flooder", "that was all"
MEMBERS = ("you#1", "bob#1", "carol#1")
CHILD_S = 300.0


@dataclass(frozen=True, slots=True)
class WindowGoal:
    """A figure: its name, unit, and the most that it may be."""

    name: str
    unit: str
    most: float


GOALS = {
    "start": WindowGoal("window usable after", "s", 1.5),
    "flood": WindowGoal("longest stall at 5,000 messages per second", "ms", 100),
    "another": WindowGoal("the same, while another process sends 10,000", "ms", 100),
    "memory": WindowGoal("resident with 100,000 messages", "MB", 300),
    "typing": WindowGoal("a key shown at 1,000 messages per second, 95 %", "ms", 16),
    "idle": WindowGoal("20 tabs idle, share of a core", "%", 3),
}


def bench(as_json: bool) -> int:
    """Print every figure beside its goal; return the exit status, 1 if one is not reached."""
    short = 0
    for name, goal in GOALS.items():
        value = _in_child(name)
        reached = value <= goal.most
        short += not reached
        if as_json:
            row = {"figure": name, "value": round(value, 2), "unit": goal.unit, "most": goal.most, "reached": reached}
            print(json.dumps(row), flush=True)
        else:
            verdict = "reached" if reached else "short"
            print(f"{goal.name:<50}{value:>8.1f} {goal.unit:<4} at most {goal.most:g}   {verdict}", flush=True)
    return 1 if short else 0


def _in_child(name: str) -> float:
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    # The start is counted from here, with the interpreter's own start and all imports in it.
    command = [sys.executable, "-m", "gcom_chat.bench", name, repr(time.time())]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=CHILD_S)
    if done.returncode:
        raise SystemExit(f"gcom-chat: the bench's process for {name!r} failed:\n{done.stderr[-2000:]}")
    return float(done.stdout.split()[-1])


# --- in the child -----------------------------------------------------------------------------------------------------


def _joined(group: str) -> Joined:
    view = gcom.View(1, MEMBERS, ("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"))
    return Joined(group, MEMBERS[0], gcom.Definition(group, "TOTAL"), view)


def _messages(first: int, count: int) -> Arrived:
    """Return that many messages of two members, as a receiving thread posts them."""
    events = []
    for number in range(first, first + count):
        text = f"message {number}: the quick brown fox jumps over the lazy dog, and so on"
        payload = encode(ChatMessage(MessageKind.TEXT, text, f"{number:x}", 1_763_846_400_000))
        events.append(gcom.Message(MEMBERS[1 + number % 2], number, 1, payload))
    return Arrived("g0", time.time_ns() // 1_000_000, tuple(events))


def _feed(post: Callable[[Arrived], None], per_s: int, for_s: float) -> Thread:
    """Post messages at a rate from a thread of its own."""

    def run() -> None:
        began, sent = time.monotonic(), 0
        while (passed := time.monotonic() - began) < for_s:
            due = int(passed * per_s) - sent
            for at in range(0, due, 500):
                post(_messages(sent + at, min(500, due - at)))
            sent += due
            time.sleep(0.005)

    thread = Thread(target=run, daemon=True)
    thread.start()
    return thread


def _measure(name: str, born: float) -> float:
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QApplication

    from gcom_chat.view.desktop.style import OutlinedStyle
    from gcom_chat.view.window import ChatWindow

    qt = QApplication(["gcom-chat"])
    qt.setStyle(OutlinedStyle())
    window = ChatWindow()
    window.show()
    QTest.qWait(1)
    if name == "start":
        return time.time() - born
    # Past the queue: `post` may not be called in the window's thread, where it could wait for itself.
    window.bridge.arrived.emit([Connected("127.0.0.1:7411", "you")])
    groups = [f"g{number}" for number in range(20 if name == "idle" else 1)]
    for group in groups:
        window.chat.open(group)
    window.bridge.arrived.emit([_joined(group) for group in groups])
    QTest.qWait(200)
    window.tabs["g0"].input.setFocus()
    figures = {"flood": _flood, "another": _flood_of_another, "memory": _memory, "typing": _typing, "idle": _idle}
    return figures[name](window)


def _flood(window: object) -> float:
    """Return the longest stall while a thread of this process feeds the window."""
    return _stall(lambda: _feed(window.bridge.post, 5_000, RUN_S).is_alive)  # type: ignore[attr-defined]


def _flood_of_another(window: object) -> float:
    """Return the longest stall while another process floods a real group; all of it has to be shown."""
    from PySide6.QtTest import QTest

    with subprocess.Popen(
        [sys.executable, "-m", "gcom_chat.bench", FLOODER, "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        wishes, answers = other.stdin, other.stdout
        assert wishes is not None
        assert answers is not None
        registry = answers.readline().strip()
        window.connect_to("alice", registry)  # type: ignore[attr-defined]
        while window.chat.registry != registry:  # type: ignore[attr-defined]
            QTest.qWait(20)
        window.join("flood")  # type: ignore[attr-defined]
        groups = window.chat.groups  # type: ignore[attr-defined]
        while not (view := groups["flood"].members.view) or len(view.members) < 2:
            QTest.qWait(20)
        talk = groups["flood"].conversation

        def begin() -> Callable[[], bool]:
            print("go", file=wishes, flush=True)
            # Among the last few rows: a line about the flooder's leave may stand below it.
            return lambda: all(row.text != LAST for row in list(talk.rows)[-5:])

        return _stall(begin)


def _flooder() -> None:
    """Send 10,000 messages a second, as far as the group's flow control lets them through, from this process."""
    with gcom.embedded() as registry, gcom.connect("bob", registry.address) as bob:
        group = bob.join("flood", create=gcom.Definition.parse("flood", "FIFO"), receive=False)
        print(registry.address, flush=True)
        sys.stdin.readline()
        began, due_s = time.monotonic(), 0.0
        while (passed := time.monotonic() - began) < RUN_S:
            if passed < due_s:
                time.sleep(due_s - passed)
            group.send_many([f"message at {passed:.3f} s: the quick brown fox"] * FLOOD_RUN, timeout_s=CHILD_S)
            due_s += FLOOD_RUN / FLOOD_PER_S
        group.send(LAST)
        group.leave(CHILD_S)


def _stall(begin: Callable[[], Callable[[], bool]]) -> float:
    """Return the longest stall of the event loop, in ms, from `begin()` until the function that it returned is true."""
    from PySide6.QtCore import QTimer
    from PySide6.QtTest import QTest

    gaps: list[float] = []
    last = [time.monotonic()]

    def beat() -> None:
        now = time.monotonic()
        gaps.append(now - last[0])
        last[0] = now

    timer = QTimer(interval=1)
    timer.timeout.connect(beat)
    timer.start()
    QTest.qWait(300)
    # The first layouts of a new window are no stall of what is measured.
    gaps.clear()
    goes_on = begin()
    while goes_on():
        QTest.qWait(10)
    return max(gaps) * 1000


def _memory(window: object) -> float:
    """Return the resident size at its peak, in MB."""
    from PySide6.QtTest import QTest

    from gcom_chat.model.conversation import Conversation

    state = window.chat.groups["g0"]  # type: ignore[attr-defined]
    # A tab keeps fewer rows: here all are to be in memory at once.
    state.conversation = Conversation("g0", rows_max=100_000)
    for first in range(0, 100_000, 500):
        window.bridge.arrived.emit([_messages(first, 500)])  # type: ignore[attr-defined]
    QTest.qWait(200)
    assert len(state.conversation.rows) == 100_000
    # In KiB, as Linux has it.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _typing(window: object) -> float:
    """Return how long a key takes until it is painted, in ms, of 95 %."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    box = window.tabs["g0"].input  # type: ignore[attr-defined]
    feeder = _feed(window.bridge.post, 1_000, RUN_S)  # type: ignore[attr-defined]
    times = []
    while feeder.is_alive():
        QTest.qWait(20)
        began = time.monotonic()
        QTest.keyClick(box, Qt.Key.Key_A)
        # Not `update`, which only asks for a painting later: the painting is part of what is measured.
        box.viewport().repaint()
        times.append((time.monotonic() - began) * 1000)
        # A line that grows for the whole run would measure how long lines wrap.
        if len(times) % 40 == 0:
            box.clear()
    return quantiles(times, n=20)[-1]


def _idle(_: object) -> float:
    """Return the share of a core, in percent."""
    from PySide6.QtTest import QTest

    QTest.qWait(500)
    began, used = time.monotonic(), time.process_time()
    QTest.qWait(round(RUN_S * 1000))
    return 100 * (time.process_time() - used) / (time.monotonic() - began)


def main() -> None:
    """Measure one figure, and print it."""
    if sys.argv[1] == FLOODER:
        return _flooder()
    value = _measure(sys.argv[1], float(sys.argv[2]))
    print(value, flush=True)
    os._exit(0)  # threads of the feed may still run


if __name__ == "__main__":
    main()
