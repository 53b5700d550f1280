"""Logs of several instances of one name, by hand: the six stories of boundaries that lost something, told three ways.

`present` is what a GCom writes that ends a session when it detaches, and knows no `succeeds`; `wrong` is the same
history in the words of the contract; `right` is what should have happened. The fifth story, a joiner told a base serial
of before the cut, lies within one instance: SERIAL_CONTIGUOUS is its rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.oracle.build import A, B, C, Ending, Logs, Record, deliver, send, view

D = "d#1"
A2, B2, C2 = "a#2", "b#2", "c#2"
SAFE: dict[str, Any] = {"safe": True, "ordering": "TOTAL"}


def on(instance: str, *records: Record) -> list[Record]:
    """The records, of that instance."""
    return [{**record, "instance": instance} for record in records]


def succeeds(instance: str, number: int, cut: dict[str, int], **more: Any) -> list[Record]:
    """The list of a `view` that succeeds one view."""
    return [{"instance": instance, "view": number, "cut": cut, "by": "proof", "gone": {}, "gives_up": [], **more}]


def over(in_view: int, into: str, reason: str = "succession") -> Record:
    return {"type": "leave", "view": in_view, "into": into, "reason": reason}


def left(in_view: int, reason: str = "request", **more: Any) -> Record:
    return {"type": "leave", "view": in_view, "reason": reason, **more}


def detach(in_view: int, reason: str = "quorum", **more: Any) -> Record:
    return {"type": "detach", "view": in_view, "reason": reason, **more}


def confirm(in_view: int, number: int, by: str = "majority", **more: Any) -> Record:
    return {"type": "confirm", "view": in_view, "number": number, "by": by, **more}


def adopt(in_view: int, giver: str, cut: dict[str, int]) -> Record:
    return {"type": "adopt", "view": in_view, "from": giver, "cut": cut}


def quorum(in_view: int, has: bool) -> Record:
    return {"type": "quorum", "view": in_view, "has": has}


@dataclass(frozen=True, slots=True)
class Told:
    """Logs, how they end where not by a clean exit, and what CONTINUITY says of the name."""

    logs: Logs
    verdict: str
    endings: dict[str, Ending] = field(default_factory=dict)


def first(*members: str, **more: Any) -> Record:
    return view(1, *members, **{**SAFE, **more})


def _delivered(number: int = 1) -> Record:
    return deliver(1, B, number, serial=number)


def present_1() -> Told:
    """c was stopped while b's message was confirmed; b is killed, c leads, and a is given its older state."""
    logs = {
        A: on("i", first(A, B, C), _delivered(), detach(1)),
        B: on("i", first(A, B, C), send(1, 1, {}), _delivered()),
        C: on("i", first(A, B, C), detach(1, "fork")),
        C2: on("j", first(C2), view(2, C2, A2, **SAFE)),
        A2: on("j", view(2, C2, A2, **SAFE)),
    }
    return Told(logs, "UNKNOWN", {B: "crash"})


def wrong_1() -> Told:
    """As the contract tells it: a goes over with more than the cut has."""
    begins = succeeds("i", 1, {}, gone={B: "lock"})
    logs = {
        A: [*on("i", first(A, B, C), _delivered(), over(1, "j")), *on("j", first(C, A, succeeds=begins), left(1))],
        B: on("i", first(A, B, C), send(1, 1, {}), _delivered(), confirm(1, 1)),
        C: [*on("i", first(A, B, C), over(1, "j")), *on("j", first(C, A, succeeds=begins), left(1))],
    }
    return Told(logs, "FAIL", {B: "crash"})


def right_1() -> Told:
    """a and c are a quorum: the instance goes on, and c is brought what was confirmed."""
    logs = {
        A: on("i", first(A, B, C), _delivered(), quorum(1, False), quorum(1, True), view(2, A, C, **SAFE)),
        B: on("i", first(A, B, C), send(1, 1, {}), _delivered(), confirm(1, 1)),
        C: on("i", first(A, B, C), quorum(1, False), quorum(1, True), _delivered(), view(2, A, C, **SAFE)),
    }
    return Told(logs, "VACUOUS", {B: "crash"})


def present_2() -> Told:
    """All links among three are cut; d claims the name with an empty state, and they enter there."""
    heard = deliver(1, A, 1, serial=1)
    old = [on("i", first(A, B, C), *([send(1, 1, {})] if who == A else []), heard, detach(1)) for who in (A, B, C)]
    new = view(2, D, A2, B2, C2, **SAFE)
    logs = {**dict(zip((A, B, C), old, strict=True)), D: on("k", first(D), new)}
    return Told({**logs, A2: on("k", new), B2: on("k", new), C2: on("k", new)}, "UNKNOWN")


def wrong_2() -> Told:
    old = on("i", first(A, B, C), detach(1, "merge", into="k"))
    new = on("k", view(2, D, A, B, C, **SAFE), adopt(2, D, {}))
    return Told({A: [*old, *new], B: [*old, *new], C: [*old, *new], D: on("k", first(D), new[0])}, "FAIL")


def right_2() -> Told:
    """d waits, is told for whom, and enters the instance that goes on."""
    old = on("i", first(A, B, C), quorum(1, False), quorum(1, True), view(2, A, B, C, D, **SAFE))
    return Told({A: old, B: old, C: old, D: on("i", old[-1], adopt(2, A, {}))}, "VACUOUS")


def present_3() -> Told:
    """The registry forgot the name; a newcomer's instance has more members, and the old one dissolves into it."""
    old = on("i", first(A, B), left(1, "merge", settled=2))
    new = view(2, D, C, A2, B2, **SAFE)
    logs = {A: old, B: old, D: on("k", first(D, C), new), C: on("k", first(D, C), new)}
    return Told({**logs, A2: on("k", new), B2: on("k", new)}, "UNKNOWN")


def wrong_3() -> Told:
    told = present_3()
    old = on("i", first(A, B), over(1, "k", "merge"))
    return Told({**told.logs, A: old, B: old}, "FAIL")


def right_3() -> Told:
    """The old one registers first, and the newcomers enter it."""
    old = on("i", first(A, B), view(2, A, B, D, C, **SAFE))
    return Told({A: old, B: old, D: on("i", old[1], adopt(2, A, {})), C: on("i", old[1], adopt(2, A, {}))}, "VACUOUS")


def present_4() -> Told:
    """c hangs, a and b do not hear each other for a while, and both wait for ever to enter: one instance, no quorum."""
    alone = on("i", first(A, B, C), detach(1))
    return Told({A: alone, B: alone, C: on("i", first(A, B, C))}, "UNKNOWN", {C: "crash"})


def wrong_4() -> Told:
    return Told(present_4().logs, "UNKNOWN", {C: "crash"})


def right_4() -> Told:
    two = on("i", first(A, B, C), quorum(1, False), quorum(1, True), view(2, A, B, **SAFE))
    return Told({A: two, B: two, C: on("i", first(A, B, C))}, "VACUOUS", {C: "crash"})


def present_6() -> Told:
    """a and b install view 2 with d and are killed; c, of view 1, begins anew beside the living d."""
    went = on("i", first(A, B, C), view(2, A, B, D, **SAFE))
    logs = {A: went, B: went, C: on("i", first(A, B, C), detach(1, "fork")), C2: on("j", first(C2))}
    return Told({**logs, D: on("i", went[1], detach(2))}, "UNKNOWN", {A: "crash", B: "crash"})


def wrong_6() -> Told:
    told = present_6()
    begins = succeeds("i", 1, {}, gone={A: "lock", B: "lock"})
    old = [*on("i", first(A, B, C), over(1, "j")), *on("j", first(C, succeeds=begins), left(1))]
    logs = {who: records for who, records in told.logs.items() if who != C2}
    return Told({**logs, C: old, D: on("i", told.logs[A][1])}, "FAIL", told.endings)


def right_6() -> Told:
    """d, of the latest view, is succeeded; c, of an older one, enters with a state."""
    told = present_6()
    begins = succeeds("i", 2, {}, gone={A: "lock", B: "lock"})
    logs = {who: records for who, records in told.logs.items() if who != C2}
    second = view(2, D, C, **SAFE)
    logs[D] = [*on("i", told.logs[A][1], over(2, "j")), *on("j", first(D, succeeds=begins), second)]
    logs[C] = [*on("i", first(A, B, C), over(1, "j", "expelled")), *on("j", second, adopt(2, D, {}))]
    return Told(logs, "PASS", told.endings)


STORIES: dict[str, Callable[[], Told]] = {
    each.__name__: each
    for each in (
        *(present_1, wrong_1, right_1),
        *(present_2, wrong_2, right_2),
        *(present_3, wrong_3, right_3),
        *(present_4, wrong_4, right_4),
        *(present_6, wrong_6, right_6),
    )
}
