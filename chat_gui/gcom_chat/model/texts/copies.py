"""Rows as text to take elsewhere: what was said, a line of a log, or JSON with what names a message for a program."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import gcom
from gcom_chat.model.rows import ChatRow, MessageTimes, RowKind
from gcom_chat.model.texts.isolates import apart
from gcom_chat.model.texts.words import translate


def plain(row: ChatRow) -> str:
    """Return a row as one text, as much of it as is shown."""
    return _line(row, row.text)


def _line(row: ChatRow, text: str) -> str:
    name, peer, text = apart(row.name), apart(row.peer), apart(text)
    said = {
        RowKind.ACTION: f"* {name} {text}",
        RowKind.PRIVATE: translate("chat", "{} to {} alone: {}").format(name, peer, text),
        RowKind.MESSAGE: f"{name}: {text}",
    }
    return said.get(row.kind, gcom.isolated(text))


def as_text(rows: Sequence[ChatRow]) -> str:
    """Return what was said, and no more."""
    return "\n".join(row.said for row in rows)


def with_header(rows: Sequence[ChatRow]) -> str:
    """Return lines of a log: time, name, text."""
    return "\n".join(log_line(row) for row in rows)


def as_json(group: str, rows: Sequence[ChatRow]) -> str:
    """Return a JSON object per line: the group, the view, the sender and its number name a message for ever."""
    return "\n".join(json.dumps(_fields(group, row), ensure_ascii=False) for row in rows)


def log_line(row: ChatRow) -> str:
    """Return a row as a line of a log: time, then who said what."""
    return f"[{datetime.fromtimestamp(row.at_ms / 1000):%Y-%m-%d %H:%M:%S}] {_line(row, row.said)}"


def _fields(group: str, row: ChatRow) -> dict[str, object]:
    fields = {
        "group": group,
        "kind": row.kind.value,
        "sender": row.process or row.name,
        "number": row.number,
        "view": row.view,
        "id": row.id,
        "to": row.peer,
        "text": row.said,
        "sent": _utc(row.sent_ms),
        **_times(row.times),
        "delivered": _utc(row.times.delivered_ms if row.times else row.at_ms),
    }
    return {name: value for name, value in fields.items() if value not in ("", 0)}


def _times(times: MessageTimes | None) -> dict[str, object]:
    if times is None:
        return {}
    stamps = {"received": _utc(times.received_ms), "ordered": _utc(times.ordered_ms or 0)}
    return {**stamps, "serial": times.serial, "clock": times.clock or ""}


def _utc(at_ms: float) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds") if at_ms else ""
