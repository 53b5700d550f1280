"""Rights at a registry that knows who asks: certificate holders speak for themselves and for their groups.

By default whoever has a certificate may create and join; only a group's creator and administrators remove it; its
members and administrators may fork it. Rules may say otherwise by group and name (gcom/values/rights.py).
"""

from __future__ import annotations

from collections.abc import Iterable

from gcom.core.directory.askers import Askers
from gcom.core.messages.registry import Answer, Claim, Create, Fork, GroupInfo, Note, Refusal, Register, Remove, Request
from gcom.core.messages.sequencer import SequencerRequest, Want
from gcom.runtime import pyro
from gcom.values import names
from gcom.values.identity import Identity
from gcom.values.rights import Right
from gcom_registry.rights_file import RightsFile
from gcom_registry.storage import Creators


class Rights:
    """The rules, and who created which group."""

    def __init__(self, creators: Creators, file: RightsFile) -> None:
        self._creators = creators
        self._file = file

    def refusal(
        self, request: Request | SequencerRequest, who: Identity, askers: Askers, *, known: bool = True
    ) -> Refusal | None:
        """Return why an identity may not ask this, or None if it may.

        `askers`: the processes for one of which it must speak; None: it need not. `known`: the group that the request
        is about is in the directory.
        """
        if isinstance(request, Remove):
            return self._removal(request, who)
        # An administrator needs no seat in the group: a fork is for where those who have one are silent.
        if isinstance(request, Fork) and self._file.table.administers(who, request.group):
            return None
        if not (askers is None or any(who.speaks_for(process) for process in askers)):
            besides = f", {_ADMIN}" if isinstance(request, Fork) else ""
            return Refusal("NotPermitted", f"{_wording(request, who)}: {_allowed(askers)} may{besides}")
        return self._by_rule(request, who, known)

    def _removal(self, request: Remove, who: Identity) -> Refusal | None:
        """Refuse what neither a rule, nor the default, nor an administrator's right lets somebody remove."""
        creator = self._creators.of(request.group)
        said = [self._file.table.verdict(Right.REMOVE, name, request.group) for name in sorted(who.members)]
        # A rule outranks having made the group. 1. A rule lets one of the names remove. 2. An administrator always
        # may. 3. Its creator may, unless a rule denies it.
        if (
            True in said
            or self._file.table.administers(who, request.group)
            or (creator in who.members and False not in said)
        ):
            return None
        if False in said:
            return _denied(Right.REMOVE, who.members, request.group)
        return Refusal("NotPermitted", f"{_wording(request, who)}: its creator ({creator or 'unknown'}) may, {_ADMIN}")

    def _by_rule(self, request: Request | SequencerRequest, who: Identity, known: bool) -> Refusal | None:
        """Refuse what the rules deny the names for which the request speaks."""
        right, group, members = _wanted(request, who, known)
        table = self._file.table
        if right is None:
            return None
        lacking = sorted(name for name in members if not table.may(right, name, group))
        # A connection with several names may create by any of them; a process has one.
        if not lacking or (right is Right.CREATE and len(lacking) < len(members)):
            return None
        return _denied(right, lacking, group)

    def note_creation(self, request: Create, answer: Answer, who: Identity) -> None:
        """Remember who created a group that was not there before."""
        if isinstance(answer, GroupInfo) and who.members:
            self._creators.add(request.definition.group, min(who.members))


class RightsTeller:
    """The object that tells the rules to members, and reads their file anew for the registry's own commands."""

    def __init__(self, file: RightsFile) -> None:
        self._file = file

    def receive(self, data: bytes) -> bytes:
        return pyro.pack(self._answer(pyro.unpack(data), pyro.peer()))

    def _answer(self, asked: object, who: Identity | None) -> dict[str, object]:
        match asked:
            # Each member asks once a second, and nearly always nothing has changed: then the digest is all of the
            # answer.
            case {"ask": "rights", "have": str() as digest}:
                now, rows = self._file.digest, self._file.table.as_rows()
                return {"digest": now} | ({} if digest == now else {"rules": rows})
            # By the registry's own commands, which ask as itself: on loopback as the user, else by the registry's
            # certificate.
            case {"ask": "reread"} if who is None or who.registries:
                self._file.reread()
                return {"rules": len(self._file.table.rules), "trouble": self._file.trouble}
            case {"ask": "file"} if who is None or who.registries:
                return {"rules": self._file.table.as_rows(), "trouble": self._file.trouble}
        return {"refused": "no question that this registry answers to this asker: it knows rights"}


def _wanted(
    request: Request | SequencerRequest, who: Identity, known: bool
) -> tuple[Right | None, str, frozenset[str]]:
    """Return the right that a request needs, in which group, and the names that must have it."""
    match request:
        case Create(definition=definition):
            # Of a group that is there only its entry is asked for, which needs no right.
            return (None if known else Right.CREATE), definition.group, who.members
        case Claim(group=group, process=process):
            return Right.JOIN, group, frozenset([names.name_of(process)])
        case Register(definition=definition, process=process):
            return Right.JOIN, definition.group, frozenset([names.name_of(process)])
        case Note(group=group, joiners=joiners):
            return Right.JOIN, group, frozenset(names.name_of(process) for process, _ in joiners)
        case Want(group=group, process=process, upto=upto):
            # Serials for messages that members refuse would keep all others waiting.
            return Right.SEND if upto else Right.JOIN, group, frozenset([names.name_of(process)])
    return None, "", frozenset()


def _denied(right: Right, members: Iterable[str], group: str) -> Refusal:
    name = ", ".join(sorted(members))
    text = f"{name} may not {right} in group {group!r}, by the registry's rules: its operator can change that"
    return Refusal("NotPermitted", f"{text} (gcom-registry allow {right} {name} --group {group})")


_ADMIN = "and an administrator (gcom-registry invite NAME --admin)"


def _wording(request: object, who: Identity) -> str:
    return f"{who} may not ask this ({type(request).__name__})"


def _allowed(askers: Iterable[str]) -> str:
    return ", ".join(sorted({names.name_of(process) for process in askers})) or "nobody"
