"""Slash commands: a table of what there is, and the parser of a line. A command that is not known is an error, never a
message.
"""

from __future__ import annotations

from dataclasses import dataclass

COMMANDS = {
    "join": ("GROUP", "open a tab for a group, and join it"),
    "leave": ("", "leave this group, and close its tab"),
    "me": ("TEXT", "say what you do: * alice waves"),
    "nick": ("NAME", "come back to all groups under another name"),
    "topic": ("[TEXT]", "show the topic, or set it"),
    "msg": ("MEMBER TEXT", "say something to one member alone"),
    "who": ("", "list the members, and when each was last heard"),
    "debug": ("[on|off]", "break the network on purpose, or stop that (F12, Debug mode)"),
    "delay": ("[MEMBER] A..Bms", "in debug mode: make calls late, all or those of one member"),
    "drop": ("P%", "in debug mode: lose a share of all calls"),
    "reorder": ("P%", "in debug mode: let a share of all calls be overtaken"),
    "partition": ("[A B | C]", "in debug mode: cut all links between the sides; without sides: heal them"),
    "export": ("[FILE]", "write this conversation to a file"),
    "help": ("", "list the commands"),
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
        raise BadCommand(f"unknown command /{name[:20]}: /help lists them; begin with // to say a text with a slash")
    wanted = COMMANDS[name][0]
    if wanted and not wanted.startswith("[") and len(rest.split(maxsplit=1)) < len(wanted.split()):
        raise BadCommand(f"/{name} needs more: /{name} {wanted}")
    return Command(name, rest)


def help_text() -> str:
    """Return the list of the commands, a line for each."""
    return "\n".join(f"/{name} {wanted}".rstrip() + f" - {text}" for name, (wanted, text) in COMMANDS.items())
