"""A reader of serpent, Pyro5's default serializer, for the one kind of peer that speaks it: stock clients.

Serpent's own reader gives the text to Python's parser, whose time, memory and stack a peer would choose. This one knows
the literals that serpent writes and nothing else: None, truth values, numbers, texts, and tuples, lists, sets and
dicts of them, of bounded length and depth. Nothing that is read becomes an object.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

TEXT_BYTES_MAX = 16 * 1024  # the longest request of a name server's client is a name, a URI and eight tags
DEPTH_MAX = 8
_HEADER = re.compile(r"# serpent utf-8 python[23]\.\d\n")
_TOKEN = re.compile(
    r"""[ \n]*(?:
        (?P<mark>[()\[\]{},:])
        | (?P<word>None|True|False)\b
        | (?P<number>-?[0-9]{1,19}(?:\.[0-9]{1,20})?(?:e[+-]?[0-9]{1,5})?)
        | '(?P<single>(?:[^'\\\n]|\\[^\n])*)'
        | "(?P<double>(?:[^"\\\n]|\\[^\n])*)"
        | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))")
_ESCAPED = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}
_WORDS = {"None": None, "True": True, "False": False}
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class NotSerpent(ValueError):
    """Text that serpent did not write, or that is over a bound."""


class _Token(NamedTuple):
    """A mark, `value`, or `end`; and what it stands for."""

    kind: str
    value: Any = None


def read_serpent(data: bytes, of_dict: Callable[[dict[Any, Any]], Any] = dict) -> Any:
    """Return what serpent wrote, with lists for tuples and sets, and each dict as `of_dict` makes it.

    Raises NotSerpent.
    """
    if len(data) > TEXT_BYTES_MAX:
        raise NotSerpent(f"more than {TEXT_BYTES_MAX} bytes")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise NotSerpent("not UTF-8") from error
    header = _HEADER.match(text)
    tokens = _tokens(text, header.end() if header else 0)
    value = _Reading(tokens, of_dict).value(next(tokens), DEPTH_MAX)
    if next(tokens).kind != "end":
        raise NotSerpent("more than one value")
    return value


def _tokens(text: str, at: int) -> Iterator[_Token]:
    while True:
        found = _TOKEN.match(text, at)
        if found is None:
            raise NotSerpent(f"no literal at character {at}")
        at = found.end()
        match found.lastgroup, found[found.lastgroup or 0]:
            case "mark", mark:
                yield _Token(mark)
            case "word", word:
                yield _Token("value", _WORDS[word])
            case "number", number:
                yield _Token("value", int(number) if number.lstrip("-").isdigit() else float(number))
            case "end", _:
                yield _Token("end")
            case _, quoted:
                yield _Token("value", _ESCAPE.sub(_unescaped, quoted))


def _unescaped(found: re.Match[str]) -> str:
    *codes, letter = found.groups()
    number = next((code for code in codes if code), None)
    try:
        return chr(int(number, 16)) if number else _ESCAPED[letter]
    except (KeyError, ValueError) as error:
        raise NotSerpent(f"no escape: {found[0]}") from error


class _Reading:
    """One descent through the tokens."""

    def __init__(self, tokens: Iterator[_Token], of_dict: Callable[[dict[Any, Any]], Any]) -> None:
        self._tokens = tokens
        self._of_dict = of_dict

    def value(self, token: _Token, depth: int) -> Any:
        """Return the value that begins with a token."""
        if token.kind == "value":
            return token.value
        if token.kind not in _CLOSING or not depth:
            raise NotSerpent("nested too deep" if token.kind in _CLOSING else f"{token.kind} where a value is due")
        return self._container(token.kind, depth - 1)

    def _container(self, opening: str, depth: int) -> Any:
        """Return the list or dict of which the opening mark is read."""
        items: list[Any] = []
        pairs: dict[Any, Any] = {}
        token = next(self._tokens)
        while token.kind != _CLOSING[opening]:
            item, after = self.value(token, depth), next(self._tokens)
            if opening == "{" and after.kind == ":" and not items:
                pairs[_key(item)], after = self.value(next(self._tokens), depth), next(self._tokens)
            elif pairs:
                raise NotSerpent("a dict with an element that has no value")
            else:
                items.append(item)
            if after.kind not in (",", _CLOSING[opening]):
                raise NotSerpent(f"{after.kind} where a comma or an end is due")
            token = next(self._tokens) if after.kind == "," else after
        # Braces around nothing are a dict: serpent writes an empty set as an empty tuple.
        return self._of_dict(pairs) if opening == "{" and not items else items


def _key(item: Any) -> Any:
    if isinstance(item, list | dict):
        raise NotSerpent("a key that is a container")
    return item
