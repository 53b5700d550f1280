"""What two commands do: /who and /export."""

from __future__ import annotations

from collections.abc import Iterable

from chat_gui.model.chat import GroupState
from chat_gui.model.members import presence_text
from chat_gui.model.rows import ChatRow
from chat_gui.model.texts.copies import log_line
from chat_gui.model.texts.words import translate


def who_text(state: GroupState) -> str:
    """Return the members of a group, a line for each."""
    lines = []
    for member in state.members.list(state.process):
        leads = translate("who", "leader") if member.leads else ""
        words = (presence_text(member.presence), leads, member.why)
        lines.append(f"{member.name}: {', '.join(word for word in words if word)}")
    return "\n".join(lines) or translate("who", "nobody is known yet")


def export(rows: Iterable[ChatRow], path: str) -> str:
    """Write rows to a file; return what became of it, in words."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{log_line(row)}\n" for row in rows)
    except OSError as error:
        return translate("export", "cannot write {}: {}; choose another place").format(path, error.strerror)
    return translate("export", "written to {}").format(path)
