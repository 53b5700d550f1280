"""Items of the queue beside deliveries and views: the end of a session, the start of the next, notices of the runtime's
own.

The sessions and the membership put these into the queue (gcom/core/delivery_queue.py); the thread that receives turns
each into an event of the library (api/receiving.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from gcom.core.delivery_queue import Handed
from gcom.core.messages.effects import Ended
from gcom.values.names import Process

NOTICES_MAX = 100_000  # views, suspicions and losses that wait to be read; at the bound the process leaves


@dataclass(frozen=True, slots=True)
class Gone:
    """The end of a session; `returning`: another one follows.

    `told`: the application was handed what it would have brought to the next one.
    """

    ended: Ended
    returning: bool
    told: bool = False


@dataclass(frozen=True, slots=True)
class Entered:
    """The start of the next session, of which is all that follows; `first`: it began the instance.

    `told`: the application was handed the state of which the instance has nothing.
    """

    first: bool
    told: bool = False


@dataclass(frozen=True, slots=True)
class LogStopped:
    """The end of the process's delivery log."""

    process: Process
    reason: str


@dataclass(frozen=True, slots=True)
class SetAside:
    """A state of the application that no instance is known to have merged."""

    data: bytes
    reason: str


Own = Gone | Entered | LogStopped | SetAside
QueueItem = Handed | Own
