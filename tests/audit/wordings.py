"""Logs that show where CONTINUITY's words need a reading (decision 0005), each with what it says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.audit.foundings import FOUNDINGS
from tests.audit.lineages import (
    A2,
    B2,
    C2,
    SAFE,
    D,
    Told,
    adopt,
    confirm,
    detach,
    first,
    left,
    on,
    over,
    present_1,
    succeeds,
    wrong_6,
)
from tests.oracle.build import A, B, C, Record, deliver, send, view


def _forks(old: list[Record], said: list[Record], **more: Any) -> list[Record]:
    """`old` of i, then view 1 of j alone, to its end."""
    return [*on("i", *old), *on("j", view(1, A, succeeds=said, **more), left(1))]


def detached_with_what_was_confirmed() -> Told:
    """a detached and came back as another incarnation: what it had delivered is lost all the same."""
    told = present_1()
    begins = succeeds("i", 1, {}, gone={B: "lock"})
    two = on("j", view(2, C2, A2, **SAFE), left(2))
    old = {who: told.logs[who] for who in (A, B)}
    late = {C: [*on("i", first(A, B, C), over(1, "j"))], C2: [*on("j", first(C2, succeeds=begins)), *two], A2: two}
    return Told({**old, **late}, "FAIL", {B: "crash"})


def detached_and_the_others_went_on() -> Told:
    """A member that was cut off: the quorum's next view says who goes on."""
    two = on("i", first(A, B, C), view(2, A, B, **SAFE), left(2))
    return Told({A: two, B: two, C: on("i", first(A, B, C), detach(1))}, "VACUOUS")


def two_lives_of_old_logs() -> Told:
    return Told({A: on("i", first(A), left(1)), B: on("k", first(B), left(1))}, "UNKNOWN")


def two_origins() -> Told:
    """j comes from i, and k from nowhere."""
    said = succeeds("i", 1, {})
    return Told({A: _forks([view(1, A), over(1, "j")], said), B: on("k", view(1, B), left(1))}, "FAIL")


def dissolved_and_made_again() -> Told:
    said = [{"instance": "i", "view": 1, "by": "ended"}]
    old = on("i", first(A), send(1, 1, {}), deliver(1, A, 1, serial=1), left(1))
    new = on("j", first(B, succeeds=said), send(1, 1, {}), deliver(1, B, 1, serial=1), left(1))
    return Told({A: old, B: new}, "PASS")


def of_a_run_whose_logs_are_elsewhere() -> Told:
    return Told({B: on("j", first(B, succeeds=[{"instance": "i", "by": "ended"}]), left(1))}, "PASS")


def predecessor_without_logs() -> Told:
    return Told({B: on("j", first(B, succeeds=succeeds("i", 3, {A: 2})), left(1))}, "UNKNOWN")


def first_view_in_no_log() -> Told:
    said = succeeds("i", 1, {})
    return Told({A: _forks([view(1, A), over(1, "j")], said), B: on("k", view(2, A, B), left(2))}, "UNKNOWN", {})


def two_successors() -> Told:
    said = succeeds("i", 1, {}, by="operator", gives_up=[B])
    logs = {A: _forks([view(1, A, B), over(1, "j")], said), B: on("k", view(1, B, succeeds=said), left(1))}
    return Told(logs, "FAIL")


def two_predecessors() -> Told:
    said = [*succeeds("i", 1, {}), *succeeds("h", 1, {}, by="merge")]
    logs = {A: _forks([view(1, A), over(1, "j")], said), B: on("h", view(1, B), over(1, "j"))}
    return Told(logs, "FAIL")


def two_sides_merge() -> Told:
    """The same of a PARTITIONABLE name: sides may be founded apart, and come together."""
    apart: dict[str, Any] = {"netsplit": "PARTITIONABLE"}
    said = [*succeeds("i", 1, {}, by="merge"), *succeeds("h", 1, {}, by="merge")]
    both = on("j", view(1, A, B, succeeds=said, **apart), left(1))
    old = {A: on("i", view(1, A, **apart), over(1, "j")), B: on("h", view(1, B, **apart), over(1, "j"))}
    return Told({who: [*records, *both] for who, records in old.items()}, "PASS")


def a_side_goes_on_and_is_gone_back_to() -> Told:
    """c is cut off from a and b and begins j; they go on, confirm more, and take it in again."""
    apart: dict[str, Any] = {"netsplit": "PARTITIONABLE", "ordering": "FIFO", "safe": True}
    begun, second = view(1, A, B, C, **apart), view(2, A, B, **apart)
    new = view(1, C, succeeds=succeeds("i", 1, {}), **apart)
    third = view(3, A, B, "c#2", **apart)
    main = [send(1, 1, {}), deliver(1, A, 1)]
    logs = {
        A: on("i", begun, *main, second, third, left(3)),
        B: on("i", begun, main[1], second, third, left(3)),
        C: [*on("i", begun, over(1, "j")), *on("j", new, over(1, "i", "merge"))],
        C2: on("i", {**third, "base": {A: 1}}, left(3)),
    }
    return Told(logs, "PASS")


def goes_round() -> Told:
    """Two instances that succeed each other."""
    back = on("i", view(1, A, succeeds=succeeds("j", 1, {})), over(1, "j"))
    return Told({A: [*back, *on("j", view(1, A, succeeds=succeeds("i", 1, {})), left(1))]}, "FAIL")


def goes_over_into_itself() -> Told:
    return Told({A: on("i", view(1, A), over(1, "i"))}, "FAIL")


def goes_where_no_log_tells() -> Told:
    return Told({A: on("i", view(1, A), over(1, "j"))}, "UNKNOWN")


def unlike_predecessors() -> Told:
    """Of two who begin j one says that it follows i."""
    said = succeeds("i", 1, {})
    old = on("i", view(1, A, B), over(1, "j"))
    logs = {A: [*old, *on("j", view(1, A, B, succeeds=said), left(1))], B: [*old, *on("j", view(1, A, B), left(1))]}
    return Told(logs, "FAIL")


def by_order_of_an_operator(given_up: bool = True) -> Told:
    """b cannot be reached, goes on in i, and enters j later; what only it had is given up."""
    said = succeeds("i", 1, {}, by="operator", gives_up=[B] if given_up else [])
    goes_on = [view(1, A, B, **SAFE), send(1, 1, {}), deliver(1, B, 1, serial=1), view(2, B, **SAFE)]
    second = view(2, A, B2, **SAFE)
    logs = {
        A: [*on("i", goes_on[0], over(1, "j")), *on("j", first(A, succeeds=said), second, left(2))],
        B: on("i", *goes_on, over(2, "j", "expelled")),
        B2: on("j", second, adopt(2, A, {}), left(2)),
    }
    return Told(logs, "PASS" if given_up else "FAIL")


def by_order_and_nobody_was_given_up() -> Told:
    return by_order_of_an_operator(given_up=False)


def taken_for_dead() -> Told:
    """c was silent, counted among the dead, and wakes up."""
    said = succeeds("i", 1, {}, gone={C: "mute"})
    late = [*on("i", view(1, A, C), over(1, "j", "expelled")), *on("j", view(2, A, C), left(2))]
    new = on("j", view(1, A, succeeds=said), view(2, A, C), left(2))
    return Told({A: [*on("i", view(1, A, C), over(1, "j")), *new], C: late}, "FAIL")


def an_end_that_nobody_knows() -> Told:
    said = succeeds("i", 1, {})
    return Told({A: _forks([view(1, A, B), over(1, "j")], said), B: on("i", view(1, A, B))}, "UNKNOWN", {B: "crash"})


def a_later_view_of_one_who_is_there_yet() -> Told:
    """Nothing tells whether d, whom the dead took in, is alive."""
    told = wrong_6()
    return Told(told.logs, "UNKNOWN", {**told.endings, D: "crash"})


def _confirmed(by: str, cut: dict[str, int], *members: str) -> Told:
    """b's 1 was confirmed, nobody but b delivered it, and b is dead: some of `members` held it, or not."""
    everyone = view(1, B, *members, ordering="FIFO")
    said = succeeds("i", 1, cut, gone=dict.fromkeys((B, *members[1:]), "lock"))
    had = [deliver(1, B, 1)] if cut else []
    dead = {who: on("i", everyone) for who in members[1:]}
    alive = [*on("i", everyone, *had, over(1, "j")), *on("j", view(1, A, succeeds=said, ordering="FIFO"), left(1))]
    logs = {A: alive, B: on("i", everyone, send(1, 1, {}), deliver(1, B, 1), confirm(1, 1, by)), **dead}
    return Told(logs, "PASS" if cut or by == "majority" else "FAIL", dict.fromkeys([B, *dead], "crash"))


def all_held_it() -> Told:
    return _confirmed("all", {}, A, C)


def those_who_held_it_are_dead() -> Told:
    return _confirmed("majority", {}, A, C)


def it_is_in_the_cut() -> Told:
    return _confirmed("majority", {B: 1}, A, C)


def a_majority_held_it_and_two_go_on() -> Told:
    everyone = view(1, B, A, C, ordering="FIFO")
    said = succeeds("i", 1, {}, gone={B: "lock"})
    alive = [*on("i", everyone, over(1, "j")), *on("j", view(1, A, C, succeeds=said, ordering="FIFO"), left(1))]
    return Told({A: alive, C: alive, B: on("i", everyone, send(1, 1, {}), confirm(1, 1))}, "FAIL", {B: "crash"})


def _enters(
    member: str, *records: Record, cut: int = 1, settled: int = 1, multicast: str = "RELIABLE", **said: Any
) -> Told:
    """a goes over from i with one message, and says more in j; `member` enters there."""
    kind: dict[str, Any] = {"ordering": "TOTAL", "multicast": multicast}
    began: dict[str, Any] = {
        "base": {A: cut},
        "base_serial": cut,
        "succeeds": succeeds("i", 1, {A: cut}, serial=cut, **said),
    }
    second = view(2, A, member, **kind)
    again = deliver(2, A, 2, serial=2)
    old = [view(1, A, **kind), send(1, 1, {}), *[deliver(1, A, 1, serial=1)][:settled], over(1, "j")]
    new = [view(1, A, **kind, **began), second, send(2, 2, {}), again, left(2)]
    logs = {A: [*on("i", *old), *on("j", *new)]}
    theirs = [{**second, "base": {A: 1}, "base_serial": 1}, *records, left(2)]
    return Told({**logs, member: [*logs.get(member, []), *on("j", *theirs)]}, "PASS")


_SAYS = deliver(2, A, 2, serial=2)


def enters_with_a_state() -> Told:
    return _enters(D, adopt(2, A, {A: 1}), _SAYS)


def enters_without_asking_for_a_state() -> Told:
    return _enters(D, _SAYS)


def enters_with_an_older_state() -> Told:
    return Told(_enters(D, adopt(2, A, {}), _SAYS).logs, "FAIL")


def enters_with_a_state_that_comes_after_messages() -> Told:
    """The core's deliveries wait for the state."""
    return _enters(D, _SAYS, adopt(2, A, {A: 1}))


def a_member_comes_back_empty() -> Told:
    """b was in i; d has taken over a state, so the name has one; b's next incarnation has not."""
    told = _enters(B2, _SAYS)
    old = on("i", view(1, A, B, ordering="TOTAL"))
    third = on("j", {**view(3, A, B2, D, ordering="TOTAL"), "base": {A: 2}}, adopt(3, A, {A: 2}))
    logs = {**told.logs, B: [*old, *on("i", left(1))], D: third}
    logs[A] = [
        {**record, "members": [A, B]} if record["type"] == "view" and record["instance"] == "i" else record
        for record in logs[A]
    ]
    return Told(logs, "UNKNOWN")


def _enters_anew(*giving: Record) -> Told:
    """As `_enters`, but j's numbers begin at 1 again: what i had is in no base, and whom d got its state from tells."""
    kind: dict[str, Any] = {"ordering": "FIFO"}
    old = on("i", view(1, A, **kind), send(1, 1, {}), deliver(1, A, 1), over(1, "j"))
    begins, second, third = (
        view(1, A, succeeds=succeeds("i", 1, {A: 1}), **kind),
        *(view(number, A, *members, **kind) for number, members in ((2, (B,)), (3, (B, D)))),
    )
    logs = {
        A: [*old, *on("j", begins, second, third, send(3, 1, {}), deliver(3, A, 1), left(3))],
        B: on("j", second, *giving, third, deliver(3, A, 1), left(3)),
        D: on("j", third, adopt(3, B, {}), deliver(3, A, 1), left(3)),
    }
    return Told(logs, "PASS" if giving else "UNKNOWN")


def enters_with_the_state_of_one_who_was_given_it() -> Told:
    return _enters_anew(adopt(2, A, {}))


def enters_with_the_state_of_one_who_had_none() -> Told:
    return _enters_anew()


def _begun_by_one_that_had_just_entered(*given: Record) -> Told:
    """a dies as it gives d its state, and d begins j alone; c, put out while it was stopped, has a's message, too."""
    kind: dict[str, Any] = {"ordering": "FIFO"}
    begun, second, third = view(1, A, C, **kind), view(2, A, **kind), view(3, A, D, **kind)
    say, heard = [send(1, 1, {}), deliver(1, A, 1), confirm(1, 1, "all")], deliver(1, A, 1)
    begins, last = view(1, D, succeeds=succeeds("i", 3, {A: 1}, gone={A: "dead"}), **kind), view(2, D, C2, **kind)
    logs = {
        A: on("i", begun, *say, second, third),
        C: on("i", begun, heard, detach(1, "expelled", into="j")),
        D: [*on("i", {**third, "base": {A: 1}}, *given, over(3, "j")), *on("j", begins, last, left(2))],
        C2: on("j", last, adopt(2, D, {}), left(2)),
    }
    return Told(logs, "PASS" if given else "UNKNOWN", {A: "crash"})


def begun_by_one_that_got_no_state() -> Told:
    return _begun_by_one_that_had_just_entered()


def begun_by_one_that_had_just_got_its_state() -> Told:
    return _begun_by_one_that_had_just_entered(adopt(3, A, {A: 1}))


def somebody_left_before_the_view_that_is_succeeded() -> Told:
    """The cut says where the streams of view 2 end; b's ended before it."""
    kind: dict[str, Any] = {"ordering": "FIFO", "safe": True}
    begun, second = view(1, A, B, **kind), view(2, A, **kind)
    heard = deliver(1, B, 1)
    logs = {
        A: _forks([begun, heard, second, over(2, "j")], succeeds("i", 2, {A: 0}), **kind),
        B: on("i", begun, send(1, 1, {}), heard, left(1, settled=2)),
    }
    return Told(logs, "PASS")


def a_side_beside_those_who_succeed() -> Told:
    """b's side of a PARTITIONABLE name begins k without a word of what it follows."""
    apart: dict[str, Any] = {"netsplit": "PARTITIONABLE"}
    both = view(1, A, B, **apart)
    old = {A: _forks([both, over(1, "j")], succeeds("i", 1, {}), **apart), B: on("i", both, detach(1, "fork"))}
    return Told({**old, B2: on("k", view(1, B2, **apart), left(1))}, "UNKNOWN")


def goes_over_with_less_than_the_cut() -> Told:
    return Told(_enters(D, _SAYS, settled=0).logs, "FAIL")


def goes_over_with_more_than_the_cut() -> Told:
    return Told(_enters(D, _SAYS, cut=0).logs, "FAIL")


def nobody_held_the_first() -> Told:
    """`without` says so: the cut ends behind it."""
    return _enters(D, _SAYS, settled=0, without={A: [[1, 1]]})


def of_a_basic_group_no_cut_is_asked() -> Told:
    return _enters(D, _SAYS, settled=0, multicast="BASIC")


def serials_begin_again() -> Told:
    told = _enters(D, _SAYS)
    logs = {
        who: [{**each, "base_serial": 0} if each.get("succeeds") else each for each in it]
        for who, it in told.logs.items()
    }
    return Told(logs, "FAIL")


WORDINGS: dict[str, Callable[[], Told]] = FOUNDINGS | {
    each.__name__: each
    for each in (
        detached_with_what_was_confirmed,
        detached_and_the_others_went_on,
        two_lives_of_old_logs,
        two_origins,
        dissolved_and_made_again,
        of_a_run_whose_logs_are_elsewhere,
        predecessor_without_logs,
        first_view_in_no_log,
        two_successors,
        two_predecessors,
        two_sides_merge,
        a_side_goes_on_and_is_gone_back_to,
        goes_round,
        goes_over_into_itself,
        goes_where_no_log_tells,
        unlike_predecessors,
        by_order_of_an_operator,
        by_order_and_nobody_was_given_up,
        taken_for_dead,
        an_end_that_nobody_knows,
        a_later_view_of_one_who_is_there_yet,
        all_held_it,
        those_who_held_it_are_dead,
        it_is_in_the_cut,
        a_majority_held_it_and_two_go_on,
        enters_with_a_state,
        enters_without_asking_for_a_state,
        enters_with_an_older_state,
        enters_with_a_state_that_comes_after_messages,
        a_member_comes_back_empty,
        enters_with_the_state_of_one_who_was_given_it,
        enters_with_the_state_of_one_who_had_none,
        begun_by_one_that_got_no_state,
        begun_by_one_that_had_just_got_its_state,
        somebody_left_before_the_view_that_is_succeeded,
        a_side_beside_those_who_succeed,
        goes_over_with_less_than_the_cut,
        goes_over_with_more_than_the_cut,
        nobody_held_the_first,
        of_a_basic_group_no_cut_is_asked,
        serials_begin_again,
    )
}
