"""The question of `gcom status` to each member, and its answer: the member's snapshot, in plain values.

The status that members exchange in frames is another one: `gcom.core.messages.frames.Status`.

Whoever is in the view may ask, and administrators; on loopback, every process of the user.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

from gcom.errors import MalformedFrame, NotPermitted, PeerError, UnknownGroup
from gcom.runtime import pyro
from gcom.values.identity import Identity
from gcom.values.names import Address, Process
from gcom.values.snapshot import SequencerInfo, Snapshot

HELD_BACK_SHOWN = 16  # runs; the rest is counted


@dataclass(frozen=True, slots=True)
class MemberStatus:
    """A member's state, as it says itself. Times are in seconds, by process."""

    process: Process
    instance: str
    view: int
    members: tuple[Process, ...]
    detached: bool
    waits_for: str
    held_back: tuple[tuple[str, float], ...]  # in words, and since when
    held_back_rest: int
    sequencer: SequencerInfo | None
    unstable: int
    unsent: int
    unread_by: dict[Process, int]
    window: int
    suspected: dict[Process, str]
    heard_s: dict[Process, float]
    round_trip_s: dict[Process, float]

    def as_row(self) -> dict[str, object]:
        return asdict(self)


def asked(data: bytes) -> str:
    """Return the group that a question is about; raises MalformedFrame."""
    # As MalformedFrame, which the server counts as this peer's misbehaviour, and answers so.
    try:
        question = pyro.unpack(data)
    except PeerError as error:
        raise MalformedFrame(str(error)) from error
    match question:
        case {"ask": "status", "group": str() as group}:
            return group
    raise MalformedFrame("no question that a node answers: this one knows status")


def answer(group: str, seen: Snapshot | None, who: Identity | None, admin: bool) -> bytes:
    """Return the answer for whoever asks; None is a process of this user. `admin`: it administers the group."""
    if seen is None:
        # The name is a stranger's, and may be of any length.
        return pyro.pack({"refused": "UnknownGroup", "text": f"this node is not in group {group[:100]!r}"})
    if who is not None and not (admin or any(who.speaks_for(process) for process in seen.view.members)):
        text = f"{who} may not ask: the members of group {group!r} may, and an administrator"
        return pyro.pack({"refused": "NotPermitted", "text": f"{text} (gcom-registry invite NAME --admin)"})
    return pyro.pack({"status": _status(seen).as_row()})


def _status(seen: Snapshot) -> MemberStatus:
    # With a bound: a member that holds back thousands of runs is asked when it is in trouble, and answers within one
    # frame.
    shown = seen.held_back[:HELD_BACK_SHOWN]
    return MemberStatus(
        process=seen.process,
        instance=seen.instance,
        view=seen.view.number,
        members=seen.view.members,
        detached=seen.detached,
        waits_for=seen.waits_for,
        held_back=tuple(
            (f"{it.sender} {it.first}-{it.last} waits for {', '.join(map(str, it.waits_for[:3]))}", it.since_s)
            for it in shown
        ),
        held_back_rest=seen.held_back_rest + len(seen.held_back) - len(shown),
        sequencer=seen.sequencer,
        unstable=seen.window.unstable,
        unsent=seen.window.unnumbered,
        unread_by=seen.window.unread_by,
        window=seen.window.size,
        suspected=seen.suspected,
        heard_s=seen.heard_s,
        round_trip_s=seen.round_trip_s,
    )


def ask_member(
    address: Address, member: str, group: str, credentials: pyro.Credentials | pyro.UserSecret, timeout_s: float
) -> MemberStatus:
    """Ask the member at an address how it stands.

    Raises UnknownGroup, NotPermitted, PeerError, and what `Caller.call` raises where nobody answers.
    """
    with closing(pyro.Caller(address, pyro.STATUS, credentials, member)) as caller:
        told = pyro.unpack(caller.call(pyro.pack({"ask": "status", "group": group}), timeout_s))
    match told:
        case {"refused": "UnknownGroup", "text": str() as text}:
            raise UnknownGroup(text)
        case {"refused": "NotPermitted", "text": str() as text}:
            raise NotPermitted(text)
        case {"status": dict() as fields}:
            return _read(fields, address)
    raise PeerError(f"malformed answer from {address} to a question for its status: is its GCom of another version?")


def _read(fields: dict[str, Any], address: Address) -> MemberStatus:
    """Return the status in an answer; raises PeerError, as a peer may have sent anything in any field."""
    try:
        sequencer = fields["sequencer"]
        return MemberStatus(
            **{name: kind(fields[name]) for name, kind in _PLAIN.items()},
            members=tuple(map(str, fields["members"])),
            held_back=tuple((str(words), float(since)) for words, since in fields["held_back"]),
            sequencer=SequencerInfo(**sequencer) if sequencer is not None else None,
            unread_by={str(who): int(count) for who, count in fields["unread_by"].items()},
            suspected={str(who): str(why) for who, why in fields["suspected"].items()},
            heard_s={str(who): float(seconds) for who, seconds in fields["heard_s"].items()},
            round_trip_s={str(who): float(seconds) for who, seconds in fields["round_trip_s"].items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PeerError(f"malformed status from {address}: {error!r:.100}; is its GCom of another version?") from error


# By `int(...)` and `str(...)`: a value of another kind is turned into one that can be shown, or refused by what
# raises.
_PLAIN: dict[str, Any] = {
    "process": str,
    "instance": str,
    "view": int,
    "detached": bool,
    "waits_for": str,
    "held_back_rest": int,
    "unstable": int,
    "unsent": int,
    "window": int,
}
