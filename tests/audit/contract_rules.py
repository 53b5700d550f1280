"""Logs that break the rules of DELIVERY_LOG.md, clause by clause, or of which not all is known."""

from __future__ import annotations

from pathlib import Path

from tests.audit.contract_logs import BROKEN, QUOTES, SAFE, SHORT, Make, breaks, damaged, lines
from tests.audit.lineages import D
from tests.audit.wordings import WORDINGS
from tests.oracle.build import A, B, C, deliver, life, send, view, write
from tests.oracle.test_rules import DAMAGES

# Rules: each clause has a damage in tests/oracle/test_rules.py, or a log of several instances in wordings.py


def _of_rule(rule: str) -> list[str]:
    return [what for name, what, _ in DAMAGES if name == rule]


_CLAUSES: dict[str, list[str]] = {
    "NO_CREATION": [
        (
            "a process's sends are 1,2,3…; a delivered number ≤ the highest that its sender is known to "
            "have sent; one's own is delivered after its send"
        )
    ],
    "NO_DUPLICATION": [
        "a delivered message was not settled at p before",
        "*Settled* at p: delivered, skipped, or covered by p's base.",
    ],
    "INTEGRITY": ["digest at delivery = digest at send"],
    "SELF_DELIVERY": ["p's sends in W are settled in section (p, W), if p is in a class"],
    "AGREEMENT": ["per class: what one delivers in W, each has settled;"],
    "FIFO": ["on delivering n, n-1 of that sender was settled (n=1 free); after a fault resume from n"],
    "CAUSAL": [
        (
            "when p delivers m in W: for each other q of W, the highest q-number that m's sender had "
            "delivered, or in base, before sending m is settled at p; rebuilt from the sender's log "
            "(one's own stream is FIFO's)"
        )
    ],
    "CLOCK": [
        (
            "for each other q of the view: the logged clock (changes applied, absent = 0) = the highest "
            "number delivered from q or in base"
        )
    ],
    "TOTAL": ["the union of all processes' delivery orders is acyclic (three that rotate are caught)"],
    "TOTAL_GAP_FREE": ["per class: the delivery sequences of W are equal"],
    "SERIAL_UNIQUE": ["one message a serial, one serial a message, over all processes, dead ones too;"],
    "SERIAL_CONTIGUOUS": [
        (
            "at p, delivered and skipped serials go up by exactly 1, from `base_serial`+1; all who "
            "install W begin it after the same serial"
        )
    ],
    "SENDING_VIEW": [
        (
            "`view` = `sent_view` = the view in force at p = the view of the sender's `send`, in force "
            "there too; nothing is sent or delivered outside a stay"
        )
    ],
    "VIEW_AGREEMENT": [
        "one view, one list of members, one leader;",
        "self and leader are members; a process's views go up by exactly 1;",
    ],
    "VIRTUAL_SYNCHRONY": [
        (
            "per class: equal sets delivered in W; and all who install W have at that instant the same "
            "highest settled number of each sender in W"
        )
    ],
    "ONE_LEADER": ["one leader a view, over `view` and `elect`"],
}
_OF_INSTANCES: dict[str, str] = {
    "two_origins": "(a) one origin a name, and of each instance",
    "two_predecessors": "one predecessor",
    "two_successors": "and at most one successor",
    "goes_round": "(PARTITIONABLE: a graph without cycles);",
    "by_order_and_nobody_was_given_up": "nobody who outlives I installs a view of I above `succeeds.view`.",
    "goes_over_with_more_than_the_cut": "(b) who enters J out of I had settled exactly `cut` there;",
    "all_held_it": (
        "what was confirmed in I (`safe`: delivered by anybody; else `confirm`) is in `cut`, or nobody "
        "who delivered it outlives I."
    ),
    "enters_with_an_older_state": (
        "(d) who enters and had not settled `cut` adopts a state with it before it delivers."
    ),
    "two_lives_of_old_logs": "several instances without `succeeds`;",
    "an_end_that_nobody_knows": "a member of the last view without covered end and not in `gone`",
    "detached_with_what_was_confirmed": (
        "*Outlives* I: its stay in I ended by `leave` or `detach` with `into`, or it is `closed` without leaving."
    ),
}


def _rule_maker(rule: str, what: str) -> Make:
    (damage,) = [change for name, told, change in DAMAGES if (name, told) == (rule, what)]
    return lambda folder: damaged(folder, damage)


def _instance_maker(name: str) -> Make:
    def make(folder: Path) -> None:
        told = WORDINGS[name]()
        write(folder, told.logs, told.endings)

    return make


for _rule, _quotes in _CLAUSES.items():
    for _what in _of_rule(_rule):
        BROKEN[f"{_rule}: {_what}"] = _rule_maker(_rule, _what)
    QUOTES += _quotes
for _name, _quote in _OF_INSTANCES.items():
    BROKEN[f"CONTINUITY: {_name}"] = _instance_maker(_name)
    QUOTES.append(_quote)


@breaks(
    "one ordering, multicast, safe, netsplit in all views of the instance;",
    "Where views have different definitions, all that any of them promises is expected.",
)
def _a_definition_that_changes(folder: Path) -> None:
    loose = view(1, A, ordering="NONORDERED", multicast="BASIC")
    logs = {
        A: [loose, view(2, A, B), send(2, 1, {}), deliver(2, A, 1, serial=1), deliver(2, B, 1, serial=2)],
        B: [view(2, A, B), send(2, 1, {}), deliver(2, B, 1, serial=2), deliver(2, A, 1, serial=1)],
    }
    write(folder, logs)


@breaks(
    "with `safe`, also what any process delivered in W,",
    "(who goes over into a successor binds nobody else, and owes what its class delivered)",
)
def _never_delivered_though_a_dead_process_did_in_a_safe_group(folder: Path) -> None:
    begun, second = view(1, B, A, C, **SAFE), view(2, A, C, **SAFE)
    logs = {A: [begun, second], B: [begun, send(1, 1, {}), deliver(1, B, 1, serial=1)], C: [begun, second]}
    write(folder, logs, {B: "crash"})


# What is unknown, or shows nothing


@breaks(
    "number above it and the sender not `closed`",
    "`send` outside coverage",
    "`send` or clock outside coverage, p has a gap",
)
def _a_number_above_what_a_crashed_log_has(folder: Path) -> None:
    damaged(folder, lambda logs: logs[A].__delitem__(slice(6, None)), {A: "crash"})


@breaks(
    "p has a gap",
    "first per sender after a gap",
    "section not covered",
    "a member's section or end not covered",
    "a section not covered",
    "gap without `state`",
    "after a gap without `state`",
    "gap · no serials",
    "sender's views missing",
    (
        "else UNKNOWN if a case needs a record outside coverage (a gap at p is one unknown case for each "
        "rule that reads p's sequence);"
    ),
)
def _a_gap(folder: Path) -> None:
    lines(folder, lambda lines: lines.pop(3))


@breaks(
    "a member without log and without later record",
    "a member's record missing",
    "**A process whose log cannot be read makes the whole audit UNKNOWN**: nobody knows which groups it was in.",
)
def _a_member_without_log(folder: Path) -> None:
    logs = life()
    write(folder, {who: logs[who] for who in (A, C)})


@breaks(
    *("no deliveries", "no pair", "no such send", "no class of two", "no dependency", "no sends", "no serials"),
    *("no two processes share two messages", "no view or class of two", "no views", "one instance"),
    "else VACUOUS if there was no case; else PASS.",
)
def _nothing_at_all(folder: Path) -> None:
    write(folder, {A: [view(1, A)]})


@breaks("an instance without any delivery decides where no instance in the logs has one,")
def _sends_without_any_delivery(folder: Path) -> None:
    write(folder, {A: [view(1, A, ordering="FIFO", multicast="BASIC"), send(1, 1, {})]})


@breaks(
    "and else only if it has sends, and another instance of its name has deliveries",
    "or no process is covered;",
)
def _sends_without_any_delivery_beside_another_group(folder: Path) -> None:
    other = [view(1, D, group="h", **SHORT), send(1, 1, {}, group="h")]
    write(folder, {**life(), D: other}, {D: "crash"})


@breaks("so does a missing field that its definition demands (no `serial` in a total order, digests on one side only),")
def _digests_on_one_side_only(folder: Path) -> None:
    damaged(folder, lambda logs: logs[B][1].pop("digests"))


@breaks("and a rule that has no case only because no process is covered.")
def _no_log_has_an_end(folder: Path) -> None:
    both = view(1, A, B, **SHORT)
    write(folder, {A: [both, send(1, 1, {}), deliver(1, A, 1)], B: [both, deliver(1, A, 1)]}, {A: "crash", B: "crash"})
