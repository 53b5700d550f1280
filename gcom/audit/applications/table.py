"""All rules of what stands on groups. One more is a file with its `ApplicationRule`, and a line here."""

from __future__ import annotations

from gcom.audit.applications.rule import ApplicationRule
from gcom.audit.applications.sessions import bank, guarantees
from gcom.audit.applications.states import determinism, durable
from gcom.audit.applications.topics import effects, puts, receipts, sequences

# As reports list them; of one thing the first violated rule heads its incidents.
APPLICATION_RULES: dict[str, ApplicationRule] = {
    rule.name: rule
    for rule in (
        durable.RULE,
        determinism.RULE,
        guarantees.OWN_WRITES,
        guarantees.READS,
        guarantees.WRITES,
        guarantees.AFTER_READS,
        bank.RULE,
        effects.ONCE,
        sequences.RISING,
        receipts.RULE,
        puts.RULE,
        sequences.ONCE,
        effects.ORDERED,
    )
}
