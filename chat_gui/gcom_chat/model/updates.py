"""Updates: what the client tells the chat, in the order in which it happened per group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import gcom
from gcom_chat.model.outbox import OwnLine
from gcom_chat.model.rows import ChatRow, MessageState, MessageTimes
from gcom_chat.model.wire import ChatMessage


@dataclass(frozen=True, slots=True)
class Connected:
    """The registry answers: groups can be listed and joined."""

    registry: str
    nick: str


@dataclass(frozen=True, slots=True)
class RegistryAway:
    """The registry does not answer; groups that are joined go on. `since_s` on the client's clock."""

    text: str


@dataclass(frozen=True, slots=True)
class RegistryFound:
    """The result of looking for a registry at an address."""

    address: str
    answers: bool


@dataclass(frozen=True, slots=True)
class InvitationAccepted:
    """An invitation became a certificate: this chat may connect as `name` at the registry."""

    name: str
    registry: str


@dataclass(frozen=True, slots=True)
class ProtectionTold:
    """The protection of a name's connection to a registry, in words; `trouble`: why it cannot be made.

    `certified`: by a certificate of that name, with which messages can be signed.
    """

    name: str
    registry: str
    text: str
    trouble: bool = False
    certified: bool = False


@dataclass(frozen=True, slots=True)
class Listed:
    """The groups that the registry knows."""

    groups: tuple[gcom.GroupInfo, ...]


@dataclass(frozen=True, slots=True)
class WishFailed:
    """A wish that was not granted: what was wished for, and in words why. `group` is empty where it was about none.

    `missing`: the registry knows no such group.
    """

    what: str
    why: str
    group: str = ""
    missing: bool = False


@dataclass(frozen=True, slots=True)
class JoinBegan:
    """A join that is under way."""

    group: str


@dataclass(frozen=True, slots=True)
class Joined:
    """This process is in a group."""

    group: str
    process: str
    definition: gcom.Definition
    view: gcom.View


@dataclass(frozen=True, slots=True)
class BacklogCame:
    """The topic and the last messages, as a member's state tells them."""

    group: str
    topic: str
    said: tuple[tuple[str, ChatMessage], ...]


@dataclass(frozen=True, slots=True)
class Arrived:
    """Events of a group, in order; `at_ms` is the wall clock when they were read, `times` are by sender and number."""

    group: str
    at_ms: int
    events: tuple[gcom.Event, ...]
    times: Mapping[tuple[str, int], MessageTimes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LinesMoved:
    """Own lines, by their ids, that came to a state; HELD, LOST and UNCONFIRMED are ends, over BASIC ORDERED too.

    `number`: of a single one in the stream of this process, where it has one; `why`: for a bad end, in words.
    """

    group: str
    ids: tuple[str, ...]
    state: MessageState
    number: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class HeldBackNow:
    """The number of messages that have been held back for a while."""

    group: str
    count: int


@dataclass(frozen=True, slots=True)
class ReceiptCame:
    """The members that hold an own message."""

    group: str
    receipt: gcom.Receipt


@dataclass(frozen=True, slots=True)
class Left:
    """A group was left for good, or ended; nothing more comes of it."""

    group: str
    reason: str


@dataclass(frozen=True, slots=True)
class HistoryCame:
    """Rows of the scrollback on disk, oldest first: the last ones, or `older` ones than those that are shown.

    `lines`: own ones that had not ended, with the last ones.
    """

    group: str
    rows: tuple[ChatRow, ...]
    older: bool
    registry: str = ""
    lines: tuple[OwnLine, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundOnDisk:
    """Rows of the scrollback on disk that a search found, oldest first, with their groups; `more`: perhaps not all."""

    text: str
    found: tuple[tuple[str, ChatRow], ...]  # with the group
    more: bool
    registry: str = ""


@dataclass(frozen=True, slots=True)
class SurroundingsCame:
    """The row of the scrollback that was looked for, and what was said before and after it."""

    group: str
    key: int
    rows: tuple[ChatRow, ...]


@dataclass(frozen=True, slots=True)
class Exported:
    """The result of writing a conversation to a file, in words."""

    group: str
    text: str


@dataclass(frozen=True, slots=True)
class StorageTold:
    """A trouble with the disk, in words; it is told once."""

    text: str


Update = (
    Connected
    | RegistryAway
    | RegistryFound
    | InvitationAccepted
    | ProtectionTold
    | Listed
    | WishFailed
    | JoinBegan
    | Joined
    | BacklogCame
    | Arrived
    | LinesMoved
    | HeldBackNow
    | ReceiptCame
    | Left
    | HistoryCame
    | FoundOnDisk
    | SurroundingsCame
    | Exported
    | StorageTold
)
