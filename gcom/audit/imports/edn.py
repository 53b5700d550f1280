"""EDN, Clojure's data notation, as far as Jepsen's histories have it: maps one after the other, or in one vector.

Keywords and symbols become texts without their colon, sets and lists become lists, tags are passed over. A form that is
no EDN ends with its line, so that one damaged line costs no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_TOKEN = re.compile(
    r"""[\s,]+ | ;[^\n]* | (?P<text>"(?:\\.|[^"\\])*") | (?P<discard>\#_) | (?P<open>\#?\{ | \[ | \()
    | (?P<close>[\]})]) | (?P<tag>\#[A-Za-z][^\s,\[({})\]"]*) | (?P<atom>[^\s,\[({})\]"';]+)""",
    re.VERBOSE,
)
_CLOSES = {"{": "}", "#{": "}", "[": "]", "(": ")"}
_WORDS = {"nil": None, "true": True, "false": False}
_INTEGER = re.compile(r"[+-]?\d+N?")
_DEPTH_MAX = 64
_BETWEEN = "\n \t\r,[]()"  # forms at the top, which may be in one vector


class NoEdn(ValueError):
    """A form that is no EDN; the text says why."""


def maps(text: str) -> Iterator[tuple[int, str, dict[Any, Any] | NoEdn]]:
    """Yield each map at the top, or in the one vector there, with its line and its text; or why a line has none."""
    at, line = 0, 1
    # It ends: each turn goes on behind a letter, a comment, or the form or the line that it was about.
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        stop = at + 1
        if text[at] == ";":
            stop = end
        elif text[at] not in _BETWEEN:
            skipped = text.startswith("#_", at)
            found, stop = _map(text, at + 2 * skipped, end)
            if not skipped:
                yield line, text[at : min(stop, end)], found
        line += text.count("\n", at, stop)
        at = stop


def _map(text: str, at: int, end: int) -> tuple[dict[Any, Any] | NoEdn, int]:
    """Return the map at `at` and where it ends; what is none ends with its line, at `end`."""
    try:
        found, stop = _form(text, at)
    except NoEdn as error:
        return error, max(end, at)
    return (found, stop) if isinstance(found, dict) else (NoEdn("no map"), max(end, at))


def _form(text: str, at: int) -> tuple[Any, int]:
    """Return the form that begins at `at`, and where it ends. Raises NoEdn."""
    stack: list[tuple[str, list[Any]]] = [("", [])]
    discards: list[int] = []
    # It ends: a token has a letter or more.
    while len(stack) > 1 or len(stack[0][1]) == 0:
        token = _TOKEN.match(text, at)
        if token is None or token.end() == at:
            raise NoEdn("not whole" if at >= len(text) else f"no EDN at {text[at : at + 20]!r}")
        at = token.end()
        if token["discard"]:
            discards.append(len(stack))
        elif token["open"]:
            stack.append((token["open"], []))
            if len(stack) > _DEPTH_MAX:
                raise NoEdn(f"nested more than {_DEPTH_MAX} deep")
        elif token["close"]:
            kind, values = stack.pop()
            if _CLOSES.get(kind) != token["close"]:
                raise NoEdn(f"a {token['close']} that closes nothing")
            _put(stack, discards, _collection(kind, values))
        elif token["text"] is not None or token["atom"]:
            _put(stack, discards, token["text"][1:-1] if token["text"] is not None else _atom(token["atom"]))
    return stack[0][1][0], at


def _put(stack: list[tuple[str, list[Any]]], discards: list[int], value: Any) -> None:
    if discards and discards[-1] == len(stack):
        discards.pop()
    else:
        stack[-1][1].append(value)


def _collection(kind: str, values: list[Any]) -> Any:
    if kind != "{":
        return values
    if len(values) % 2 or any(isinstance(key, list | dict) for key in values[::2]):
        raise NoEdn("a map with a key that has no value, or is no plain one")
    return dict(zip(values[::2], values[1::2], strict=True))


def _atom(word: str) -> Any:
    if word in _WORDS:
        return _WORDS[word]
    if _INTEGER.fullmatch(word):
        return int(word.rstrip("N")) if len(word) < 20 else word
    return word.removeprefix(":")
