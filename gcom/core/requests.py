"""What a registry's directory is asked, and what it answers (gcom/core/directory.py carries it out)."""

from __future__ import annotations

from dataclasses import dataclass

from gcom.core.witness import WitnessAnswer, WitnessRequest
from gcom.values.definition import Definition
from gcom.values.names import Address, Process
from gcom.values.view import View


@dataclass(frozen=True, slots=True)
class Create:
    """Make an empty group. An equal definition under the name is no error: the answer is the group that is there."""

    definition: Definition


@dataclass(frozen=True, slots=True)
class Lookup:
    group: str


@dataclass(frozen=True, slots=True)
class ListGroups:
    """The groups whose names come after `after`, sorted, as many as one answer holds."""

    after: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """Become the first member of an instance, in view 1.

    Granted if the entry is still (instance, view), and that is an empty group (view 0), or one whose members are all
    `dead` and whose lease has run out; then the answer carries a new instance. For a survivor, which was `former` in
    that view, PROOF_MS without a renewal are enough. After an operator's `Fork` any former member needs no more.
    """

    group: str
    instance: str
    view: int
    process: Process
    address: Address
    dead: bool = False
    former: Process = ""


@dataclass(frozen=True, slots=True)
class Register:
    """A leader says what its instance is and which view is in force; renews the lease.

    The entry of another instance as the answer: that one is the group now, and this one is to give way to it.
    """

    definition: Definition
    instance: str
    view: View


@dataclass(frozen=True, slots=True)
class Unregister:
    """The last member left: forget the group, if the entry is still this instance and no newer view."""

    group: str
    instance: str
    view: int


@dataclass(frozen=True, slots=True)
class Remove:
    """Forget an empty group, or one whose lease has run out."""

    group: str


@dataclass(frozen=True, slots=True)
class Fork:
    """An operator's order: a former member may claim the entry without proof, as long as it is this instance's.

    Until then, for FORK_MS at most, the instance cannot register; after that it gives way.
    """

    group: str
    instance: str


Request = Create | Lookup | ListGroups | Claim | Register | Unregister | Remove | Fork | WitnessRequest


@dataclass(frozen=True, slots=True)
class Entry:
    """A group as the directory knows it. `view` is 0 and `members` empty while nobody has joined."""

    definition: Definition
    instance: str
    view: int
    members: tuple[Process, ...]
    addresses: tuple[Address, ...]
    alive: bool  # there is a lease and it has not run out; false while nobody has joined
    forked: bool = False  # an operator lets a former member claim it


@dataclass(frozen=True, slots=True)
class Entries:
    """`more`: ask again after the last of these."""

    groups: tuple[Entry, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    pass


@dataclass(frozen=True, slots=True)
class Refusal:
    """`code` is the name of the exception in gcom.errors that says it, or `Stale`: the entry has moved on."""

    code: str
    text: str


Answer = Entry | Entries | Done | Refusal | WitnessAnswer
