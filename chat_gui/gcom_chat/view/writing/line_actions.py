"""Actions on own lines that ended badly: send again, take back into the input, discard."""

from __future__ import annotations

from collections.abc import Iterable

from gcom_chat.model.group_state import Talk
from gcom_chat.model.input.commands import typed
from gcom_chat.model.outbox import OwnLine
from gcom_chat.model.texts.words import translate
from gcom_chat.view.writing.command_runner import CommandHost, now_ms


class LineActions:
    """Carries the actions out, in the conversation of a tab."""

    def __init__(self, host: CommandHost) -> None:
        self._host = host

    def run(self, name: str, action: str, identity: str = "") -> str:
        """Carry out an action for one line of a tab, or for all; return the text that goes back into the input."""
        shown = self._host.chat.talk(name)
        talk = shown.conversation
        chosen = [line for line in talk.own.unfinished if identity in ("", line.message.id)]
        if action == "again":
            self._again(shown, chosen)
            return ""
        texts = [typed(line.message) for line in chosen]
        for line in chosen:
            talk.discard(line.message.id)
        return "\n".join(texts) if action == "edit" else ""

    def _again(self, shown: Talk, lines: Iterable[OwnLine]) -> None:
        talk = shown.conversation
        for line in lines:
            # With the id that it has: who got it after all does not show it twice.
            if why := self._host.client.send(shown.group, line.message, line.to):
                talk.notice(translate("chat", "not sent: {}").format(why), now_ms())
                return
            talk.sending(line.message, line.row.name, now_ms(), line.to)
