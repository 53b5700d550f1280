"""A member at a shell: one thread reads lines and sends them, the main thread prints what is delivered.

The sender may wait as long as the window is full, and the reader of standard input as long as nobody types; neither
holds up the main thread, which therefore can leave the group whenever a signal, an end, or a closed output says so.
"""

from __future__ import annotations

import signal
import threading
from contextlib import suppress
from time import monotonic
from typing import assert_never

import gcom
from gcom.cli.lines import LineReader
from gcom.cli.output import Output, OutputClosed, notice
from gcom.cli.rows import RowFormat
from gcom.cli.signals import SIGNALLED
from gcom.errors import Detached, GComError, GComTimeout, NotAMember
from gcom.values import limits

POLL_S = 0.1  # how late a signal or the end of the input may be seen while nothing is delivered
LEAVE_S = 10.0  # as `leave` itself waits by default
UNSENT_S = 1.0  # for the thread that sends to learn of the leave
UNSENT_CHARS = 60  # of a line that is named


class Feed:
    """The sender of a descriptor's lines; it starts once the view has `wait` members."""

    def __init__(self, group: gcom.Group, wait: int, descriptor: int = 0, *, stays: bool = False) -> None:
        self._group = group
        self._wait = wait
        self._stays = stays  # the member does, after the end of the input
        self._lines = LineReader(descriptor, self._refuse)
        self._enough = threading.Event()
        self.refused = False  # a line was over the limit
        self.failed = False
        self.ended_at: float | None = None  # all lines were sent
        self._sending: bytes | str | None = None
        self._thread = threading.Thread(target=self._run, name="standard input", daemon=True)

    def start(self) -> None:
        # The view that is there already may have enough members: no event will tell of it.
        self.on_view(self._group.view)
        self._thread.start()

    def on_view(self, view: gcom.View) -> None:
        if len(view.members) >= self._wait:
            self._enough.set()

    def _refuse(self, line: int, size: int) -> None:
        self.refused = True
        notice(f"line {line} is {size} bytes and was not sent: at most {limits.MESSAGE_BYTES_MAX} are allowed")

    def _run(self) -> None:
        # Nothing is read before: what stands in the pipe stays there, and is not lost if the process
        # never gets enough members.
        self._enough.wait()
        try:
            for batch in self._lines.batches():
                for line in batch:
                    self._sending = line
                    self._send(line)
                    self._sending = None
        except (NotAMember, Detached):
            pass  # the main thread gets to know it, and says so
        except (GComError, OSError) as error:
            self.failed = True
            notice(f"standard input: {error}")
        self.ended_at = monotonic()
        if self._stays and not self.failed:
            notice("standard input has ended; the member stays and prints deliveries until Ctrl-C (see --linger)")

    def take_unsent(self) -> bytes | str | None:
        """Return the line that waits to be sent and never will be, as the group is left; None: no line was read so."""
        if self._sending is not None:
            self._thread.join(UNSENT_S)  # it learns of the leave, or has just sent that line and reads on
        return self._sending

    def _send(self, line: bytes | str) -> None:
        """Send a line, while the process is in its group; raises NotAMember or Detached if it never will be again."""
        while True:
            try:
                # No limit: a full window is no failure here, and the main thread can leave whatever this one waits for.
                self._group.send(line, timeout_s=None)
                return
            # 1. The process hears no quorum, and a send is refused. 2. It waits until it may send again. 3. The same
            #    line goes, once, as a refused send was not taken.
            except Detached:
                self._group.wait_for_members(1)


class ShellMember:
    """A membership from the first view to the last delivery."""

    def __init__(self, group: gcom.Group, rows: RowFormat, output: Output, feed: Feed | None, linger_s: float | None):
        self._group = group
        self._rows = rows
        self._output = output
        self._feed = feed
        self._linger_s = linger_s
        self._view = group.view.number  # the last one printed
        self._last = monotonic()  # delivery
        self._departure: gcom.Departure | None = None
        self._failed = False

    def run(self) -> int:
        """Stay until there is a reason to go, and leave; return the exit status."""
        # Noted only: an exception in the middle of a delivery would tear its line, or lose it after it was taken.
        with SIGNALLED.deferred(), suppress(OutputClosed):
            try:
                self._rows.ready(self._group)
                if self._feed:
                    self._feed.start()
                self._session()
            finally:
                self._leave()
        return self._status()

    def _session(self) -> None:
        while SIGNALLED.caught is None and self._departure is None:
            # First without waiting: as long as more is here nothing is written out, so that many lines
            # go in one write.
            event = self._group.receive(0)
            if event is None:
                self._output.flush()
                if self._lingered():
                    return
                event = self._group.receive(POLL_S)
            if event is not None:
                self._tell(event)
        self._output.flush()

    def _lingered(self) -> bool:
        """Tell whether the input is at its end, all of it is sent, and nothing was delivered for a while."""
        if self._linger_s is None:
            return False
        began = self._last
        if self._feed:
            # Sent is not enough: what waits for the window would be lost by leaving.
            if self._feed.ended_at is None or self._group.pending:
                return False
            began = max(began, self._feed.ended_at)
        return monotonic() - began >= self._linger_s

    def _tell(self, event: gcom.Event) -> None:
        match event:
            case gcom.Message():
                self._rows.message(event)
                self._last = monotonic()
            case gcom.ViewChange():
                self._on_view(event)
            case gcom.Lost():
                self._rows.lost(event)
            case gcom.Unicast() | gcom.Undelivered():
                pass  # a command sends to all
            case gcom.Suspicion():
                self._rows.suspicion(event)
            case gcom.QuorumLost() | gcom.QuorumRegained():
                self._rows.quorum(event)
            case gcom.Settled():
                self._failed |= not event.arrived
                self._rows.settled(event)
            case gcom.StateLost() | gcom.StateRestored() | gcom.StateUnmerged():
                pass  # a command keeps no state, and asks for none
            case gcom.LogEnded():
                pass  # a warning has said so
            case gcom.Departure():
                # On its way back it is still to be printed for; only an end for good ends the command.
                self._departure = None if event.returning else event
                self._failed |= event.unconfirmed is not None or event.unsent > 0
                self._rows.departure(event)
            case gcom.Returned():
                self._view = 0
                self._rows.returned(event)
            case _:
                assert_never(event)

    def _on_view(self, change: gcom.ViewChange) -> None:
        if change.view.number > self._view:  # the first one of all was told as ready
            self._view = change.view.number
            self._rows.view(change)
        if self._feed:
            self._feed.on_view(change.view)

    def _leave(self) -> None:
        """Leave, and print what was delivered until then: the cut of the last view is part of the session."""
        try:
            if self._departure is None:
                # A view change like any other, which a group in trouble may not finish: then the exit status says so.
                self._group.leave(LEAVE_S)
            # What was delivered before the leave is still in the queue.
            while self._departure is None and (event := self._group.receive(0)) is not None:
                self._tell(event)
        except (NotAMember, Detached):
            pass  # there is nothing more to tell
        except GComTimeout as error:
            self._failed = True
            notice(str(error))
        unsent = self._feed.take_unsent() if self._feed else None
        if unsent is not None:
            shown = repr(unsent[:UNSENT_CHARS]) + ("..." if len(unsent) > UNSENT_CHARS else "")
            notice(f"not sent: the line {shown}, and what came after it on standard input")
        with suppress(OutputClosed):
            self._output.flush()

    def _status(self) -> int:
        # Ctrl-C alone: SIGTERM is how a member is stopped, and one that then leaves in good order has succeeded.
        if SIGNALLED.caught == signal.SIGINT:
            return 128 + signal.SIGINT
        gone = self._departure is not None and self._departure.reason != "request"
        if gone or self._failed or (self._feed and self._feed.failed):
            return 1
        return 2 if self._feed and self._feed.refused else 0
