"""Spelling of names: which characters a name may have, and the one form in which it is kept (decision 0031).

It follows Unicode's rules for identifiers: UAX 31 (letters, digits, marks), UAX 15 (NFC), and the "highly restrictive"
level of UTS 39 (one alphabet). A character's alphabet is the first word of its Unicode name, as in `GREEK SMALL LETTER
ALPHA`: Python has no table of scripts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import pairwise

_PLAIN = frozenset("._-")
_MARKS_MAX = 4  # in a row, on one letter: as many as Indic scripts need, and too few to cover other lines
# Letters and marks that show nothing.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0")
_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
# Letters that look like `|`, `!`, `;`, `'`, `/` or a line: clicks, modifiers but two, a saltillo and a dot, tones of
# Lisu, the tatweel, marks of vertical writing.
_SHAPES = (
    range(0x01C0, 0x01C4),
    range(0x02B0, 0x02BB),
    range(0x02BD, 0x0300),
    range(0xA78B, 0xA790),
    range(0xA4F8, 0xA4FE),
    range(0x0640, 0x0641),
    range(0x2E2F, 0x2E30),
    range(0x3031, 0x3036),
)
# Two letters that have another form by compatibility, and that Thai and Lao are written with.
_WHOLE = frozenset("\u0e33\u0eb3")
# First words of names that say no alphabet, and those that stand for another.
_ANY = frozenset(("COMBINING", "DIGIT", "MODIFIER", "SPACE"))
_ALPHABETS = {"IDEOGRAPHIC": "CJK", "EXTENDED": "ARABIC"}
_TOGETHER = tuple(frozenset(("LATIN", "CJK", *more)) for more in (("HIRAGANA", "KATAKANA"), ("HANGUL",), ("BOPOMOFO",)))

# Small letters of Cyrillic and Greek that look like those of Latin, and those; signs of one look (UTS 39, §4).
_LATIN = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u043a\u043c\u0442\u0432\u043d\u03b1\u03bf\u03bd\u03c1\u03b9\u03ba\u03c4\u03c5\u03c7",
    "aeopcyxijshdkmtbhaovpiktux",
)
_SAME_LOOK = str.maketrans({"1": "l", "i": "l", "0": "o", "5": "s", "8": "b", "2": "z", "-": "_", ".": "_"})

# Hebrew, Arabic and their neighbours, with their marks and presentation forms. A name goes on over its digits, and over
# a space before another such letter. A part that is isolated already stays as it is.
_RIGHT_TO_LEFT = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
_FROM_THE_RIGHT = re.compile(
    f"(\u2068[^\u2069]*\u2069?)|{_RIGHT_TO_LEFT}(?:[._-]?[0-9]|[ ._-]?{_RIGHT_TO_LEFT}|[\u0300-\u036f])*"
)


def isolated(text: str) -> str:
    """Return a text to be shown, with each right-to-left name in Unicode isolates.

    Else the `#` behind it and a number would stand on its other side.
    """
    if text.isascii():
        return text
    return _FROM_THE_RIGHT.sub(lambda found: found[1] or f"\u2068{found[0]}\u2069", text)


def normal(text: str) -> str:
    """Return a text in NFC: two texts that differ by normalisation alone are one."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def problem(name: str, chars_max: int, bytes_max: int, *, spaced: bool) -> str:
    """Return why a text in NFC cannot be a name; empty if it can. `spaced`: it may have single spaces inside."""
    size = len(name.encode(errors="replace"))
    if not 0 < len(name) <= chars_max or size > bytes_max:
        return f"expected 1 to {chars_max} characters, of {bytes_max} bytes at most; got {len(name)}, of {size} bytes"
    if why := problem_of_part(name, spaced=spaced):
        return why
    if not name[0].isalnum():
        return f"expected a letter or digit first; got {name[0]!r}"
    return "expected spaces inside only, and one at a time" if name.endswith(" ") or "  " in name else ""


def problem_of_part(text: str, *, spaced: bool) -> str:
    """Return why a text in NFC cannot be part of a name; empty if it can."""
    for letter in text:
        if why := _problem_of_letter(letter, spaced):
            return why
    if any(_is_mark(mark) and not (before.isalnum() or _is_mark(before)) for before, mark in pairwise("." + text)):
        return "expected a letter before each accent or vowel sign"
    if any(all(map(_is_mark, text[at : at + _MARKS_MAX + 1])) for at in range(len(text) - _MARKS_MAX)):
        return f"expected at most {_MARKS_MAX} accents or signs on one letter"
    return _problem_of_mix(text)


def _problem_of_letter(letter: str, spaced: bool) -> str:
    if letter in _PLAIN or (letter == " " and spaced) or (letter.isascii() and letter.isalnum()):
        return ""
    called = unicodedata.name(letter, "a character without a name")
    if not (unicodedata.category(letter)[0] == "L" or unicodedata.category(letter) in ("Mn", "Mc", "Nd")):
        spaces = ", and spaces inside" if spaced else ""
        return f"expected letters, digits, '.', '_' and '-'{spaces}; got {letter!r} ({called})"
    if letter in _INVISIBLE or any(ord(letter) in some for some in _SELECTORS):
        return f"expected characters that can be seen; got {letter!a} ({called})"
    plain = unicodedata.normalize("NFKC", letter)
    if plain != letter and letter not in _WHOLE:
        return f"expected plain letters; got {letter!r} ({called}): write {plain!r}"
    if any(ord(letter) in some for some in _SHAPES):
        return f"expected letters that do not look like a separator; got {letter!r} ({called})"
    return ""


def _problem_of_mix(text: str) -> str:
    """Return why the letters of a text are not of one alphabet: 'a' of Latin and of Cyrillic look the same."""
    seen: dict[str, str] = {}
    for letter in text:
        if letter not in _PLAIN and (alphabet := _alphabet(letter)):
            seen.setdefault(alphabet, letter)
    if len(seen) < 2 or any(seen.keys() <= some for some in _TOGETHER):
        return ""
    told = " and ".join(f"{letter!r} ({alphabet.capitalize()})" for alphabet, letter in list(seen.items())[:2])
    return f"expected letters of one alphabet, since those of two may look alike; got {told}"


def _alphabet(letter: str) -> str:
    word = unicodedata.name(letter, "").partition(" ")[0].partition("-")[0]
    return "" if word in _ANY else _ALPHABETS.get(word, word)


def _is_mark(letter: str) -> bool:
    return unicodedata.category(letter) in ("Mn", "Mc")


def imitated(name: str, others: Iterable[str]) -> str:
    """Return the first of the other names that a name looks like without being it; empty: none."""
    look = _skeleton(name)
    return next((other for other in others if other != name and _skeleton(other) == look), "")


def _skeleton(name: str) -> str:
    """Return what all names of one look have in common."""
    plain = name.casefold().translate(_LATIN)
    return plain.replace("rn", "m").replace("vv", "w").replace("cl", "d").translate(_SAME_LOOK)
