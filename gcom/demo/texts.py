"""The texts of the demo: the lines of files, one sender per file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gcom.errors import BadValue
from gcom.values import limits

PROJECT_FILES_MAX = 14  # each is a process: more of them only wait for each other on two cores
MEMBERS_MIN = 3  # with fewer, an order is hard to get wrong
_BUILT_IN = {
    "winter": ("The lake has closed its eye.", "A fox goes over it,", "and leaves one line", "of small, even words."),
    "spring": ("Who said it first?", "The ice, the gull, the rain:", "each tells the others", "what it has heard."),
    "summer": (
        "Long light; the boats",
        "come home in any order,",
        "but each with its nets",
        "in the order it set them.",
    ),
}
_REPEATS = 500  # of the built-in texts, so that there is something to see


@dataclass(frozen=True, slots=True)
class Text:
    """A member's name and the lines that it sends; a member that only listens has no lines and no source."""

    name: str
    source: str
    lines: tuple[bytes, ...]


def chosen_texts(files: Sequence[Path]) -> list[Text]:
    """Return the texts of `files`, else of the project in the current folder, else built-in ones; three or more.

    Raises BadValue for what cannot be read or sent.
    """
    found = list(files) or _project_files()
    if len(found) > limits.MEMBERS_MAX:
        raise BadValue(f"{len(found)} files are too many: a group has at most {limits.MEMBERS_MAX} members")
    texts: list[Text] = []
    for path in found:
        # By stem, so that README.md and docs/README.md both find a name; the second one gets a number.
        texts.append(Text(_name(path.stem, texts), str(path), _lines_of(path)))
    # Files without a single line: the built-in texts are sent in their place, by members beside these.
    if not any(text.lines for text in texts):
        texts += [
            Text(name, f"the built-in text {name!r}", tuple(line.encode() for line in lines) * _REPEATS)
            for name, lines in _BUILT_IN.items()
        ]
    while len(texts) < MEMBERS_MIN:
        texts.append(Text(_name("listener", texts), "", ()))
    # Cut here, too: files without a line, as many as a group may have, get three texts beside them.
    return texts[: limits.MEMBERS_MAX]


def split_lines(data: bytes) -> tuple[bytes, ...]:
    """Split into lines without their ends; the last one may have none."""
    lines = data.split(b"\n")
    # A newline at the end ends the last line, and begins none.
    return tuple(lines if lines[-1] else lines[:-1])


def _project_files() -> list[Path]:
    found = [path for path in (Path("README.md"), *sorted(Path("docs").glob("*.md"))) if path.is_file()]
    # More files of the project are no error of the user's.
    return found[:PROJECT_FILES_MAX]


def _lines_of(path: Path) -> tuple[bytes, ...]:
    try:
        lines = split_lines(path.read_bytes())
    except OSError as error:
        raise BadValue(f"file {str(path)!r} cannot be read: {error.strerror}") from error
    # Before the demo starts: a line that no message can hold would end it in the middle.
    for number, line in enumerate(lines, 1):
        if len(line) > limits.MESSAGE_BYTES_MAX:
            most = limits.MESSAGE_BYTES_MAX
            raise BadValue(f"file {str(path)!r}: line {number} is {len(line)} bytes: at most {most} are allowed")
    return lines


def _name(stem: str, texts: Sequence[Text]) -> str:
    """Return a member's name after a file's, unlike those that are there."""
    taken = {text.name for text in texts}
    # A file's name may hold what a member's may not.
    base = re.sub(r"[^A-Za-z0-9._-]", "-", stem)[:28].lstrip("._-") or "text"
    return next(name for name in (base, *(f"{base}-{i}" for i in range(2, 100))) if name not in taken)
