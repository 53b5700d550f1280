"""Changes of the directory as events of the trail: what was asked for, and what became of each group's membership."""

from __future__ import annotations

from collections.abc import Iterable

from gcom.core.directory.rows import DissolvedInstance, Row, Store
from gcom.core.messages.registry import (
    Answer,
    Claim,
    Create,
    Fork,
    GroupInfo,
    Refusal,
    Register,
    Remove,
    Request,
    Unregister,
)
from gcom.core.messages.sequencer import SequencerAnswer, SequencerRequest, Unknown, Want
from gcom.values.names import Process, name_of, place_of
from gcom_registry.trail.file import Trail

# Of these every refusal is told: an operator looks for them. Other requests are repeated by themselves until they fit.
_ASKED_FOR = {Create: "create", Remove: "remove", Fork: "fork"}
_FORBIDDEN = frozenset(["NotPermitted", "NotInvited"])


def note_request(trail: Trail, request: Request, answer: Answer, before: Row | None) -> None:
    """Note a request that was carried out or refused; `before`: the entry of its group, as it was."""
    event = _ASKED_FOR.get(type(request))
    strange = _is_strange(request, before) and not _is_late(trail, request, before)
    if isinstance(answer, Refusal):
        if answer.code in _FORBIDDEN or event or strange:
            trail.refuse(event or type(request).__name__.lower(), answer.text, group=group_of(request))
    elif isinstance(request, Register):
        if isinstance(answer, GroupInfo) and not _has_seat(answer, request.process) and strange:
            trail.refuse("register", _NO_SEAT.format(request.process, request.instance), group=group_of(request))
    elif isinstance(request, Unregister):
        if before:
            trail.note("leave", group=request.group, member=name_of(request.process), process=request.process)
    elif event and not (isinstance(request, Create) and before):
        trail.note(event, group=group_of(request))


def note_serials(trail: Trail, request: SequencerRequest, answer: SequencerAnswer, row: Row | None) -> None:
    """Note that a process outside a group asked for its serials; `row`: the entry of the group."""
    if not (isinstance(request, Want) and isinstance(answer, Unknown) and row):
        return
    if request.process not in row.known and not trail.has_departed(request.process):
        trail.refuse("want", _NO_SEAT.format(request.process, request.instance), group=request.group)


_NO_SEAT = "{} has no seat in the group, instance {}: it was told what there is, and nothing was changed"


def _is_strange(request: Request, before: Row | None) -> bool:
    """Return whether a process speaks for a group that has members, of which none knows it."""
    if not isinstance(request, Claim | Register | Unregister):
        return False
    # Newcomers may claim an empty group at the same time, and one of them has it: these call nobody dead.
    if isinstance(request, Claim) and not request.gone:
        return False
    return before is not None and before.view is not None and request.process not in before.known


def _is_late(trail: Trail, request: Request, before: Row | None) -> bool:
    """Return whether a process that has just left registers the view in which it was."""
    # 1. B registers its view. 2. It leaves, and the leader registers the next view. 3. What B said in 1 comes.
    if not isinstance(request, Register) or before is None:
        return False
    return request.view.number < before.number and trail.has_departed(request.process)


def _has_seat(entry: GroupInfo, process: Process) -> bool:
    return process in entry.members or process in dict(entry.others)


def group_of(request: Request) -> str:
    """Return the name of the group that a request is about; empty for one that names none."""
    definition = getattr(request, "definition", None)
    return str(definition.group if definition else getattr(request, "group", ""))


class TrailStore(Store):
    """A store, and the trail of what it is given: members that come and go, and groups that end."""

    def __init__(self, kept: Store, trail: Trail) -> None:
        self._kept, self._trail = kept, trail
        self._seen: dict[str, Row] = {}

    def rows(self) -> Iterable[Row]:
        for row in self._kept.rows():
            self._seen[row.definition.group] = row
            yield row

    def dissolved(self) -> Iterable[DissolvedInstance]:
        return self._kept.dissolved()

    def save(self, row: Row) -> None:
        self._kept.save(row)
        group = row.definition.group
        before, self._seen[group] = self._seen.get(group), row
        self._note_members(before, row)

    def _note_members(self, before: Row | None, row: Row) -> None:
        was, now = _members(before), _members(row)
        where = {"group": row.definition.group, "instance": row.instance, "view": row.number}
        for process in (it for it in now if it not in was):
            address = place_of(now[process])
            self._trail.note("join", **where, member=name_of(process), process=process, address=address)
        out = dict(row.older)
        for process in (it for it in was if it not in now):
            event = "out" if process in out else "leave"
            self._trail.note(event, **where, member=name_of(process), process=process)
            self._trail.remember_departure(process)

    def drop(self, group: str) -> None:
        self._kept.drop(group)
        row = self._seen.pop(group, None)
        if row and row.view:
            self._trail.note("end", group=group, instance=row.instance, view=row.number, members=list(row.view.members))

    def bury(self, gone: DissolvedInstance) -> None:
        self._kept.bury(gone)

    def forget(self, group: str) -> None:
        self._kept.forget(group)


def _members(row: Row | None) -> dict[Process, str]:
    view = row.view if row else None
    return dict(zip(view.members, view.addresses, strict=True)) if view else {}
