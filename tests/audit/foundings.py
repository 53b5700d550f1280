"""Logs of names that were founded anew, and of members that come back, each with what CONTINUITY says of it."""

from __future__ import annotations

from collections.abc import Callable

from tests.audit.lineages import A2, B2, C2, SAFE, D, Told, adopt, detach, first, left, on, over, succeeds
from tests.oracle.build import A, B, C, Record, deliver, send, view

_ENDED = [{"instance": "i", "view": 1, "by": "ended"}]


def _in_i(end: Record | None = None) -> dict[str, list[Record]]:
    """Three of i, who all delivered b's message."""
    had = [deliver(1, B, 1, serial=1), *([end] if end else [])]
    return {who: on("i", first(A, B, C), *([send(1, 1, {})] if who == B else []), *had) for who in (A, B, C)}


def _founded_anew(*records: Record, founder: str = D, end: Record | None = None) -> Told:
    """All of i are put out, somebody founds j, and they come back, each with these records."""
    back = [who for who in (A2, B2, C2) if who != founder]
    second = view(2, founder, *back, **SAFE)
    new = {founder: on("j", first(founder, succeeds=_ENDED), second, left(2))}
    new |= {who: on("j", second, *records, left(2)) for who in back}
    return Told({**_in_i(end or detach(1, "expelled")), **new}, "FAIL")


def founded_anew_over_those_who_are_there_yet() -> Told:
    """d says that i is over, and its three members have not left."""
    return Told({**_in_i(), D: on("j", first(D, succeeds=_ENDED), left(1))}, "FAIL")


def founded_anew_and_they_come_back() -> Told:
    return _founded_anew(adopt(2, D, {}))


def founded_anew_and_they_come_back_without_a_word_of_a_state() -> Told:
    return Told(_founded_anew().logs, "UNKNOWN")


def founded_anew_and_they_are_given_the_state_of_one_who_kept_its_own() -> Told:
    """The state that d began with is lost with it, and c goes on with its own."""
    return Told(_founded_anew(adopt(2, C2, {})).logs, "UNKNOWN")


def founded_anew_and_one_left_on_its_way_back() -> Told:
    """a#2 got in nowhere; who enters j by its name, a#3, may be a newcomer, and is owed nothing."""
    second = view(2, D, "a#3", **SAFE)
    old = {**_in_i(), A: _in_i(detach(1, "expelled"))[A], A2: []}
    new = {D: on("j", first(D, succeeds=_ENDED), second, left(2)), "a#3": on("j", second, adopt(2, D, {}), left(2))}
    return Told({**old, **new}, "UNKNOWN", {B: "crash", C: "crash"})


def founded_anew_by_one_that_was_put_out() -> Told:
    """It takes along what it had, which is what the others had."""
    return Told(_founded_anew(adopt(2, A2, {}), founder=A2).logs, "PASS")


def founded_anew_by_one_that_has_less() -> Told:
    told = _founded_anew(adopt(2, A2, {}), founder=A2)
    told.logs[A] = [record for record in told.logs[A] if record["type"] != "deliver"]
    return told


def founded_anew_by_one_whose_earlier_log_is_lost() -> Told:
    told = _founded_anew(adopt(2, A2, {}), founder=A2)
    return Told({who: records for who, records in told.logs.items() if who != A}, "UNKNOWN")


def founded_anew_twice() -> Told:
    """a begins j with what it had, and dies; d founds k with nothing, and b and c come back there."""
    twice = [{"instance": "j", "view": 1, "by": "ended"}]
    second = view(2, D, B2, C2, **SAFE)
    old = _in_i(detach(1, "expelled"))
    new = {A2: on("j", first(A2, succeeds=_ENDED)), D: on("k", first(D, succeeds=twice), second, left(2))}
    new |= {who: on("k", second, adopt(2, D, {}), left(2)) for who in (B2, C2)}
    return Told({**old, **new}, "FAIL", {A: "crash", A2: "crash"})


def founded_anew_after_all_have_left() -> Told:
    """b and c leave, then a; who was cut off, and was told so, is owed nothing."""
    gone = view(2, A, **SAFE)
    logs = _in_i(left(1))
    logs[A] = [*logs[A][:-1], *on("i", gone, left(2))]
    logs[C] = [*logs[C][:-1], *on("i", detach(1, "dissolved"))]
    return Told({**logs, D: on("j", first(D, succeeds=_ENDED), left(1))}, "PASS")


def told_that_all_have_left_and_no_log_says_so() -> Told:
    logs = _in_i(detach(1, "dissolved"))
    return Told({**logs, D: on("j", first(D, succeeds=_ENDED), left(1))}, "UNKNOWN")


def comes_back_where_no_log_tells_what_it_follows() -> Told:
    """k follows j, of which there is no log, and j may have followed i."""
    said = [{"instance": "j", "view": 1, "by": "ended"}]
    told = _founded_anew(adopt(2, D, {}))
    told.logs[D] = on("j", first(D, succeeds=said), view(2, D, A2, B2, C2, **SAFE), left(2))
    in_k = {"i": "i", "j": "k"}
    logs = {who: [{**each, "instance": in_k[each["instance"]]} for each in it] for who, it in told.logs.items()}
    return Told(logs, "UNKNOWN")


def put_out_and_back_with_an_older_state() -> Told:
    """c sleeps; a and b confirm a message, a is put out and b dies; c succeeds view 1 and gives a its state."""
    said = succeeds("i", 1, {}, gone={A: "ended", B: "lock"})
    second = view(2, C, A2, **SAFE)
    logs = _in_i(detach(1, "expelled"))
    logs[B] = logs[B][:-1]
    logs[C] = [*on("i", first(A, B, C), over(1, "j")), *on("j", first(C, succeeds=said), second, left(2))]
    return Told({**logs, A2: on("j", second, adopt(2, C, {}), left(2))}, "FAIL", {B: "crash"})


def put_out_and_back_in_the_same_instance() -> Told:
    """The instance goes on, and has what it had."""
    second, third = view(2, B, C, **SAFE), view(3, B, C, A2, **SAFE)
    logs = {who: [*records, *on("i", second, third, left(3))] for who, records in _in_i().items()}
    logs[A] = [*_in_i(detach(1, "expelled"))[A]]
    back = on("i", {**third, "base": {B: 1}, "base_serial": 1}, adopt(3, B, {B: 1}), left(3))
    return Told({**logs, A2: back}, "VACUOUS")


FOUNDINGS: dict[str, Callable[[], Told]] = {
    each.__name__: each
    for each in (
        founded_anew_over_those_who_are_there_yet,
        founded_anew_and_they_come_back,
        founded_anew_and_they_come_back_without_a_word_of_a_state,
        founded_anew_and_they_are_given_the_state_of_one_who_kept_its_own,
        founded_anew_and_one_left_on_its_way_back,
        founded_anew_by_one_that_was_put_out,
        founded_anew_by_one_that_has_less,
        founded_anew_by_one_whose_earlier_log_is_lost,
        founded_anew_twice,
        founded_anew_after_all_have_left,
        told_that_all_have_left_and_no_log_says_so,
        comes_back_where_no_log_tells_what_it_follows,
        put_out_and_back_with_an_older_state,
        put_out_and_back_in_the_same_instance,
    )
}
