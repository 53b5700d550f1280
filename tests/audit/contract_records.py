"""Logs that break DELIVERY_LOG.md, each beside the words that it breaks: those of records."""

from __future__ import annotations

from pathlib import Path

from tests.audit.contract_logs import SAFE, SHORT, STATE, breaks, changed, damaged, dead_delivered, lines, raw, segments
from tests.audit.lineages import left, on
from tests.audit.wordings import WORDINGS
from tests.oracle.build import A, B, C, Logs, Record, deliver, life, send, skip, view, write, write_segments


@breaks("Every record has `type` and `at`.")
def _a_record_without_a_position(folder: Path) -> None:
    lines(folder, lambda lines: lines[3].pop("at"))


@breaks('absent means "".', "Everything is compared within one (group, instance).")
def _a_record_without_its_instance(folder: Path) -> None:
    """It is of another instance, then, in which b delivered what nobody sent."""
    lines(folder, lambda lines: lines[3].pop("instance"))


@breaks("A record that contradicts itself is no record: a name twice (in one object,")
def _a_name_twice_in_one_object(folder: Path) -> None:
    raw(folder, b'"number": 1, "serial": 1', b'"number": 1, "number": 1, "serial": 1')


@breaks("in `members` or")
def _a_member_twice(folder: Path) -> None:
    damaged(folder, lambda logs: [each[-1 if who != B else 5].update(members=[A, C, C]) for who, each in logs.items()])


def _succeeds_anew(folder: Path, entries: list[Record]) -> None:
    write(folder, {A: on("j", view(1, A, succeeds=entries), send(1, 1, {}), deliver(1, A, 1, serial=1), left(1))})


@breaks("`gives_up`,")
def _a_process_given_up_twice(folder: Path) -> None:
    _succeeds_anew(folder, [{"instance": "i", "by": "ended", "gives_up": [B, B]}])


@breaks("or an instance in `succeeds`),")
def _an_instance_succeeded_twice(folder: Path) -> None:
    _succeeds_anew(folder, [{"instance": "i", "by": "ended"}, {"instance": "i", "by": "ended"}])


@breaks("`gives_up` with `by` proof,", "`gives_up`: processes whose unshared messages an operator gave up")
def _given_up_by_proof(folder: Path) -> None:
    told = WORDINGS["by_order_of_an_operator"]()
    for records in told.logs.values():
        for record in records:
            for entry in record.get("succeeds", ()):
                entry["by"] = "proof"
    write(folder, told.logs)


@breaks("`carries`, of an imported log: the rules that its records can carry, one or more")
def _carries_nothing(folder: Path) -> None:
    damaged(folder, lambda logs: logs[B][0].update(carries=[]))


@breaks("A view with `carries` promises only rules that this names.")
def _carries_the_rule_that_is_broken(folder: Path) -> None:
    """And another process's view names none, so that its promises are not taken back by one log."""

    def change(logs: Logs) -> None:
        for who in (A, B):
            for record in logs[who]:
                if record["type"] == "view":
                    record["carries"] = ["ONE_LEADER"]
        logs[C].insert(2, deliver(2, C, 1, serial=4))

    damaged(folder, change)


@breaks("`succeeds` above view 1,", "The first view of an instance that follows others has `succeeds`:")
def _succeeds_in_a_later_view(folder: Path) -> None:
    said = [{"instance": "h", "view": 1, "by": "ended"}]
    both = [view(1, A, **SHORT), send(1, 1, {}), deliver(1, A, 1), view(2, A, succeeds=said, **SHORT)]
    write(folder, {A: both})


@breaks("more digests than messages,")
def _more_digests_than_messages(folder: Path) -> None:
    changed(B, 2, digests=[12, 13])(folder)


@breaks("a word that its field does not have,", "`ordering` (NONORDERED FIFO CAUSAL TOTAL CAUSALTOTAL),")
def _an_ordering_that_nobody_knows(folder: Path) -> None:
    damaged(folder, lambda logs: [r.update(ordering="causal") for of in logs.values() for r in of if "ordering" in r])


@breaks("`multicast` (BASIC RELIABLE),")
def _a_multicast_that_nobody_knows(folder: Path) -> None:
    damaged(folder, lambda logs: [r.update(multicast="SURE") for of in logs.values() for r in of if "multicast" in r])


@breaks("`netsplit` (absent: PRIMARY),")
def _a_netsplit_that_one_member_does_not_name(folder: Path) -> None:
    damaged(folder, lambda logs: [logs[who][0].update(netsplit="PARTITIONABLE") for who in (A, C)])


@breaks("`safe` (absent: false),")
def _a_promise_of_safety_that_one_member_does_not_name(folder: Path) -> None:
    damaged(folder, lambda logs: [logs[who][0].update(safe=True) for who in (A, C)])


@breaks("an `open` whose `process` is not `member#incarnation`.", "`process` (`member#incarnation`),")
def _an_opening_of_two_names(folder: Path) -> None:
    lines(folder, lambda lines: lines[0].update(member="b", incarnation="2"))


@breaks("first line of a segment:")
def _an_opening_in_the_middle(folder: Path) -> None:
    lines(folder, lambda lines: lines.insert(3, {**lines[0], "at": 3}))


@breaks("`version` 1,", "A change that old readers would misread needs a new version number.")
def _another_version(folder: Path) -> None:
    lines(folder, lambda lines: lines[0].update(version=2))


@breaks("`segment`,")
def _a_log_that_begins_with_its_second_segment(folder: Path) -> None:
    lines(folder, lambda lines: lines[0].update(segment=1))


@breaks("from the second segment on also `state`")
def _a_second_segment_without_state(folder: Path) -> None:
    segments(folder, None)


@breaks("(processes, in rank order, oldest first: one list everywhere),")
def _two_orders_of_members(folder: Path) -> None:
    changed(B, 5, members=[A, C, B])(folder)


@breaks("from one view to the next who stays keeps its order,")
def _ranks_that_change_with_the_view(folder: Path) -> None:
    damaged(folder, lambda logs: [each[-1].update(members=[C, A], leader=A) for each in (logs[A], logs[C])])


@breaks("and who enters stands behind;")
def _a_newcomer_before_the_others(folder: Path) -> None:
    places = {A: 4, B: 5, C: 0}
    damaged(folder, lambda logs: [logs[who][at].update(members=[C, A, B]) for who, at in places.items()])


@breaks(
    "`base` `{process: number}` and `base_serial`: for one that enters, with or without state:",
    "only its first has a base,",
)
def _a_base_of_who_is_there(folder: Path) -> None:
    """b lost a message, and says with the next view that it was in the base."""

    def lose(logs: Logs) -> None:
        logs[B][5] |= {"base": {A: 2, B: 1}}

    damaged(folder, lose)


@breaks("and view 1 only if it succeeds another;", "what earlier views had, 1…n of each sender;")
def _a_base_of_a_first_view(folder: Path) -> None:
    """All say that a's first was before the beginning, and so nobody owes it."""
    begun = view(1, A, B, base={A: 1}, **SHORT)
    write(folder, {A: [begun, send(1, 2, {}), deliver(1, A, 2)], B: [begun, deliver(1, A, 2)]})


@breaks("absent: 0.")
def _a_newcomer_without_base(folder: Path) -> None:
    damaged(folder, lambda logs: [logs[C][0].pop(name) for name in ("base", "base_serial")])


@breaks("A process logs only views that it belongs to.")
def _a_view_of_others(folder: Path) -> None:
    damaged(folder, lambda logs: logs[B].insert(-1, view(3, A, C)))


@breaks(
    "a list of `{instance, view, cut, serial, by, gone, gives_up}`: the view succeeded,",
    "where each stream ended in it",
)
def _less_than_the_cut(folder: Path) -> None:
    write(folder, WORDINGS["goes_over_with_less_than_the_cut"]().logs)


@breaks("(`without`: ranges in it that nobody held),")
def _without_what_somebody_held(folder: Path) -> None:
    told = WORDINGS["nobody_held_the_first"]()
    old = next(place for place, each in enumerate(told.logs[A]) if each["type"] == "send")
    told.logs[A].insert(old + 1, {**deliver(1, A, 1, serial=1), "instance": "i"})
    write(folder, told.logs)


@breaks("its last serial;")
def _another_last_serial(folder: Path) -> None:
    write(folder, WORDINGS["serials_begin_again"]().logs)


@breaks("`by`: proof, operator, merge, or ended (dissolved and made again);")
def _succeeds_by_something_else(folder: Path) -> None:
    _succeeds_anew(folder, [{"instance": "i", "by": "magic"}])


@breaks("`gone` `{process: proof}`;")
def _gone_and_alive(folder: Path) -> None:
    write(folder, WORDINGS["taken_for_dead"]().logs)


@breaks("`group`, `view`, `number`, `count`, `clock` `{process: number}`:")
def _a_send_without_clock(folder: Path) -> None:
    damaged(folder, lambda logs: logs[B][3].pop("clock"))


@breaks("the highest number delivered from each (or in `base`) before this send;")
def _a_clock_of_more_than_was_delivered(folder: Path) -> None:
    changed(B, 3, clock={A: 3})(folder)


@breaks("the first `send` after `open` or `lost` carries all.", "`clock` never start again within an instance.")
def _a_first_send_of_a_segment_that_does_not_carry_all(folder: Path) -> None:
    logs = life()
    logs[B].insert(6, send(2, 2, {}))
    for each in logs.values():
        each[:] = [r for r in each if r["type"] != "leave"]
    write(folder, {who: logs[who] for who in (A, C)})
    write_segments(folder, B, [logs[B][:5], logs[B][5:]], "exit", {1: {"g": STATE}})


@breaks("`view` (in force here),")
def _a_delivery_in_another_view_than_is_in_force(folder: Path) -> None:
    changed(B, 1, view=2)(folder)


@breaks("`sent_view` (the sender's),")
def _a_delivery_of_another_view_than_the_senders(folder: Path) -> None:
    changed(B, 7, sent_view=1)(folder)


@breaks("`sender`, `number`, `count`;")
def _a_delivery_without_sender(folder: Path) -> None:
    damaged(folder, lambda logs: logs[B][1].pop("sender"))


@breaks("`serial` of the first where the order is total (a run's serials are consecutive)")
def _a_delivery_without_serial(folder: Path) -> None:
    damaged(folder, lambda logs: logs[B][1].pop("serial"))


@breaks("with `sender` and `number` (lost or undeliverable), or `serial` (no-op serials), or both.")
def _a_skip_of_nothing(folder: Path) -> None:
    damaged(folder, lambda logs: logs[B].insert(5, skip(1)))


@breaks("A skipped message is never delivered later")
def _delivered_though_skipped(folder: Path) -> None:
    damaged(folder, lambda logs: logs[B].insert(1, skip(1, sender=A, number=1)))


@breaks("end the process's stay in (group, instance): no later `send` or `deliver` there.")
def _a_send_behind_the_end(folder: Path) -> None:
    damaged(folder, lambda logs: logs[B].append(send(2, 2, {A: 3, C: 1})))


@breaks(
    "`leave` has `settled`: the number of the view that goes on without it,", "`settled` is the view after its last,"
)
def _a_leaver_that_says_another_view(folder: Path) -> None:
    """It would be in a class of its own, and owe nothing: it lacks the last message."""

    def lose(logs: Logs) -> None:
        del logs[B][7]
        logs[B][-1]["settled"] = 9

    damaged(folder, lose)


@breaks("which is without it")
def _a_leaver_in_the_view_that_goes_on_without_it(folder: Path) -> None:
    damaged(folder, lambda logs: [each[-1].update(members=[A, B, C]) for each in (logs[A], logs[C])])


@breaks("whose cut it delivered in full.")
def _a_leaver_that_missed_some(folder: Path) -> None:
    damaged(folder, lambda logs: logs[B].pop(7))


@breaks("`into`: the instance that it goes over to, if it does.", "(c) `into` leads to descendants only.")
def _into_a_stranger(folder: Path) -> None:
    write(folder, WORDINGS["goes_over_into_itself"]().logs)


@breaks("`by` (majority, all)")
def _confirmed_by_somebody(folder: Path) -> None:
    damaged(folder, lambda logs: logs[A].append({"type": "confirm", "view": 3, "number": 1, "by": "some"}))


@breaks("`group`, `view`, `from` (process), `cut` `{process: number}`: what the state holds")
def _a_state_without_the_cut(folder: Path) -> None:
    write(folder, WORDINGS["enters_with_an_older_state"]().logs)


@breaks("`group`, `view`, `has` (true, false):")
def _a_quorum_that_is_neither(folder: Path) -> None:
    damaged(folder, lambda logs: logs[A].append({"type": "quorum", "view": 3, "has": "yes"}))


@breaks("`group`, `view`, `process` or `leader`, `reason`")
def _an_election_of_another_leader(folder: Path) -> None:
    damaged(folder, lambda logs: logs[C].append({"type": "elect", "view": 3, "leader": C, "reason": "rank"}))


@breaks("the writer dropped `count` positions under pressure", "`state` | | `close` |")
def _what_was_dropped(folder: Path) -> None:
    damaged(folder, lambda logs: logs[B].__setitem__(1, {"type": "lost", "count": 1}))


@breaks("last line of a sealed segment: `records` (lines before it),")
def _another_number_of_lines(folder: Path) -> None:
    lines(folder, lambda lines: lines[-1].update(records=3), mend=False)


@breaks("`crc32` of the bytes before it,")
def _another_checksum(folder: Path) -> None:
    lines(folder, lambda lines: lines[-1].update(crc32=1), mend=False)


@breaks("`reason` (`rotate` or `exit`).")
def _a_close_for_another_reason(folder: Path) -> None:
    lines(folder, lambda lines: lines[-1].update(reason="lunch"))


@breaks(
    "Before `exit` a process writes `leave` for each group that it is in, unless all sent in that "
    "view is delivered everywhere"
)
def _an_exit_without_leave_though_others_lack_a_message(folder: Path) -> None:
    """b ends without leaving; a and c go on to view 2 without its message."""
    begun, second = view(1, A, B, C, **SHORT), view(2, A, C, **SHORT)
    say = [send(1, 1, {}), deliver(1, B, 1)]
    write(folder, {A: [begun, second], B: [begun, *say], C: [begun, second]})


@breaks("`send` and `deliver` may have `digests`: CRC-32 of each payload of the run;")
def _another_payload(folder: Path) -> None:
    changed(B, 1, digests=[99])(folder)


@breaks(
    "`state` is `{group: {instance, view, number, delivered: {process: n}, beyond: {process: "
    "[[first, count]]}, clock, serial}}`"
)
def _a_state_without_a_clock(folder: Path) -> None:
    segments(folder, {"clock": 5})


@breaks(
    "as of the position that follows (last number sent;",
    "so that a segment can be judged alone; it is trusted only across a gap, else it must equal what precedes it.",
    "So does a log that contradicts itself: a `state` that is absent, or is not what precedes it.",
)
def _a_state_of_another_number(folder: Path) -> None:
    segments(folder, {"number": 2})


@breaks("settled prefix of each sender;")
def _a_state_of_another_prefix(folder: Path) -> None:
    segments(folder, {"delivered": {A: 1, B: 1}})


@breaks("settled above it;")
def _a_state_of_more_beyond(folder: Path) -> None:
    segments(folder, {"beyond": {A: [[9, 1]]}})


@breaks("`clock`: of every other process the highest number delivered or in base, as of that position, told or not;")
def _a_state_of_another_clock(folder: Path) -> None:
    segments(folder, {"clock": {A: 1}})


@breaks("last serial),")
def _a_state_of_another_serial(folder: Path) -> None:
    segments(folder, {"serial": 2})


@breaks("A process enters an instance once: expelled or detached, it returns as a new incarnation")
def _a_view_after_the_end(folder: Path) -> None:
    damaged(folder, lambda logs: logs[B].append(view(3, A, B, C)))


@breaks("`number`,")
def _numbers_begin_again(folder: Path) -> None:
    changed(A, 6, number=1)(folder)


@breaks("`serial` and")
def _serials_begin_again(folder: Path) -> None:
    def begin_again(logs: Logs) -> None:
        for records in logs.values():
            for record in records:
                if record["view"] == 2 and record.get("serial", 0) > 3:
                    record["serial"] -= 3

    damaged(folder, begin_again)


@breaks("A view is known by (group, instance, view), and a process's views follow one another by exactly 1.")
def _a_view_is_left_out(folder: Path) -> None:
    damaged(folder, lambda logs: logs[A].pop(4))


@breaks(
    "*No-op*: a serial that is skipped without `sender` and `number`, as no process that goes on holds its payload.",
    "per class: a serial is a no-op at all or at none, over BASIC too;",
)
def _a_no_op_that_another_has_as_a_message(folder: Path) -> None:
    basic = view(1, A, B, ordering="TOTAL", multicast="BASIC")
    write(folder, {A: [basic, skip(1, serial=1)], B: [basic, send(1, 1, {}), deliver(1, B, 1, serial=1)]})


@breaks(
    "then this one has a message under that serial, and those who go on have a no-op, unless the group is `safe`.",
    "with `safe`, at none if any process has a message under it in W (as AGREEMENT)",
)
def _a_no_op_of_what_a_dead_process_delivered_in_a_safe_group(folder: Path) -> None:
    dead_delivered(folder, skip(1, serial=1), **SAFE)


@breaks("and none of that is skipped")
def _given_up_though_a_dead_process_delivered_it_in_a_safe_group(folder: Path) -> None:
    dead_delivered(folder, skip(1, sender=B, number=1, serial=1), **SAFE)
