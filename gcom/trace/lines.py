"""Lines of a delivery log, version 1, except `close` (DELIVERY_LOG.md, Records).

Lines of sends and deliveries are formatted by hand, with names escaped once: they are nearly all lines, and a general
encoder costs three times as much. The rest is rare and goes through `json`.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import NamedTuple, assert_never

from gcom.core.messages.effects import Ended, Installed, Quorum, Skip, Succeeds, Suspected
from gcom.trace.state import LoggedSession
from gcom.values.definition import Definition
from gcom.values.names import Process, name_of

VERSION = 1
# The values that a view without the field has.
_ABSENT: dict[str, object] = {"safe": False, "netsplit": "PRIMARY", "base": {}, "base_serial": 0}
# Ends by the process's own will, or to go on in a successor; all others put the process out.
_LEAVING = ("request", "merge", "succession", "exit")


class Numbered(NamedTuple):
    """`Sent` without its payloads, which would stay in memory until the flush."""

    view: int
    first: int
    last: int
    clock: dict[Process, int]
    digests: tuple[int, ...]  # CRC-32 of each payload, if the log has them


class Delivered(NamedTuple):
    """`Deliver` without its payloads."""

    view: int
    sent_view: int
    sender: Process
    first: int
    last: int
    serial: int  # of the first; 0: the order has none
    digests: tuple[int, ...]  # as of `Numbered`


class Confirmed(NamedTuple):
    """The sender was told who holds its message; `by`: majority, or all."""

    view: int
    number: int
    by: str


class Adopted(NamedTuple):
    """A joiner took over the state that `donor` had at the barrier of `view`."""

    view: int
    donor: Process


class Noted(NamedTuple):
    """A record of what stands on groups (DELIVERY_LOG.md, Applications): its type, and its fields as JSON."""

    kind: str
    fields: str


LoggedEvent = Numbered | Delivered | Skip | Installed | Quorum | Confirmed | Adopted | Suspected | Ended


def opening(at: int, process: Process, segment: int, wall_ns: int, state: dict[str, dict[str, object]] | None) -> str:
    """Return the first line of a segment; `state` is None in the first."""
    fields: dict[str, object] = {
        "type": "open",
        "at": at,
        "version": VERSION,
        "member": name_of(process),
        "incarnation": process.partition("#")[2],
        "process": process,
        "segment": segment,
        "wall_ns": wall_ns,
    }
    return _compact(fields if state is None else {**fields, "state": state})


def line(at: int, us: int, definition: Definition, session: LoggedSession, event: LoggedEvent) -> str:
    """Return the line of an event at position `at`, `us` after the segment's opening; bring the session up to date."""
    kind, rest = _body(definition, session, event)
    # Written as text and not by json.dumps: a run is one line, and with the fields in one order the audit finds plain
    # lines by their first letters (audit/input/records.py).
    return f'{{"type":"{kind}","at":{at},"t":{us},{session.head},{rest}}}'


def note(at: int, us: int, event: Noted) -> str:
    """Return the line of an application's record at position `at`."""
    return f'{{"type":"{event.kind}","at":{at},"t":{us},{event.fields}}}'


def _body(definition: Definition, session: LoggedSession, event: LoggedEvent) -> tuple[str, str]:
    match event:
        case Delivered():
            return "deliver", _deliver(session, event)
        case Numbered():
            return "send", _send(session, event)
        case Skip():
            return "skip", _skip(session, event)
        case Installed():
            return "view", _view(definition, session, event)
        case Quorum(view, has):
            return "quorum", f'"view":{view},"has":{"true" if has else "false"}'
        case Confirmed(view, number, by):
            return "confirm", f'"view":{view},"number":{number},"by":{_quoted(by)}'
        case Adopted(view, donor):
            # The donor's cut at the barrier: without it the audit could not say which messages the state stands for.
            cut = _compact(dict(session.cuts.get(view, {})))
            return "adopt", f'"view":{view},"from":{_quoted(donor)},"cut":{cut}'
        case Suspected():
            return "suspect", f'"view":{event.view},"process":{_quoted(event.process)},"reason":{_quoted(event.reason)}'
        case Ended():
            return "leave" if event.reason in _LEAVING else "detach", _end(event)
        case _:
            assert_never(event)


def _deliver(session: LoggedSession, event: Delivered) -> str:
    view, sent_view, sender, first, last, serial, digests = event
    # As lines are made, not as events happen: the session must stand where the log stands, or a rotation in between
    # would give the next segment a state that its predecessor's lines do not lead to.
    session.deliver(sender, first, last)
    placed = _serial(session, serial, last - first + 1)
    told = f"{placed}{_digests(digests)}"
    return f'"view":{view},"sent_view":{sent_view},"sender":{_quoted(sender)},{_numbers(first, last)}{told}'


def _send(session: LoggedSession, event: Numbered) -> str:
    view, first, last, clock, digests = event
    # What the last send told already is left out; the format says that an absent entry is unchanged.
    entries = session.send(last, session.changed(clock))
    clock_text = ",".join([f"{_quoted(who)}:{number}" for who, number in entries.items()])
    return f'"view":{view},{_numbers(first, last)},"clock":{{{clock_text}}}{_digests(digests)}'


def _digests(digests: tuple[int, ...]) -> str:
    return f',"digests":[{",".join(map(str, digests))}]' if digests else ""


def _skip(session: LoggedSession, event: Skip) -> str:
    if event.no_op:
        count = f',"count":{event.count}' if event.count > 1 else ""
        return f'"view":{event.view}{count}{_serial(session, event.serial, event.count)}'
    last = event.first + event.count - 1
    session.settle(event.sender, event.first, last)
    placed = _serial(session, event.serial, event.count)
    return f'"view":{event.view},"sender":{_quoted(event.sender)},{_numbers(event.first, last)}{placed}'


def _serial(session: LoggedSession, serial: int, count: int) -> str:
    if not serial:
        return ""
    session.serial = serial + count - 1
    return f',"serial":{serial}'


def _view(definition: Definition, session: LoggedSession, event: Installed) -> str:
    view = event.view
    # Before the line is made: a segment that begins after this line must have the base in its state.
    session.install(view.number, view.members, event.base or {})
    session.serial = max(session.serial, event.base_serial)
    fields: dict[str, object] = {
        "view": view.number,
        "members": view.members,
        "leader": view.leader,
        "ordering": definition.ordering,
        "multicast": definition.multicast,
    }
    # Defaults are left out, so that logs of groups without these features keep the form of version 1.
    optional = {"safe": definition.safe, "netsplit": definition.netsplit, "base": event.base or {}}
    optional["base_serial"] = event.base_serial
    fields.update({name: value for name, value in optional.items() if value != _ABSENT[name]})
    # In the first view of a successor, where the audit's CONTINUITY looks for it.
    if event.succeeds:
        fields["succeeds"] = [_succeeds(event.succeeds)]
    return _compact(fields)[1:-1]


def _succeeds(it: Succeeds) -> dict[str, object]:
    where: dict[str, object] = {"instance": it.instance, "view": it.view, "cut": it.cut, "serial": it.serial}
    optional: dict[str, object] = {"gone": it.gone, "gives_up": it.gives_up}
    return where | {"by": it.by} | {name: value for name, value in optional.items() if value}


def _end(event: Ended) -> str:
    settled = "" if event.settled is None else f'"settled":{event.settled},'
    into = f'"into":{_quoted(event.into)},' if event.into else ""
    return f'"view":{event.view},{settled}{into}"reason":{_quoted(event.reason)}'


def _numbers(first: int, last: int) -> str:
    return f'"number":{first},"count":{last - first + 1}' if last > first else f'"number":{first}'


# 4,096: more names than a full group meets in a segment; each would else be escaped again on every line.
@lru_cache(maxsize=4096)
def _quoted(text: str) -> str:
    return json.dumps(text)


def _compact(fields: dict[str, object]) -> str:
    return json.dumps(fields, separators=(",", ":"))
