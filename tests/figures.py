"""Figures of the house: `make figures` (python -m tests.figures) prints them, and judges none.

Sizes are counted from the source. Calls are counted in a running group of two: every Python call in gcom/, in all
threads, from one `send` until both applications have the message and nothing is owed any more.
"""

from __future__ import annotations

import ast
import io
import sys
import threading
import tokenize
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import monotonic
from types import FrameType

import gcom

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("gcom", "registry", "chat_gui")
CHAT = ROOT / "chat_gui"
CODE = f"{ROOT / 'gcom'}/"
SENDS = 25
QUIET_S = 0.02  # nothing has been called for so long: acknowledgements and credit have gone back
LIMIT_S = 30.0


def files() -> list[Path]:
    """Return every source file of the product."""
    return sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))


def crowd() -> int:
    """Return the number of files in the fullest folder."""
    return max(Counter(path.parent for path in files() if path.name != "__init__.py").values())


def lines() -> Counter[str]:
    """Return the number of lines by package, but for the chat's; comments and blank lines are included."""
    found: Counter[str] = Counter()
    for path in files():
        if CHAT not in path.parents:
            top, *below = path.relative_to(ROOT).parts
            package = f"{top}/{below[0]}" if top == "gcom" and len(below) > 1 else top
            found[package] += len(path.read_text("utf-8").splitlines())
    return found


def commented() -> float:
    """Return the share of lines, in percent, that have a comment; docstrings do not count."""
    comments = count = 0
    for path in files():
        text = path.read_text("utf-8")
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        comments += sum(token.type == tokenize.COMMENT for token in tokens)
        count += len(text.splitlines())
    return 100 * comments / count


def repeated() -> int:
    """Return how many names of types are defined in more than one place."""
    trees = (ast.parse(path.read_text("utf-8")) for path in files())
    places = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return sum(count > 1 for count in places.values())


class Calls:
    """A count of Python calls into gcom/, in every thread that is traced, and the files that they passed."""

    def __init__(self) -> None:
        self.count = 0
        self.files: set[str] = set()
        self.last = monotonic()

    def hook(self, frame: FrameType, event: str, _: object) -> None:
        """Count a call; threads may lose a count to each other, which the median over many sends evens out."""
        if event == "call" and frame.f_code.co_filename.startswith(CODE):
            self.count += 1
            self.files.add(frame.f_code.co_filename[len(CODE) :])
            self.last = monotonic()


def _until_quiet(calls: Calls) -> None:
    """Wait until nothing was called for a while; heartbeats come further apart than that."""
    pause, deadline = threading.Event(), monotonic() + LIMIT_S
    while monotonic() - calls.last < QUIET_S and monotonic() < deadline:
        pause.wait(QUIET_S / 4)


def calls_of_a_message(ordering: gcom.Ordering) -> tuple[float, int]:
    """Return the median number of calls that one message costs in a group of two, and the files that it passes."""
    calls = Calls()
    threading.setprofile(calls.hook)
    counts = []
    passed: list[int] = []
    try:
        with ExitStack() as stack:
            address = stack.enter_context(gcom.embedded()).address
            create = gcom.Definition.parse("g", ordering, "RELIABLE")
            nodes = [stack.enter_context(gcom.connect(name, address)) for name in ("a", "b")]
            sender, receiver = (stack.enter_context(node.join("g", create=create)) for node in nodes)
            sender.wait_for_members(2, LIMIT_S)
            for _ in range(SENDS):
                _until_quiet(calls)
                calls.count, calls.files = 0, set()
                sys.setprofile(calls.hook)
                sender.send(b"x")
                _message(receiver)
                _message(sender)
                sys.setprofile(None)
                _until_quiet(calls)
                counts.append(calls.count)
                passed.append(len(calls.files))
    finally:
        threading.setprofile(None)
    return median(counts), round(median(passed))


def _message(group: gcom.Group) -> None:
    """Take events up to the next message."""
    while not isinstance(group.receive(LIMIT_S), gcom.Message):
        pass


def figures() -> Iterator[tuple[str, float]]:
    """Yield the name and the value of every figure, those that take no time first."""
    yield "files in the fullest folder", crowd()
    counted = lines()
    yield "lines of code, without chat and tests", counted.total()
    for package, size in sorted(counted.items()):
        yield f"lines of {package}", size
    yield "type names defined more than once", repeated()
    yield "lines with a comment, percent", round(commented(), 1)
    for ordering in (gcom.Ordering.FIFO, gcom.Ordering.TOTAL):
        count, passed = calls_of_a_message(ordering)
        yield f"calls for one {ordering.name} message, 2 members", count
        yield f"files that a {ordering.name} message passes", passed


def main() -> None:
    """Print the table."""
    # Without bounds: to keep within one, lines were joined and docstrings cut (decision 0016).
    for name, value in figures():
        print(f"{name:<46}{value:>10g}", flush=True)


if __name__ == "__main__":
    main()
