"""Ctrl-C and SIGTERM: a command that is in a group leaves it in good order.

The first signal is an exception, which unwinds through the `with` blocks that leave groups and end children; while a
member prints what is delivered it is only noted (`deferred`), so that no delivery is torn. The second ends the process
at once, for the user who does not want to wait.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# By name, since not every system has all of them.
SIGNALS = tuple(
    number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
)


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
        self.caught = number
        # 1. The first signal is being handled, and leaving may take its time. 2. A second one meets the default
        #    action, and ends the process at once.
        for other in SIGNALS:
            if signal.getsignal(other) is not signal.SIG_IGN:
                signal.signal(other, signal.SIG_DFL)
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
