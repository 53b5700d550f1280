"""Text of peers, made harmless to show: nothing that a peer sends may change how another's words look.

Control characters and the bidirectional controls of Unicode are replaced by a visible sign (Trojan Source, Boucher and
Anderson 2021: an override in a text reorders what stands beside it). Links are http and https alone.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import islice
from typing import NamedTuple

from gcom_chat.model.texts.isolates import bare
from gcom_chat.model.texts.words import translate

SIGN = "\N{REPLACEMENT CHARACTER}"
SHOWN_CHARS_MAX = 16 * 1024  # of one message; the rest is counted
SHOWN_LINES_MAX = 100
WHOLE_CHARS_MAX = 256 * 1024  # of one message that can be opened: as long as a chat sends them
_LINE_END = re.compile(r"\r\n|\r|\n")
_UNSAFE = re.compile(
    # A black flag, the region's letters as tags, and the tag that ends them are one sign: the flag of Wales, say.
    "(?P<flag>\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f)|"
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
    "\ud800-\udfff]"
)
_LINK = re.compile(r"https?://[^\s<>\"'\x00-\x1f]+", re.IGNORECASE)
_TRAILING = ".,;:!?)]}'\""


FOLD = "\u2060\n"  # within a line that is too long to lay out at once; no text that is sent has it
FOLDED_CHARS = 2_000  # Qt lays out a line whole at each key: from here on that is felt


class WebLink(NamedTuple):
    """A link in a text: the characters start … end, which are the address themselves."""

    start: int
    end: int
    address: str


def clean(text: str) -> str:
    """Return a text with its unsafe characters replaced by a sign; line feeds and tabs stay."""
    # Replaced and not dropped: a reader sees that something stood there.
    return _UNSAFE.sub(lambda found: found["flag"] or SIGN, text.replace("\r\n", "\n").replace("\r", "\n"))


def shown(text: str) -> str:
    """Return a clean text no longer than is shown, with a word on what was left out."""
    # Cut before it is cleaned: a long text costs no more than what is shown of it.
    end = min(len(text), SHOWN_CHARS_MAX)
    for line in islice(_LINE_END.finditer(text, 0, end), SHOWN_LINES_MAX - 1, SHOWN_LINES_MAX):
        end = line.start()  # a few kilobytes of empty lines would fill dozens of screens
    kept = clean(text[:end])
    rest = len(text) - end
    return kept + translate("chat", "… ({:,} more characters)").format(rest) if rest else kept


def in_full(text: str) -> str:
    """Return all of a clean text that `shown` would cut, up to WHOLE_CHARS_MAX; empty: it is shown in full."""
    if len(text) < SHOWN_LINES_MAX:
        return ""
    if (
        len(text) <= SHOWN_CHARS_MAX
        and sum(1 for _ in islice(_LINE_END.finditer(text), SHOWN_LINES_MAX)) < SHOWN_LINES_MAX
    ):
        return ""
    rest = len(text) - WHOLE_CHARS_MAX
    return clean(text[:WHOLE_CHARS_MAX]) + (
        translate("chat", "… ({:,} more characters)").format(rest) if rest > 0 else ""
    )


def folded(text: str) -> str:
    """Return a text whose long lines are in parts: each key lays out the line that it changes, for all its length."""
    if len(text) <= FOLDED_CHARS:
        return text
    lines = text.split("\n")
    return "\n".join(
        FOLD.join(line[at : at + FOLDED_CHARS] for at in range(0, max(1, len(line)), FOLDED_CHARS)) for line in lines
    )


def unfolded(text: str) -> str:
    """Return a text as it was before `folded`."""
    return text.replace(FOLD, "")


def links(text: str) -> list[WebLink]:
    """Return the links of a text; a full stop or bracket behind one is not part of it."""
    found = []
    for match in _LINK.finditer(text):
        # Behind a sentence or in brackets, as people write addresses.
        address = match.group().rstrip(_TRAILING)
        found.append(WebLink(match.start(), match.start() + len(address), address))
    return found


def normal(text: str) -> str:
    """Return a typed name in the form that the library keeps, without blanks and marks of direction around it."""
    return unicodedata.normalize("NFC", bare(text).strip())


def mentions(text: str, words: frozenset[str]) -> bool:
    """Return whether one of the words, in any case, stands in a text as a word of its own."""
    # Whole words: a member "al" would be called by every "also", and "bob" by "bob-2". A name may have blanks.
    said = unicodedata.normalize("NFC", text).casefold()
    return any(re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w\u0300-\u036f]|[.-]+\w)", said) for word in words)
