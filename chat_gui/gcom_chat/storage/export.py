"""Writes a conversation to a file, a line for each row."""

from __future__ import annotations

from collections.abc import Iterable

from gcom_chat.model.rows import ChatRow
from gcom_chat.model.texts.copies import log_line
from gcom_chat.model.texts.words import translate


def export(rows: Iterable[ChatRow], path: str) -> str:
    """Write rows to a file; return what became of it, in words."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            count = sum(file.write(f"{log_line(row)}\n") > 0 for row in rows)
    except OSError as error:
        return translate("export", "cannot write {}: {}; choose another place").format(path, error.strerror)
    return translate("export", "{:,} rows are written to {}").format(count, path)
