"""Detection of missing records, without which the logs do not show that a promise was kept, though none breaks it."""

from __future__ import annotations

from collections.abc import Mapping

from gcom.audit.rules.groups import InstanceLogs
from gcom.audit.rules.table import RULES
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.tally import Tally


def missing_records(group: InstanceLogs, expected: frozenset[str], tallies: Mapping[str, Tally]) -> str:
    """Return the records that the definition demands and the logs lack (DELIVERY_LOG.md, Verdict); empty if none."""
    if not expected:
        return "it was imported, and its records carry no rule that the audit knows"
    if "SERIAL_UNIQUE" in expected and any(each.deliveries_without_serial for each in group.summaries.values()):
        return "the order is total, and deliveries have no serial"
    if message := _with_one_digest(group):
        return (
            f"INTEGRITY: message {message[1]} of {message[0]} has a digest where it was sent or delivered, not at both"
        )
    # A crashed process's missing tail is no case. But where *no* log has an end, rules of classes had no case at all,
    # and a PASS would rest on nothing.
    if not group.ends_nowhere():
        return ""
    # A rule over classes has a case where two processes were in one view; SELF_DELIVERY where anything was sent.
    views = [section.view for _, section in group.sections()]
    sends = any(section.sends for _, section in group.sections())
    need_ends = [name for name, rule in RULES.items() if rule.needs_ends]
    concerned = {rule: len(views) > len(set(views)) for rule in need_ends} | {"SELF_DELIVERY": sends}
    for rule in need_ends:
        if rule in expected and concerned[rule] and not tallies[rule].evaluated:
            return f"{rule}: no log has an end, so none must have what others have"
    return ""


def _with_one_digest(group: InstanceLogs) -> tuple[str, int] | None:
    """Return a message whose digest only one of sender and receiver logged; None if there is none."""
    for _, summary in sorted(group.summaries.items()):
        for sender, numbers in sorted(summary.delivered.items()):
            theirs, heard = group.summaries.get(sender), summary.delivered_with_digest.get(sender, Intervals())
            if theirs is None or heard == theirs.sent_with_digest:
                continue
            unlike = heard.minus(theirs.sent_with_digest).union(theirs.sent_with_digest.minus(heard))
            # Only where both sides' records are there: a missing record is a gap, which has been told already.
            if lone := numbers.common(theirs.sent).common(unlike):
                return sender, lone.lowest
    return None
