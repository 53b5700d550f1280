"""What may happen to a group's machine, apart from a frame received and a frame taken (gcom/core/group.py)."""

from __future__ import annotations

from dataclasses import dataclass

from gcom.core.directory import Answer, Request
from gcom.core.frames import Reply
from gcom.values.names import Process
from gcom.values.run import Payload


@dataclass(frozen=True, slots=True)
class Start:
    """Begin to enter the group."""


@dataclass(frozen=True, slots=True)
class Submit:
    """Messages to multicast, already checked: bytes or text, none over MESSAGE_BYTES_MAX."""

    payloads: list[Payload]


@dataclass(frozen=True, slots=True)
class Consumed:
    """The application is done with 1…number of a sender; `size` bytes more than last time."""

    sender: Process
    number: int
    size: int


@dataclass(frozen=True, slots=True)
class Leave:
    """The application wants to leave."""


@dataclass(frozen=True, slots=True)
class Exit:
    """The process goes away without waiting for anybody."""


@dataclass(frozen=True, slots=True)
class Replied:
    """A call to a peer was answered."""

    peer: Process
    reply: Reply


@dataclass(frozen=True, slots=True)
class CallFailed:
    """A call to a peer failed; `refused`: nobody listens there."""

    peer: Process
    refused: bool


@dataclass(frozen=True, slots=True)
class RegistryAnswered:
    """The registry's answer to a request, or None: there was none."""

    request: Request
    answer: Answer | None


@dataclass(frozen=True, slots=True)
class Tick:
    """The machine's deadline has come."""


Event = Start | Submit | Consumed | Leave | Exit | Replied | CallFailed | RegistryAnswered | Tick
