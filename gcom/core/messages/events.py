"""Events that a group's machine takes, apart from a frame received and a frame taken (gcom/core/machine.py)."""

from __future__ import annotations

from dataclasses import dataclass

from gcom.core.messages.frames import Reply
from gcom.core.messages.registry import Answer, Request
from gcom.core.messages.sequencer import SequencerAnswer, SequencerRequest
from gcom.values.names import Process
from gcom.values.run import Payload


@dataclass(frozen=True, slots=True)
class Start:
    """Begin to enter the group."""


@dataclass(frozen=True, slots=True)
class Submit:
    """Messages to multicast, already checked: bytes or text, none over MESSAGE_BYTES_MAX."""

    # A list and not one: what waited while the link was busy becomes one run, which costs as much as one message.
    payloads: list[Payload]


@dataclass(frozen=True, slots=True)
class Consumed:
    """The application is done with 1…number of a sender; `size` bytes more than last time."""

    # Cumulative, so one event does for all that the application has read since the last.
    sender: Process
    number: int
    size: int


@dataclass(frozen=True, slots=True)
class Leave:
    """The application wants to leave, once no joiner is given its state any more; `at_once`: also while one is.

    `reads_on`: it comes to the barrier where its state is taken, so a joiner that waits for that will be given it.
    """

    reads_on: bool = False
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class Exit:
    """The process goes away without waiting for anybody."""


@dataclass(frozen=True, slots=True)
class Replied:
    """Calls to a peer were answered: one, or as many as came together (`frames.supersedes`), by the last answer."""

    peer: Process
    reply: Reply
    calls: int = 1


@dataclass(frozen=True, slots=True)
class CallFailed:
    """A call to a peer failed; `refused`: nobody listens there; `dead`: its own kernel says that its life is over."""

    peer: Process
    # Evidence, which a restart of the node gives as well; only `dead` is proof (docs/protocols/continuity.md).
    refused: bool
    dead: bool = False


@dataclass(frozen=True, slots=True)
class RegistryAnswered:
    """The registry's answer to a request, or None: there was none."""

    # The request itself, no number for it: it says what the answer is about, and a late one is of a view that is over.
    request: Request
    answer: Answer | None


@dataclass(frozen=True, slots=True)
class SequencerAnswered:
    """The answer of the registry's sequencer to a request, or None: there was none; `refused`: nobody listens there."""

    request: SequencerRequest
    answer: SequencerAnswer | None
    # News within a millisecond, where a lost answer takes a
    # call's whole time: twice refused, the sequencer is given up.
    refused: bool = False


@dataclass(frozen=True, slots=True)
class StateTaken:
    """The application's state at the barrier of `view`, or None: `error` says why there is none."""

    view: int
    data: bytes | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Tick:
    """The machine's deadline has come."""


@dataclass(frozen=True, slots=True)
class SendUnicast:
    """A message to one member, already checked: not over ENVELOPE_BYTES_MAX."""

    target: Process
    payload: Payload


@dataclass(frozen=True, slots=True)
class UnicastRead:
    """The application is done with the oldest unicast of a sender that it had not read."""

    sender: Process


@dataclass(frozen=True, slots=True)
class GroupCall:
    """Ask members; `call` is a number that this process has not used for one. Over at `deadline_ms`; None: never."""

    call: int
    targets: tuple[Process, ...]
    payload: Payload
    # An instant of the machine's clock, not a span: its requests may wait for credit before they go.
    deadline_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Served:
    """The application's answer to a request, or in words why there is none (`failed`)."""

    caller: Process
    call: int
    payload: Payload
    failed: bool = False


@dataclass(frozen=True, slots=True)
class EndGroupCall:
    """Nobody waits for the answers to a group call any more."""

    # Its requests that still wait for credit are withdrawn: an answer would come for nobody.
    call: int


UnicastEvent = SendUnicast | GroupCall | Served | EndGroupCall
OfServices = RegistryAnswered | SequencerAnswered | StateTaken
Event = Start | Submit | Consumed | Leave | Exit | Replied | CallFailed | OfServices | Tick | UnicastEvent | UnicastRead
