"""Slash commands: a table of what there is, and the parser of a line. A command that is not known is an error, never a
message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gcom_chat.model.text import normal
from gcom_chat.model.texts.words import QT_TRANSLATE_NOOP, translate
from gcom_chat.model.wire import ChatMessage, MessageKind

COMMANDS = {
    "join": ("GROUP", QT_TRANSLATE_NOOP("commands", "open a tab for a group, and join it")),
    "leave": ("", QT_TRANSLATE_NOOP("commands", "close this tab, and leave its group")),
    "me": ("TEXT", QT_TRANSLATE_NOOP("commands", "say what you do: * alice waves")),
    "nick": ("NAME", QT_TRANSLATE_NOOP("commands", "come back to all groups under another name")),
    "topic": ("[TEXT]", QT_TRANSLATE_NOOP("commands", "show the topic, or set it")),
    "msg": ("MEMBER TEXT", QT_TRANSLATE_NOOP("commands", "say something to one member alone, in a tab of its own")),
    "ignore": ("[MEMBER]", QT_TRANSLATE_NOOP("commands", "show nothing of what a member says; nothing: list them")),
    "unignore": ("MEMBER", QT_TRANSLATE_NOOP("commands", "show again what a member says")),
    "who": ("", QT_TRANSLATE_NOOP("commands", "list the members, and when each was last heard")),
    "order": ("", QT_TRANSLATE_NOOP("commands", "tell what the group's ordering promises, and what it costs")),
    "debug": (
        "[on|off]",
        QT_TRANSLATE_NOOP("commands", "break the network on purpose, or stop (F12, Debug mode)"),
    ),
    "delay": (
        "[MEMBER] A..Bms",
        QT_TRANSLATE_NOOP("commands", "debug mode: make calls late, all or one member's"),
    ),
    "drop": ("P%", QT_TRANSLATE_NOOP("commands", "debug mode: lose a share of all calls")),
    "reorder": ("P%", QT_TRANSLATE_NOOP("commands", "debug mode: let a share of all calls be overtaken")),
    "partition": (
        "[A B | C]",
        QT_TRANSLATE_NOOP("commands", "debug mode: cut the links between two sides; nothing: heal"),
    ),
    "export": ("[FILE]", QT_TRANSLATE_NOOP("commands", "write this conversation to a file")),
    "help": ("", QT_TRANSLATE_NOOP("commands", "list the commands")),
}


class BadCommand(ValueError):
    """A command that is not known, or lacks something; the text says what to type."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, empty for plain text, and the rest of the line."""

    name: str
    rest: str


def parse(line: str) -> Command:
    """Return the command of a line; `//` begins a text with a slash. Raises BadCommand."""
    if not line.startswith("/") or line.startswith("//"):
        return Command("", line.removeprefix("/") if line.startswith("//") else line)
    name, _, rest = line[1:].partition(" ")
    name, rest = name.casefold(), rest.strip()
    if name not in COMMANDS:
        unknown = translate(
            "commands", "unknown command /{}: /help lists them; begin with // to say a text with a slash"
        )
        raise BadCommand(unknown.format(name[:20]))
    wanted = COMMANDS[name][0]
    if wanted and not wanted.startswith("[") and len(rest.split(maxsplit=1)) < len(wanted.split()):
        raise BadCommand(translate("commands", "/{0} needs more: /{0} {1}").format(name, wanted))
    return Command(name, rest)


def named(text: str, members: Sequence[str]) -> tuple[str, str]:
    """Return the member whose name a text begins with, which may have blanks, or else its first word; and the rest."""
    text = normal(text)
    longest = sorted(members, key=len, reverse=True)
    name = next((each for each in longest if text == each or text.startswith(f"{each} ")), text.split(" ", 1)[0])
    return name, text[len(name) :].strip()


def typed(message: ChatMessage) -> str:
    """Return the line that is typed for a message, so that it can be changed and sent again."""
    match message.kind:
        case MessageKind.ACTION:
            return f"/me {message.text}"
        case MessageKind.TOPIC:
            return f"/topic {message.text}"
        case MessageKind.TEXT:
            return f"/{message.text}" if message.text.startswith("/") else message.text
        case _:
            return ""


def help_text() -> str:
    """Return the list of the commands, a line for each."""
    lines = [(f"/{name} {wanted}".rstrip(), translate("commands", text)) for name, (wanted, text) in COMMANDS.items()]
    return "\n".join(f"{left} - {right}" for left, right in lines)
