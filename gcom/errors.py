"""Everything that GCom raises on purpose.

    GComError
    ├── LocalError              you misused GCom; the call changed nothing
    │   ├── BadValue            a value that is not allowed (also a ValueError)
    │   │   └── MessageTooLarge
    │   ├── UnknownMember       the view has no member of that name
    │   ├── UnknownGroup        the directory has no group of that name
    │   ├── GroupExists         the name is taken by a group with another definition
    │   ├── GroupInUse          a group with members cannot be removed
    │   ├── NameTaken           a living member has that name
    │   ├── NotInvited          a static group does not list that name
    │   ├── NotAMember          this group was left, or its node closed
    │   ├── NotPermitted        the registry does not let this identity do that
    │   ├── Dissolved           all members of the group have left it
    │   ├── AlreadyReceiving    a group has one receiver: a loop or a listener
    │   ├── NotALog             the path that the audit was given holds no delivery log
    │   ├── Forked              the node was made before a fork, and lives on in the parent alone
    │   ├── StateFailed         the application's set_state raised: the group is left
    │   └── WouldBlock          a send inside a callback met a full window
    ├── PeerError               a peer misbehaved
    │   ├── HandlerFailed       a member's handler of calls raised, or it has none
    │   ├── MalformedFrame      bytes that are no frame of ours
    │   ├── VersionMismatch     a peer that speaks another protocol version
    │   └── Untrusted           a peer's certificate is not believed, or ours is not by it
    └── Unavailable             retrying may help
        ├── Exhausted           this process is short of descriptors or threads
        ├── RegistryUnavailable
        │   └── RegistryStarting    it waits for groups that are there to register
        ├── StorageUnavailable  a disk or a file here is full, read-only, locked, or fails
        ├── AuditUnavailable    no Java, or no Spark where it was said to be
        ├── ExtraMissing        a package is not installed that one of GCom's extras brings
        ├── MemberDeparted      a member departed before it answered
        ├── Detached            this process lost its group, or hears no quorum of it
        │   └── CallDetached    ... and a group call with it; carries the results that had come
        └── GComTimeout         a blocking call ran out of time (also a TimeoutError)
            └── CallTimeout     ... a group call; carries the results that had come

Errors of topics are in gcom/topics/errors.py, in the same tree.
The two that carry results are made beside them, in gcom/runtime/api/results.py.

Each message names the value at fault, what is allowed, and what to do next.
"""

from __future__ import annotations


class GComError(Exception):
    """The root; nothing raises it directly."""


class LocalError(GComError):
    """The caller misused GCom."""


class BadValue(LocalError, ValueError):
    """A value that is not allowed."""


class MessageTooLarge(BadValue):
    """A message over `limits.MESSAGE_BYTES_MAX`."""


class UnknownMember(LocalError):
    """The view has no member of that name."""


class NotALog(LocalError):
    """The path that the audit was given holds no delivery log."""


class UnknownGroup(LocalError):
    """The directory has no group of that name."""


class GroupExists(LocalError):
    """The name is taken by a group with another definition."""


class GroupInUse(LocalError):
    """A group with members cannot be removed."""


class NameTaken(LocalError):
    """A living member of the group has that name."""


class NotInvited(LocalError):
    """A static group does not list that name."""


class NotAMember(LocalError):
    """The group was left, or its node closed."""


class Dissolved(LocalError):
    """All members of the group have left it, and with them its state."""


class NotPermitted(LocalError):
    """The registry does not let the identity of this process do that."""


class AlreadyReceiving(LocalError):
    """A group has one receiver at a time."""


class Forked(LocalError):
    """The node was made before a fork, and this process is the child."""


class StateFailed(LocalError):
    """The application's set_state raised; a member without the others' state cannot stay."""


class WouldBlock(LocalError):
    """A send inside a callback met a full window; waiting there could wait for ever."""


class PeerError(GComError):
    """A peer misbehaved."""


class HandlerFailed(PeerError):
    """A member's handler of group calls raised, or it has none; the text says which."""


class MalformedFrame(PeerError):
    """Bytes that are no frame of ours."""


class VersionMismatch(PeerError):
    """A peer that speaks another protocol version."""


class Untrusted(PeerError):
    """A peer's certificate is not believed, or ours is not by the peer."""


class Unavailable(GComError):
    """Retrying may help."""


class Exhausted(Unavailable):
    """This process is short of descriptors or threads."""


class RegistryUnavailable(Unavailable):
    """No registry answers at the address."""


class RegistryStarting(RegistryUnavailable):
    """The registry gives no name away yet: groups that have it may still register."""


class MemberDeparted(Unavailable):
    """A member departed before it answered a group call."""


class Detached(Unavailable):
    """This process lost its group, or hears no quorum of it at the moment; the message says which."""


class GComTimeout(Unavailable, TimeoutError):
    """A blocking call ran out of time."""


class StorageUnavailable(Unavailable):
    """A disk or a file of this machine is full, read-only or locked at the moment, or fails."""


class AuditUnavailable(Unavailable):
    """The audit cannot run here: something that Spark needs is missing."""


def error_of(code: str, text: str) -> GComError:
    """Return the exception that a peer or a registry named, or PeerError for a name that is none of ours."""
    kind = globals().get(code)
    if isinstance(kind, type) and issubclass(kind, GComError):
        return kind(text)
    return PeerError(f"{code}: {text}")


class ExtraMissing(Unavailable):
    """A package is not installed that one of GCom's extras brings."""
