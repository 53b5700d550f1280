"""Sentences, paragraphs and table rows of the pages that are too long: python -m tests.tidy.words [PAGE...]

A sentence has at most 25 words, a paragraph five lines, a table row 40 words. Without a page it prints a count for each
page that has any; with pages it prints the places. `long_texts.json` records a count for each page, which may only
fall: `make notes` lowers it, and tests/tidy/test_words.py fails on a page that has more.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.tidy.source import ROOT

SENTENCE_WORDS_MAX = 25
PARAGRAPH_LINES_MAX = 5
LINE_CHARS = 160  # of a paragraph, however its lines are broken
ROW_WORDS_MAX = 40
RECORD = Path(__file__).with_name("long_texts.json")
_FENCE = re.compile(r"^(```|~~~).*?^\1[^\S\n]*$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_END = re.compile(r"(?<=[.!?])[\")*_]*\s+(?=[\"(*_`A-Z0-9])")
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")


@dataclass(frozen=True)
class LongText:
    """One place that is too long: its kind, its size, and how it begins."""

    line: int
    kind: str
    size: int
    text: str

    def __str__(self) -> str:
        return f"{self.line}: {self.kind} of {self.size}: {self.text[:80]}"


def pages() -> list[Path]:
    """Return the pages that are written by hand, in order of path."""
    written = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(path for path in written if path.name != "performance.md")  # which a command writes


def _blanked(text: str) -> str:
    """Return the text with code blocks and comments made empty, line by line."""
    for pattern in (_FENCE, _COMMENT):
        text = pattern.sub(lambda found: "\n" * found[0].count("\n"), text)
    return text


def _count(text: str) -> int:
    return len([word for word in text.split() if re.search(r"\w", word)])


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each paragraph, list item and table row, with the line where it begins."""
    block: list[str] = []
    began = 0
    for number, line in enumerate([*_blanked(text).splitlines(), ""], 1):
        alone = line.startswith(("|", "#", "    ")) or not line.strip()
        if block and (alone or _ITEM.match(line)):
            yield began, block
            block = []
        if line.startswith("|"):
            yield number, [line]
        elif not alone:
            began = began if block else number
            block.append(line)


def too_long(text: str) -> list[LongText]:
    """Return what is too long in a page."""
    found: list[LongText] = []
    for line, block in _blocks(text):
        words = _LINK.sub(r"\1", " ".join(part.strip() for part in block))
        if words.startswith("|"):
            if not set(words) <= set("|-: ") and _count(words) > ROW_WORDS_MAX:
                found.append(LongText(line, "row", _count(words), words))
            continue
        lines = max(len(block), -(-len(words) // LINE_CHARS))
        if lines > PARAGRAPH_LINES_MAX:
            found.append(LongText(line, "paragraph", lines, words))
        for sentence in _END.split(_ITEM.sub("", words)):
            if _count(sentence) > SENTENCE_WORDS_MAX:
                found.append(LongText(line, "sentence", _count(sentence), sentence))
    return found


def counts() -> dict[str, int]:
    """Return for each page how much in it is too long; pages without any are left out."""
    found = {path.relative_to(ROOT).as_posix(): len(too_long(path.read_text("utf-8"))) for path in pages()}
    return {page: count for page, count in found.items() if count}


def recorded() -> dict[str, int]:
    """Return the count that each page may have; a page without a record may have none."""
    found: dict[str, int] = json.loads(RECORD.read_text("utf-8"))
    return found


def lower() -> None:
    """Lower the record where a page has become better; it never rises."""
    allowed, found = recorded(), counts()
    lowered = {page: min(count, found[page]) for page, count in allowed.items() if page in found}
    RECORD.write_text(json.dumps(lowered, indent=1, sort_keys=True) + "\n", "utf-8")


def main() -> None:
    """Print the counts, or the places in the pages that are named."""
    for name in sys.argv[1:]:
        for place in too_long(Path(name).read_text("utf-8")):
            print(f"{name}:{place}")
    if not sys.argv[1:]:
        for page, count in counts().items():
            print(f"{count:4} {page}")
        print(f"{sum(counts().values()):4} in all")


if __name__ == "__main__":
    main()
