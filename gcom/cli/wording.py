"""Counts and refusals in plain words."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import typer

from gcom.errors import BadValue

# By the types of pydantic's errors, which stay the same where its sentences are worded anew.
_KINDS = {"int_parsing": "is no whole number", "int_from_float": "is no whole number", "float_parsing": "is no number"}
_BOUNDS = {
    "greater_than_equal": ("ge", "is less than"),
    "greater_than": ("gt", "is not more than"),
    "less_than_equal": ("le", "is more than"),
    "less_than": ("lt", "is not less than"),
}


def many(count: int, one: str) -> str:
    """Return a count with its noun or phrase: 1 crash between calls, 2 crashes between calls."""
    return f"{count:,} {one if count == 1 else plural(one)}"


def plural(one: str) -> str:
    """Return the plural of a regular noun, or of a phrase that one leads or ends."""
    # Of "crash between calls" the first word has the plural, and not the last.
    head, *rest = re.split(r"(?= (?:of|over|between|without) )", one, maxsplit=1)
    if re.search(r"[^aeiou]y$", head):
        head = f"{head[:-1]}ies"
    else:
        head += "es" if head.endswith(("s", "x", "ch", "sh")) else "s"
    return "".join([head, *rest])


def width_of(text: str) -> int:
    """Return how many columns of a terminal a text takes: East Asian letters are two wide, accents have none."""
    if text.isascii():
        return len(text)
    marks = sum(unicodedata.category(letter) in ("Mn", "Me", "Cf") for letter in text)
    return len(text) - marks + sum(unicodedata.east_asian_width(letter) in ("W", "F") for letter in text)


def padded(text: str, width: int) -> str:
    """Return a text with spaces behind it, so that it takes `width` columns of a terminal."""
    return text + " " * (width - width_of(text))


def refusal(error: typer.TyperException) -> str:
    """Return the fault of a command line, without the words of the library that parsed it, and what tells more."""
    context = getattr(error, "ctx", None)
    path = context.command_path.strip() if context else "gcom"
    command = path.partition(" ")[2] or path
    return f"{_fault(error, context, command)} ({path} --help)"


def _fault(error: typer.TyperException, context: Any, command: str) -> str:
    given = getattr(error, "param", None)
    # Of the parser's errors this one alone has that field: its type is not public.
    if context and given and hasattr(error, "param_type"):
        # An argument is a word for its place, an option is what is typed.
        lacks = given.opts[0] if given.opts[0].startswith("-") else given.metavar or given.name.upper()
        return f"{command} needs {lacks}{_example(context.command.help or '')}"
    commands = getattr(context and context.command, "commands", {})
    if commands and context.invoked_subcommand is None and error.format_message().startswith("Missing"):
        return f"{command} needs a command, one of {', '.join(commands)}"
    # The command line's library wraps another one that validates; its errors have a type and a bound, from which a
    # sentence can be made.
    errors: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    if not given or not errors:
        return error.format_message()
    kind, value = errors[0].get("type"), errors[0].get("input")
    # Raised by a parser of ours, which says it all.
    if isinstance(ours := errors[0].get("ctx", {}).get("error"), BadValue):
        return str(ours)
    if kind in _BOUNDS:
        bound, said = _BOUNDS[kind]
        return f"{given.opts[0]} {value} {said} {errors[0]['ctx'][bound]}"
    return f"{given.opts[0]} {value!r} {_KINDS.get(str(kind), 'is not allowed')}"


def _example(told: str) -> str:
    """Return the first example in a command's help, as the end of a sentence."""
    found = re.search(r"Examples?:\n+ *(\S.*?)(?: {3,}.*)?$", told, re.MULTILINE)
    return f", as in: {found[1]}" if found else ""
