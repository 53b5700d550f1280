"""Ctrl-C and SIGTERM: a command that is in a group leaves it in good order.

The first signal is an exception, which unwinds through the `with` blocks that leave groups and end children; while a
member prints what is delivered it is only noted (`deferred`), so that no delivery is torn. A later one ends the process
at once, for the user who does not want to wait. One that follows closely says the same again, and is passed over.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType

# By name, since not every system has all of them.
SIGNALS = tuple(
    number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
)

# 1. A supervisor sends SIGTERM to a process, and to its group; or again, after a second. 2. The member, which is
# leaving, would end at once. 3. The others would take it for dead. So SIGTERM has the time that a leave may take.
SAME_WISH_S, SAME_SIGTERM_S = 1.0, 15.0


class Interrupted(BaseException):
    """A signal came; `status` is the exit status for it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


class Signals:
    """The signal that came, and the handlers. Installed in the main thread."""

    def __init__(self) -> None:
        self.caught: int | None = None
        self._noted_only = False
        self._caught_at = 0.0
        self._ignored: set[int] = set(SIGNALS)

    def install(self) -> None:
        # What was ignored before stays so: under nohup a command is to outlive its terminal.
        self._ignored = {number for number in SIGNALS if signal.getsignal(number) is signal.SIG_IGN}
        self.restore()

    def restore(self) -> None:
        """Install the handlers again: a library may have replaced them."""
        # Where all are ignored, as before `install`, there is nothing to restore.
        if len(self._ignored) < len(SIGNALS):
            for number in SIGNALS:
                signal.signal(number, signal.SIG_IGN if number in self._ignored else self._handle)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Only note a signal in `caught` while the block runs."""
        before, self._noted_only = self._noted_only, True
        try:
            yield
        finally:
            self._noted_only = before

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self.caught is not None:
            patience_s = SAME_SIGTERM_S if number == signal.SIGTERM else SAME_WISH_S
            if monotonic() - self._caught_at >= patience_s:
                signal.signal(number, signal.SIG_DFL)
                os.kill(os.getpid(), number)
            return
        self.caught, self._caught_at = number, monotonic()
        if not self._noted_only:
            raise Interrupted(number)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back while children start that work for this process, until they called `ignore_interrupts`."""
    # A child inherits the mask: a Ctrl-C that comes before it ignores them waits until then, and is ignored.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_interrupts() -> None:
    """Ignore Ctrl-C in a child: its parent handles the signal, and ends the child's work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


SIGNALLED = Signals()
