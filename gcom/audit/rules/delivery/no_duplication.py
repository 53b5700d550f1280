"""NO_DUPLICATION: a process delivers a message once. The scan judges it (scan/batches.py)."""

from __future__ import annotations

from gcom.audit.rules.rule import AuditRule, Example, always, named


def _sentence(e: Example) -> str:
    return f"{e['process']} delivered {named(e)} though it was settled there before."


# Judged while a process's deliveries are gone through, where what it had settled is at hand (scan/batches.py).
RULE = AuditRule("NO_DUPLICATION", "No process delivers a message twice.", always, _sentence)
