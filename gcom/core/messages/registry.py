"""Requests to a registry's directory, and its answers (gcom/core/directory/table.py carries them out)."""

from __future__ import annotations

from dataclasses import dataclass

from gcom.core.messages.witness import WitnessAnswer, WitnessRequest
from gcom.values.definition import Definition
from gcom.values.names import Address, GroupName, InstanceId, Process
from gcom.values.view import View


@dataclass(frozen=True, slots=True)
class Create:
    """Make an empty group. An equal definition under the name is no error: the answer is the group that is there."""

    definition: Definition


@dataclass(frozen=True, slots=True)
class Lookup:
    """Look up a name; `former` is the instance that the asker was in, which may have been dissolved."""

    group: GroupName
    # 1. All leave while a member is cut off. 2. A newcomer founds the name anew. 3. The member looks
    # its group up: without its instance it would be told of strangers, and not that its own is over.
    former: InstanceId = ""


@dataclass(frozen=True, slots=True)
class ListGroups:
    """The groups whose names come after `after`, sorted, as many as one answer holds."""

    after: GroupName = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """Become the first member of an instance, in view 1.

    Granted if the entry is still (instance, view), and that is an empty group (view 0), or one whose lease has run out
    and all of whose known processes are in `gone`: proven dead, or having vowed that they are no members. An operator's
    order to fork that no member has obeyed for FREE_MS stands for that proof. The answer carries a new instance.
    `away` are those in `gone` that are on their way back, with no more than the claimant: they stay known, in case it
    dies.
    """

    group: GroupName
    instance: InstanceId
    view: int
    process: Process
    address: Address
    # The registry cannot ask processes itself: it calls nobody, and knows no kernel but its own.
    gone: tuple[Process, ...] = ()
    away: tuple[tuple[Process, Address], ...] = ()


@dataclass(frozen=True, slots=True)
class Register:
    """A member registers its instance and view; that renews the lease, unless it is `detached`.

    `away` are the processes put out of the instance against their will, and not back: each may live, with what the
    group had, so the name is not free while one of them may.

    If the answer is the entry of another instance, that one is the group now, and this one is to give way to it. If it
    is a later view of the member's own instance, without the member, the member was put out.
    """

    definition: Definition
    instance: InstanceId
    view: View
    process: Process
    # It registers all the same: newcomers then learn whom to wait for, and an operator's order reaches it.
    detached: bool = False
    away: tuple[tuple[Process, Address], ...] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """A leader may admit these in the view after `view`: they count as members until a later view is registered."""

    group: GroupName
    instance: InstanceId
    view: int
    # Durable before a joiner is admitted: once the members have died the registry alone knows of it.
    joiners: tuple[tuple[Process, Address], ...]


@dataclass(frozen=True, slots=True)
class Unregister:
    """`process` left as the last member of `view`: forget the group, and remember its end.

    Refused where the entry is another instance or newer, or does not list the process.
    """

    group: GroupName
    instance: InstanceId
    view: int
    process: Process
    proof: bytes = b""  # by the process itself, whoever brings the request (gcom/runtime/registry/last_words.py)


@dataclass(frozen=True, slots=True)
class Remove:
    """Forget an empty group."""

    group: GroupName


@dataclass(frozen=True, slots=True)
class Fork:
    """Order a fork, for FORK_MS: what is left of the entry's latest view begins a successor without proof of death."""

    group: GroupName
    instance: InstanceId


Request = Create | Lookup | ListGroups | Claim | Register | Note | Unregister | Remove | Fork | WitnessRequest


@dataclass(frozen=True, slots=True)
class GroupInfo:
    """A group as the directory knows it. `view` is 0 and `members` empty while nobody has joined."""

    definition: Definition
    instance: InstanceId
    view: int
    members: tuple[Process, ...]
    addresses: tuple[Address, ...]
    alive: bool  # there is a lease and it has not run out; false while nobody has joined
    forked: bool = False  # an operator lets what is left of it begin a successor without proof
    others: tuple[tuple[Process, Address], ...] = ()  # noted for a later view, or registered in an older one
    detached: bool = False  # no member of it hears a quorum
    after: tuple[str, int] = ("", 0)  # the instance and view that this instance follows, if any
    forgot: bool = False  # by its home, which knows it from its members alone: only a fork lets survivors go on


@dataclass(frozen=True, slots=True)
class Entries:
    """A part of the groups, sorted. `more`: ask again after the last of these."""

    groups: tuple[GroupInfo, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    pass


@dataclass(frozen=True, slots=True)
class Farewell:
    """A copy does not list the group, since its last member has left; the home may not have been told so."""

    request: Unregister


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal. `code` is the name of the exception in gcom.errors that says it, or `Stale` (the entry moved
    on) or `NoVote` (of a registry that keeps nothing).
    """

    code: str
    text: str


Answer = GroupInfo | Entries | Done | Farewell | Refusal | WitnessAnswer
