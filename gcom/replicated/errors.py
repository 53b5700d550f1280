"""The errors of replicated state, below those of gcom/errors.py.

GComError
├── LocalError
│   ├── CommandRefused      (`gcom.replicated.Refused`) a command refused: every replica refused it alike
│   └── MachineFailed       the machine raised something else: a defect of the machine
└── Unavailable
    ├── OutcomeUnknown      the command may be applied, or may not: `retry()` finds out
    │   └── Forgotten       ... and no replica remembers its caller: nobody can find out
    ├── StorageFailed       the disk takes no more: this replica has ended, the others go on
    └── Diverged            the state here differs from the other replicas'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gcom.errors import LocalError, Unavailable


class CommandRefused(LocalError):
    """A refusal: raise it in a command, before the command has changed anything. Its arguments travel as values."""


class MachineFailed(LocalError):
    """A defect of the machine: a command or query raised; the state is as it was before."""


class OutcomeUnknown(Unavailable):
    """A command without an answer: it may be applied already, or later, or never.

    `retry()` returns the command's result, and applies it if that has not happened: once in all, whatever happens. If
    the state was closed meanwhile, give the state as it was opened anew: `error.retry(via=stock)`.
    """

    def __init__(self, text: str, again: Callable[[Any, float | None], Any] | None = None) -> None:
        super().__init__(text)
        self.again = again

    def retry(self, timeout_s: float | None = None, via: object = None) -> Any:
        """Return the command's result, or raise what it raised; raises OutcomeUnknown again after `timeout_s`."""
        if self.again is None:
            raise self
        return self.again(via, timeout_s)


class Forgotten(OutcomeUnknown):
    """A command whose caller no replica remembers: a retry could apply it twice, so nothing is done."""


class StorageFailed(Unavailable):
    """The folder of a durable replica takes no more writes: it is full, or broken. This replica has ended."""


class Diverged(Unavailable):
    """The state of this replica differs from the others': the machine is not deterministic. It takes theirs."""
