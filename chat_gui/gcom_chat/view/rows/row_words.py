"""A row in words: the way of a message, and its holders."""

from __future__ import annotations

from datetime import UTC, datetime

import gcom
from gcom_chat.model.insight.names import called, milliseconds
from gcom_chat.model.rows import ChatRow, MessageTimes, RowKind
from gcom_chat.model.texts.isolates import apart
from gcom_chat.model.texts.words import QT_TRANSLATE_NOOP, translate
from gcom_chat.view.rows.rows_model import DELIVERY_TEXT


def tooltip(row: ChatRow) -> str:
    """Return the times of a row, and its state."""
    if row.kind in (RowKind.DAY, RowKind.VIEW, RowKind.NOTICE):
        return _time(row.at_ms)
    lines = [translate("times", "sent {}").format(_time(row.sent_ms))] if row.sent_ms else []
    lines += _steps(row.times, row.sent_ms) if row.times else [translate("times", "read {}").format(_time(row.at_ms))]
    if row.number:
        text = translate("times", "message {} of {}, view {}")
        lines.append(text.format(row.number, gcom.isolated(row.process), row.view))
    else:
        lines.insert(0, row.name)  # which may be too long for its column
    if row.looks_like:
        lines.insert(0, translate("names", "careful: this name looks like {}").format(apart(row.looks_like)))
    if row.delivery in DELIVERY_TEXT:
        lines.append(translate("delivery", DELIVERY_TEXT[row.delivery]))
    return "\n".join(lines)


def _steps(times: MessageTimes, sent_ms: int) -> list[str]:
    """Return the way of a message through this process: a line for each step, with the time since the one before."""
    steps = [
        (times.received_ms, translate("times", "received {}")),
        (times.delivered_ms, translate("times", "delivered {}")),
    ]
    if times.ordered_ms is not None:
        steps.insert(1, (times.ordered_ms, translate("times", "ordered {}")))
    before, lines = times.sent_ms or float(sent_ms), []
    # By time: the place in the order may be known before the message itself has come.
    for at_ms, text in sorted(steps, key=lambda step: step[0]):
        after = f" (+{milliseconds(at_ms - before)})" if before and at_ms >= before else ""
        lines.append(text.format(f"{_clock(at_ms)}{after}"))
        before = at_ms
    lines.append(translate("times", "held back for {}").format(milliseconds(times.held_ms)))
    if times.serial:
        lines.append(translate("times", "serial {:,} of the group's order").format(times.serial))
    return lines


def _clock(at_ms: float) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000):%H:%M:%S}.{int(at_ms) % 1000:03d}"


def _time(at_ms: int) -> str:
    at = datetime.fromtimestamp(at_ms / 1000).astimezone()
    return f"{at:%Y-%m-%d %H:%M:%S}.{at_ms % 1000:03d} ({at.astimezone(UTC):%H:%M:%S} UTC)"


def receipt_text(receipt: gcom.Receipt) -> str:
    """Return who has an own message, and who is not known to have it."""
    held = ", ".join(called(process) for process in receipt.held_by)
    lacking = ", ".join(called(process) for process in receipt.lacking)
    parts = [translate("receipt", "message {}: {}").format(receipt.number, translate("states", receipt.state))]
    if receipt.serial:
        parts.append(translate("receipt", "number {} in the group's order").format(receipt.serial))
    parts.append(translate("receipt", "held by {}").format(held or translate("receipt", "nobody")))
    if lacking:
        parts.append(translate("receipt", "lacking: {}").format(lacking))
    return "; ".join(parts)


STATES = (
    QT_TRANSLATE_NOOP("states", "waiting"),
    QT_TRANSLATE_NOOP("states", "sent"),
    QT_TRANSLATE_NOOP("states", "ordered"),
    QT_TRANSLATE_NOOP("states", "held"),
    QT_TRANSLATE_NOOP("states", "doubt"),
    QT_TRANSLATE_NOOP("states", "lost"),
)
