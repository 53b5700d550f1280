"""`python -m tests.runtime.ground WORD REGISTRY`: a program that does to GCom what users' programs do.

It joins the group `g` as `worker`, says `up`, and then does what the word says.
"""

from __future__ import annotations

import faulthandler
import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator

import gcom

HANGS_S = 60.0  # then it ends with a traceback of all threads, and status 1


def handler(node: gcom.Node, group: gcom.Group) -> None:
    """Send for ever; SIGTERM leaves and closes, in the middle of that."""

    def stop(*_: object) -> None:
        group.leave(timeout_s=10)
        node.close(timeout_s=10)
        print("left", flush=True)
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    say("up")
    while True:
        group.send(b"x" * 50)


def interrupt(_: gcom.Node, group: gcom.Group) -> None:
    """Send until SIGINT comes, catch it, and go on."""
    say("up")
    count = 0
    try:
        while True:
            group.send(f"{count}")
            count += 1
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    group.send("after")
    group.flush(30)
    group.leave(10)
    say(f"sent {count}")


def interrupted_reader(_: gcom.Node, group: gcom.Group) -> None:
    """Read numbers in three ways while a timer's handler raises again and again, also twice at once.

    Say which numbers never came.
    """
    receiving = False

    def raise_in_receive(*_: object) -> None:
        if receiving:
            raise KeyboardInterrupt

    def received() -> Iterator[gcom.Event | None]:
        while True:
            yield group.receive(30)

    signal.signal(signal.SIGALRM, raise_in_receive)
    signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
    say("up")
    for way in (received, lambda: group.events(30), lambda: iter(group)):
        got: list[int] = []
        interrupts = 0
        while not got or got[-1] != -1:
            events: Iterator[gcom.Event | None] = way()
            try:
                receiving = True
                for event in events:
                    receiving = False
                    if isinstance(event, gcom.Message):
                        got.append(int(event.text))
                    if got and got[-1] == -1:
                        break
                    receiving = True
            except KeyboardInterrupt:
                receiving = False
                interrupts += 1
        assert interrupts, "no signal came within"
        numbers = got[:-1]
        missing, doubled = sorted(set(range(3_000)) - set(numbers)), len(numbers) - len(set(numbers))
        say(f"missing {missing} doubled {doubled}")
    signal.setitimer(signal.ITIMER_REAL, 0)


def alarm(_: gcom.Node, group: gcom.Group) -> None:
    """Send from the handler of a timer that goes off 2,000 times, while the main thread sends, too."""
    rings = 0

    def ring(*_: object) -> None:
        nonlocal rings
        rings += 1
        group.send("ring")

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    count = 0
    while rings < 2_000:
        group.send("main")
        count += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    group.flush(30)
    say(f"sent {count + rings}")


class Lease:
    """It is in a cycle, so the collector ends it, whenever that runs."""

    def __init__(self, group: gcom.Group) -> None:
        self.group, self.me = group, self

    def __del__(self) -> None:
        self.group.send(b"released")


def finalizer(_: gcom.Node, group: gcom.Group) -> None:
    """Send while the collector runs finalizers that send."""
    gc.set_threshold(50)
    count = 5_000
    for _made in range(count):
        Lease(group)
        group.send(b"work")
    gc.collect()
    say(f"made {count}")
    sys.stdin.readline()


def _in_child(group: gcom.Group, node: gcom.Node, told: multiprocessing.SimpleQueue[str]) -> None:
    for call in (lambda: group.send("child's"), group.leave, node.close, lambda: group.receive(1)):
        try:
            call()
            told.put("nothing raised")
        except gcom.Forked:
            told.put("forked")
    open_sockets = [os.readlink(f"/proc/self/fd/{it}") for it in os.listdir("/proc/self/fd") if _is_open(it)]
    told.put(f"sockets {sum(it.startswith('socket:') for it in open_sockets)}")


def _is_open(descriptor: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{descriptor}")


def fork(node: gcom.Node, group: gcom.Group) -> None:
    """Have a forked child try everything, then send."""
    context = multiprocessing.get_context("fork")
    told: multiprocessing.SimpleQueue[str] = context.SimpleQueue()
    child = context.Process(target=_in_child, args=(group, node, told))
    child.start()
    for _ in range(5):
        say(told.get())
    child.join()
    group.send("parent's", held_by="all")
    say("confirmed")
    sys.stdin.readline()


def fork_and_die(_: gcom.Node, group: gcom.Group) -> None:
    """Leave a child behind that lives on; be killed."""
    assert group.members
    if (child := os.fork()) == 0:
        signal.pause()
    say(f"forked {child}")
    sys.stdin.readline()


def exits(_: gcom.Node, group: gcom.Group) -> None:
    """Send many, and end without a close."""
    for number in range(5_000):
        group.send(f"{number}")
    say("sent 5000")
    sys.exit(0)


def exits_stuck(_: gcom.Node, group: gcom.Group) -> None:
    """End while nobody reads: what waits cannot be sent."""
    try:
        while True:
            group.send(b"x" * 1000, timeout_s=1)
    except gcom.GComTimeout:
        say("full")
    raise RuntimeError("the program has failed")


def say(text: str) -> None:
    print(text, flush=True)


WORDS: dict[str, Callable[[gcom.Node, gcom.Group], None]] = {
    each.__name__: each
    for each in (
        handler,
        interrupt,
        interrupted_reader,
        alarm,
        finalizer,
        fork,
        fork_and_die,
        exits,
        exits_stuck,
    )
}
READERS = {"interrupted_reader", "exits_stuck"}


def main(word: str, registry: str) -> None:
    faulthandler.dump_traceback_later(HANGS_S, exit=True)
    node = gcom.connect("worker", registry)
    group = node.join("g")
    group.wait_for_members(2, 30)
    if word not in READERS:
        group.listen(on_message=lambda message: None)
    WORDS[word](node, group)


if __name__ == "__main__":
    assert threading.current_thread() is threading.main_thread()
    main(*sys.argv[1:])
