"""The state of one group as this chat knows it, and of the private conversations in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import gcom
from gcom_chat.model.conversation import Conversation
from gcom_chat.model.members import Members
from gcom_chat.model.updates import Arrived, LinesMoved

AT = "@"  # between a group and a member in the name of a private conversation: no name has it


class GroupStanding(StrEnum):
    """The standing of this chat in a group; the banner says it in words."""

    JOINING = "joining"
    IN = "in"
    DETACHED = "detached"  # no quorum is heard: nothing can be sent until one is
    RETURNING = "returning"  # put out, and on its way back
    LEFT = "left"


@dataclass(slots=True)
class GroupState:
    """A tab."""

    name: str
    conversation: Conversation
    members: Members = field(default_factory=Members)
    standing: GroupStanding = GroupStanding.JOINING
    definition: gcom.Definition | None = None
    process: str = ""
    since_ms: int = 0  # the standing's
    back_ms: int = 0  # when it was in order again, after it was not
    why: str = ""
    missing: bool = False  # it could not be joined, as there is none of that name
    held: int = 0  # messages that are here, and wait for others
    views: list[gcom.ViewChange] = field(default_factory=list)  # that the last line tells

    @property
    def group(self) -> str:
        """The group's name, which is also the tab's."""
        return self.name

    @property
    def peer(self) -> str:
        """Nobody: what is said here is for all."""
        return ""

    @property
    def count(self) -> int:
        """The number of members."""
        return len(self.members.view.members) if self.members.view else 0

    @property
    def leads(self) -> bool:
        """Return whether this chat is the leader."""
        return self.members.view is not None and self.members.view.leader == self.process


@dataclass(slots=True)
class PrivateTalk:
    """A tab with a single member of a group.

    Until its scrollback has come, what comes waits: rows have numbers that go on from those on the disk.
    """

    state: GroupState
    peer: str
    conversation: Conversation
    loaded: bool = False
    waiting: list[Arrived | LinesMoved] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The tab's name."""
        return private_name(self.state.name, self.peer)

    @property
    def group(self) -> str:
        """The group's name."""
        return self.state.name

    @property
    def reachable(self) -> bool:
        """Tell whether the member is in the group."""
        view = self.state.members.view
        return view is not None and self.peer in view.names


Talk = GroupState | PrivateTalk


def private_name(group: str, peer: str) -> str:
    """Return the name of the tab of a private conversation."""
    return f"{group}{AT}{peer}"
