"""The judging of every rule over the summaries of one (group, instance); open cases are requested as messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gcom.audit.rules.groups import InstanceLogs
from gcom.audit.rules.judgement import Judgement
from gcom.audit.rules.missing_records import missing_records
from gcom.audit.rules.rule import Case
from gcom.audit.rules.table import RULES
from gcom.audit.summary.history import history_of
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.lineage import session_of
from gcom.audit.summary.tally import Tally


def expected_rules(*definitions: dict[str, Any], digests: bool) -> frozenset[str]:
    """Return the rules that a group promises (DELIVERY_LOG.md, Expected); INTEGRITY only where logs have digests."""
    # What is imported from another system carries the rules that it names, and promises no others.
    promised = {
        rule.name
        for rule in RULES.values()
        for each in definitions or ({},)
        if rule.promised(each) and rule.name in each.get("carries", RULES)
    }
    return frozenset(promised if digests else promised - {"INTEGRITY"})


def judge(group: InstanceLogs, *, all_rules: bool = False) -> Judgement:
    """Judge a group. Without `all_rules` no messages are requested for rules that it does not promise."""
    summaries = group.summaries
    tallies = _tallies_of_logs(group)
    digests = any(summary.sent_digests or summary.delivered_digests for summary in summaries.values())
    # All that any of them promises: where they differ VIEW_AGREEMENT fails, and no promise may be dodged by that.
    definitions = group.definitions()
    judgement = Judgement(
        key=group.key,
        definition=definitions[0] if definitions else {},
        expected=expected_rules(*definitions, digests=digests),
        tallies=tallies,
        processes=sorted({*summaries, *group.gaps}),
        views=len({view["view"] for summary in summaries.values() for view in summary.views}),
        deliveries=sum(summary.deliveries for summary in summaries.values()),
        members=group.members(),
        history=history_of(summaries),
        sends=sum(len(summary.sent) for summary in summaries.values()),
        sessions=[session_of(each, has_gap=bool(group.gaps.get(who))) for who, each in sorted(summaries.items())],
    )
    # Before the rules compare: the reason of a rule's first unknown case is told, and a gap says more than
    # what it left open.
    _add_gaps(group, tallies)
    case = Case(group, tallies, RULES)
    for name, rule in RULES.items():
        if rule.judge is not None:
            rule.judge(case, tallies[name])
    # Before messages are asked for: what they show must not hide that no log has an end.
    judgement.missing_records = missing_records(group, judgement.expected, tallies)
    # After all rules have compared summaries: whether CAUSAL is certified depends on what others found.
    asked = [case.request(name) for name in RULES]
    judgement.requests = [request for request in asked if request is not None]
    if not all_rules:
        _pass_over_unpromised(judgement)
    if "carries" in judgement.definition:
        _pass_over_uncarried(judgement)
    # Whether a needed message came later tells lost from late, and only the summaries know, which the driver does not
    # keep. Only for CAUSAL: these are sets of all messages.
    if any(request.rule == "CAUSAL" for request in judgement.requests):
        judgement.outcomes = {
            who: (each.delivered, each.sections[-1].settled if each.sections else {}) for who, each in summaries.items()
        }
    return judgement


def _tallies_of_logs(group: InstanceLogs) -> dict[str, Tally]:
    """Return the violations that processes commit by themselves, as a tally per rule."""
    tallies = {rule: Tally() for rule in RULES}
    for who, summary in sorted(group.summaries.items()):
        for rule, tally in summary.tallies.items():
            # Examples of the scan name no process, as all of them are of one; here they come together.
            tally.name(who)
            tallies[rule].add(tally)
    return tallies


def _add_gaps(group: InstanceLogs, tallies: dict[str, Tally]) -> None:
    for who, gaps in sorted(group.gaps.items()):
        for at, has_state in gaps:
            reason = f"{who} has a gap at position {at}" if at else f"there is no readable log of {who}"
            for name, rule in RULES.items():
                # A state behind a gap tells CLOCK and SERIAL_CONTIGUOUS where to go on; for a rule that reads the
                # sequence itself the hidden part stays hidden.
                if rule.open_by_gaps == "any" or (rule.open_by_gaps == "without_state" and not has_state):
                    tallies[name].doubt(1, reason)


def _pass_over_unpromised(judgement: Judgement) -> None:
    """Drop the requests of rules that the group does not promise: they decide nothing, and cost another reading."""
    for rule in {request.rule for request in judgement.requests} - judgement.expected:
        judgement.tallies[rule].doubt(1, "not promised, and it takes the messages themselves: --all-rules judges it")
    judgement.requests = [request for request in judgement.requests if request.rule in judgement.expected]


def _pass_over_uncarried(judgement: Judgement) -> None:
    """Leave the rules without a case that imported records do not carry: what they would find, the importer made."""
    uncarried = RULES.keys() - judgement.expected
    judgement.tallies |= {rule: Tally() for rule in uncarried}
    judgement.requests = [request for request in judgement.requests if request.rule not in uncarried]


def add_found(judgement: Judgement, rule: str, found: Iterable[Tally]) -> None:
    """Add the results of a rule over the messages that it requested, bucket by bucket."""
    join = RULES[rule].join
    # Buckets are independent, so their cases add up, but for a rule that says otherwise.
    for tally in found if join is None else [join(found)]:
        judgement.tallies[rule].add(tally)


def add_outcomes(judgement: Judgement, coverage: dict[str, str]) -> None:
    """Add to each violation of CAUSAL the fate of the missing message."""
    for example in judgement.tallies["CAUSAL"].examples:
        process = example["process"]
        delivered, settled = judgement.outcomes.get(process, ({}, {}))
        if example["needed"] in delivered.get(example["other"], Intervals()):
            example["later"] = "delivered"
        elif example["needed"] not in settled.get(example["other"], Intervals()):
            example["later"] = ""
        else:
            # Nothing but a skip settles without a delivery, except what a state behind a gap said.
            example["later"] = "skipped" if coverage[process] in ("closed", "open") else "settled"
    judgement.outcomes = {}
