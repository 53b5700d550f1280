"""The result of `gcom audit --json`, as far as the chat shows it (docs/audit-report.md)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from gcom_chat.model.texts.words import QT_TRANSLATE_NOOP, translate

VERSION = 1
INCIDENTS_MAX = 500  # that are listed; the report has all that it has room for
_INCARNATION = re.compile(r"#[0-9a-f]+")

VERDICTS = {
    "PASS": QT_TRANSLATE_NOOP("audit", "every promise held"),
    "FAIL": QT_TRANSLATE_NOOP("audit", "a promise was broken"),
    "UNKNOWN": QT_TRANSLATE_NOOP("audit", "nothing is known to be broken, but not all is known"),
    "VACUOUS": QT_TRANSLATE_NOOP("audit", "there was nothing to judge"),
}


class NoAudit(ValueError):
    """A text that is no result of an audit that this version can read."""


@dataclass(frozen=True, slots=True)
class AuditIncident:
    """A place where a rule did not hold. `promised`: the group's definition says that it must."""

    rule: str
    group: str
    promised: bool
    sentence: str
    messages: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class AuditOutcome:
    """The verdict on some logs. `groups`: each with its verdict; `more`: incidents that are not listed."""

    verdict: str
    groups: tuple[tuple[str, str], ...]
    incidents: tuple[AuditIncident, ...]
    more: int

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        words = translate("audit", VERDICTS.get(self.verdict, ""))
        groups = ", ".join(f"{group}: {verdict}" for group, verdict in self.groups)
        return f"{self.verdict}: {words}" + (f" ({groups})" if groups else "")


def parse_audit(text: str) -> AuditOutcome:
    """Read a result; raises NoAudit."""
    try:
        found = json.loads(text)
        if found["version"] != VERSION:
            text = translate("audit", "the audit's result has version {!r}, not {}")
            raise NoAudit(text.format(found["version"], VERSION))
        groups = tuple((str(each["group"]), str(each["verdict"])) for each in found["groups"])
        incidents = tuple(
            AuditIncident(
                str(each["rule"]),
                str(each["group"]),
                bool(each["expected"]),
                _INCARNATION.sub("", str(each["sentence"])),
                tuple((str(sender), int(number)) for sender, number in each["messages"]),
            )
            for each in found["incidents"][:INCIDENTS_MAX]
        )
        return AuditOutcome(str(found["verdict"]), groups, incidents, len(found["incidents"]) - len(incidents))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        if isinstance(error, NoAudit):
            raise
        text = translate("audit", "no result of an audit: {}: {}")
        raise NoAudit(text.format(type(error).__name__, error)) from error
