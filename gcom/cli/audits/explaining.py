"""`gcom audit explain`: a rule in plain words, or a line for each."""

from __future__ import annotations

from gcom.audit.applications.rule import ApplicationRule
from gcom.audit.applications.table import APPLICATION_RULES
from gcom.audit.explain.plain import PLAIN
from gcom.audit.rules.rule import AuditRule
from gcom.audit.rules.table import RULES
from gcom.cli.output import Output
from gcom.errors import BadValue
from gcom.values.definition import Multicast, Ordering

ALL: dict[str, AuditRule | ApplicationRule] = {**RULES, **APPLICATION_RULES}


def explain(name: str | None, *, as_json: bool) -> int:
    """Print a rule, or all; raises BadValue for a name that is none."""
    output = Output()
    if name is None:
        for rule in ALL.values():
            output.row(_row(rule)) if as_json else output.text(f"{rule.name:18} {rule.means}")
    else:
        # As the report writes them, too: "no creation".
        found = next((rule for rule in ALL.values() if _plain(rule.name) == _plain(name)), None)
        if found is None:
            raise BadValue(f"there is no rule {name!r}: expected one of {', '.join(ALL)}")
        output.row(_row(found)) if as_json else output.text(_told(found))
    output.flush()
    return 0


def _plain(name: str) -> str:
    return "".join(letter for letter in name.upper() if letter.isalnum())


def _told(rule: AuditRule | ApplicationRule) -> str:
    words = PLAIN[rule.name]
    return "\n".join(
        [
            f"{rule.name}: {rule.means}",
            f"  Promised by: {promised_by(rule)}.",
            f"  Broken: {words.headline}. {words.meaning}",
            "  Its exact words: docs/DELIVERY_LOG.md.",
        ]
    )


def _row(rule: AuditRule | ApplicationRule) -> dict[str, str]:
    words = PLAIN[rule.name]
    row = {"rule": rule.name, "means": rule.means, "promised_by": promised_by(rule)}
    return {**row, "headline": words.headline, "broken": words.meaning}


def promised_by(rule: AuditRule | ApplicationRule) -> str:
    """Return in words which groups promise a rule, or what stands on groups does."""
    if isinstance(rule, ApplicationRule):
        return f"each {rule.about} of which the logs have records"
    kinds = {
        multicast: [each for each in Ordering if rule.promised({"ordering": each, "multicast": multicast})]
        for multicast in Multicast
    }
    reliable, basic = kinds[Multicast.RELIABLE], kinds[Multicast.BASIC]
    orders = "every group" if len(reliable) == len(Ordering) else f"{', '.join(reliable)} groups"
    return orders if basic == reliable else f"{orders} over RELIABLE"
