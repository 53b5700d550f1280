"""The output of a member for its user: deliveries as data, all else as notices, or everything as JSON.

In plain form a delivery is one line `name: text`. A line break inside a text is shown as `\\n`, since it could pass for
another sender's line; so are carriage return and escape (`\\r`, `\\x1b`), which `cat` would hand to a terminal. On a
terminal, control characters are left out, since they could do anything to it. JSON is exact: text that was not UTF-8 is
also given as base64.
"""

from __future__ import annotations

import base64
import os
from json.encoder import encode_basestring

import gcom
from gcom.cli.output import Output, harmless, notice
from gcom.cli.wording import many
from gcom.values.names import name_of

_SHOWN = ((b"\n", b"\\n"), (b"\r", b"\\r"), (b"\x1b", b"\\x1b"))


class PlainRows:
    """The form for people, and for programs that want the text alone."""

    def __init__(self, output: Output, group: str) -> None:
        self._output = output
        self._group = group
        self._prefixes: dict[str, bytes] = {}  # made once for each sender: a delivery costs little else
        # As programs agree to ask (no-color.org), and only where a terminal shows it.
        self._colour = output.terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def message(self, message: gcom.Message) -> None:
        prefix = self._prefixes.get(message.sender) or self._prefix(message.sender)
        payload = message.payload
        if self._output.terminal:
            data = harmless(message.text).encode("utf-8", "replace")
        else:
            # To a file or a program the bytes go as they are, but for what a terminal obeys that shows them later.
            data = payload if isinstance(payload, bytes) else payload.encode("utf-8", "replace")
        for raw, shown in _SHOWN:
            if raw in data:
                data = data.replace(raw, shown)
        self._output.line(prefix + data)

    def _prefix(self, process: str) -> bytes:
        name = name_of(process)
        prefix = (f"\x1b[1m{name}:\x1b[0m " if self._colour else f"{name}: ").encode()
        self._prefixes[process] = prefix
        return prefix

    def ready(self, group: gcom.Group) -> None:
        notice(f"{group.process} is in group {self._group!r}: {describe(group.definition)}; {_names(group.view)}")

    def view(self, change: gcom.ViewChange) -> None:
        changes = [f"{process} joined" for process in change.joined]
        changes += [f"{process} left ({reason})" for process, reason in change.left.items()]
        notice("; ".join([_names(change.view), *changes]))

    def lost(self, lost: gcom.Lost) -> None:
        last = lost.first + lost.count - 1
        notice(f"lost: {lost.count} from {lost.sender}, number {lost.first} to {last}")

    def suspicion(self, suspicion: gcom.Suspicion) -> None:
        notice(f"{suspicion.process} is suspected ({suspicion.reason})")

    def quorum(self, event: gcom.QuorumLost | gcom.QuorumRegained) -> None:
        doubt = event.in_doubt
        words = f"; {_messages(*doubt)} in doubt until it is told what became of them" if doubt else ""
        if isinstance(event, gcom.QuorumLost):
            notice(f"detached: it hears too few members of group {self._group!r} to go on, and waits for more{words}")
        else:
            notice(f"attached: it hears enough members of group {self._group!r} again, and goes on{words}")

    def settled(self, settled: gcom.Settled) -> None:
        fate = "arrived" if settled.arrived else "never arrived, and never will: what is sent again is no double"
        notice(f"{_messages(settled.first, settled.last)} {fate}")

    def departure(self, departure: gcom.Departure) -> None:
        doubt = departure.unconfirmed
        words = f"; {_messages(*doubt)} may not have arrived" if doubt else ""
        if departure.unsent:
            words += f"; {many(departure.unsent, 'message')} not sent"
        if departure.reason == "request":
            return notice(f"left group {self._group!r}{words}")
        # It left without being told that the others have everything: what is unconfirmed is said.
        if departure.reason == "exit":
            return notice(f"left group {self._group!r} without the others' answer{words}")
        why = _REASONS.get(departure.reason, departure.reason)
        advice = "it comes back by itself" if departure.returning else "join again to go on"
        return notice(f"out of group {self._group!r}: {why}{words}; {advice}")

    def returned(self, returned: gcom.Returned) -> None:
        notice(f"back in group {self._group!r} as {returned.process}")


class JsonRows:
    """An object per line, all on standard output."""

    def __init__(self, output: Output, group: str) -> None:
        self._output = output
        self._group = group
        self._prefixes: dict[str, str] = {}

    def message(self, message: gcom.Message) -> None:
        prefix = self._prefixes.get(message.sender) or self._prefix(message.sender)
        payload = message.payload
        if isinstance(payload, bytes):
            text, raw = message.text, _base64(payload)
        else:
            text, raw = payload, ""
        # Written by hand around JSON's own escaping of the text: else an object would be made per delivery, to be
        # taken apart at once.
        row = f'{prefix}{message.number},"view":{message.view},"text":{encode_basestring(text)}{raw}}}'
        self._output.line(row.encode("utf-8", "replace"))

    def _prefix(self, process: str) -> str:
        # Names and process ids hold nothing that JSON would escape.
        prefix = f'{{"type":"delivery","sender":"{name_of(process)}","process":"{process}","number":'
        self._prefixes[process] = prefix
        return prefix

    def ready(self, group: gcom.Group) -> None:
        self._row("ready", process=group.process, instance=group.instance, **_view(group.view))

    def view(self, change: gcom.ViewChange) -> None:
        self._row("view", **_view(change.view), joined=list(change.joined), left=dict(change.left))

    def lost(self, lost: gcom.Lost) -> None:
        self._row("lost", sender=name_of(lost.sender), process=lost.sender, first=lost.first, count=lost.count)

    def suspicion(self, suspicion: gcom.Suspicion) -> None:
        self._row("suspicion", process=suspicion.process, reason=suspicion.reason)

    def quorum(self, event: gcom.QuorumLost | gcom.QuorumRegained) -> None:
        doubt = list(event.in_doubt) if event.in_doubt else None
        self._row("quorum", has=isinstance(event, gcom.QuorumRegained), in_doubt=doubt)

    def settled(self, settled: gcom.Settled) -> None:
        where = {"process": settled.process, "instance": settled.instance}
        self._row("settled", first=settled.first, last=settled.last, arrived=settled.arrived, **where)

    def departure(self, departure: gcom.Departure) -> None:
        # As in a delivery log: every end that the application did not ask for.
        kind = "left" if departure.reason in ("request", "exit") else "detached"
        doubt = list(departure.unconfirmed) if departure.unconfirmed else None
        lacking = {"unconfirmed": doubt, "unsent": departure.unsent}
        where = {"process": departure.process, "instance": departure.instance}
        self._row(kind, reason=departure.reason, **lacking, returning=departure.returning, **where)

    def returned(self, returned: gcom.Returned) -> None:
        self._row("returned", process=returned.process, instance=returned.instance)

    def _row(self, kind: str, **fields: object) -> None:
        self._output.row({"type": kind, "group": self._group, **fields})


RowFormat = PlainRows | JsonRows
_REASONS = {
    "expelled": "the others went on without it",
    "succession": "no quorum of it can be again, and what is left goes on in an instance that succeeds it",
    "fork": "its side goes on by itself",
    "merge": "another instance goes on under the name",
    "dissolved": "all others have left, or are dead, and the group is over",
    "taken": "its name is another's meanwhile",
    "unread": "too many events were not read",
    "defect": "a defect in GCom ended this process's session",
}


def _messages(first: int, last: int) -> str:
    return f"message {first}" if first == last else f"messages {first} to {last}"


def describe(definition: gcom.Definition) -> str:
    # Features that a group does not have are left out, and waiting times that are as usual: people read this line.
    members = f"static ({', '.join(definition.static)})" if definition.static else "dynamic"
    safe = ", safe" if definition.safe else ""
    signed = ", signed" if definition.signed else ""
    tie = "" if definition.tie_breaker is gcom.TieBreaker.LEADER else f", tie-breaker {definition.tie_breaker}"
    detection = "" if definition.detection == gcom.Detection() else f", detection {definition.detection}"
    return (
        f"{definition.ordering}, {definition.multicast}, {members}{safe}{signed}, {definition.netsplit}{tie}{detection}"
    )


def _names(view: gcom.View) -> str:
    return f"view {view.number}: {', '.join(view.names)}"


def _view(view: gcom.View) -> dict[str, object]:
    return {"view": view.number, "members": list(view.members), "leader": view.leader}


def _base64(payload: bytes) -> str:
    """Return the field that gives bytes exactly, for bytes that are no UTF-8; empty for others."""
    # Only where the text is not exact: nearly all payloads are text, and their rows would be twice as long.
    try:
        payload.decode()
    except UnicodeDecodeError:
        return f',"base64":"{base64.b64encode(payload).decode()}"'
    return ""
