"""All rules. One more is a file with its `AuditRule`, a line in RULES and one in ROOT_FIRST."""

from __future__ import annotations

from gcom.audit.rules.delivery import agreement, integrity, no_creation, no_duplication, self_delivery
from gcom.audit.rules.ordering import causal, clock, fifo, serial_contiguous, serial_unique, total, total_gap_free
from gcom.audit.rules.rule import AuditRule
from gcom.audit.rules.views import continuity, one_leader, sending_view, view_agreement, virtual_synchrony

# As reports list them.
RULES: dict[str, AuditRule] = {
    rule.name: rule
    for rule in (
        no_creation.RULE,
        no_duplication.RULE,
        integrity.RULE,
        self_delivery.RULE,
        agreement.RULE,
        fifo.RULE,
        causal.RULE,
        clock.RULE,
        total.RULE,
        total_gap_free.RULE,
        serial_unique.RULE,
        serial_contiguous.RULE,
        sending_view.RULE,
        view_agreement.RULE,
        virtual_synchrony.RULE,
        one_leader.RULE,
        continuity.RULE,
    )
}

# Nearest to the cause first: what was delivered and should not have been, then views, then what was not delivered and
# should have been, then orders, then what only compares. A violation of the first heads its incident.
ROOT_FIRST = (
    "NO_CREATION",
    "INTEGRITY",
    "NO_DUPLICATION",
    "VIEW_AGREEMENT",
    "ONE_LEADER",
    "SENDING_VIEW",
    "AGREEMENT",
    "SELF_DELIVERY",
    "CONTINUITY",
    "FIFO",
    "CAUSAL",
    "SERIAL_UNIQUE",
    "SERIAL_CONTIGUOUS",
    "VIRTUAL_SYNCHRONY",
    "TOTAL",
    "TOTAL_GAP_FREE",
    # Last: a wrong clock is a violation by itself, and also what every wrong delivery before the send leads to.
    "CLOCK",
)
