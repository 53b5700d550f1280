"""Counts and refusals in plain words."""

from __future__ import annotations

import re
from typing import Any

import typer

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


def refusal(error: typer.TyperException) -> str:
    """Return the fault of a command line, without the words of the library that parsed it."""
    option = getattr(getattr(error, "param", None), "opts", None)
    # The command line's library wraps another one that validates; its errors have a type and a bound, from which a
    # sentence can be made.
    errors: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    if not option or not errors:
        return error.format_message()
    kind, given = errors[0].get("type"), errors[0].get("input")
    if kind in _BOUNDS:
        bound, said = _BOUNDS[kind]
        return f"{option[0]} {given} {said} {errors[0]['ctx'][bound]}"
    return f"{option[0]} {given!r} {_KINDS.get(str(kind), 'is not allowed')}"
