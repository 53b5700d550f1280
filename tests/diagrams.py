"""Pictures of golden traces for docs/concepts/how-it-works.md: python -m tests.diagrams (`make traces`) draws them.

Each lifeline is a member, or the registry's sequencer; time runs down. An arrow is a call, a dashed arrow its reply,
and a dot is an event at one member. Words beside a row are those of the trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from tests.tidy.source import ROOT

PICTURES = ROOT / "docs" / "pictures"
DRAWN = ("crash", "total", "quorum")
SHOWN_COMMANDS = ("send", "kill", "split", "heal", "join", "lose", "leave")
ROW, TOP, LEFT, GAP, WORDS, CHARS = 26, 64, 76, 96, 36, 76
_LINE = re.compile(r"^  (?:t=(\d+))? *(\w+)(?: (-->|->) (\w+))? +(\S.*)$")
COLOURS = {"deliver": "#0b62a4", "install": "#1a7f37", "suspect": "#b35900", "detached": "#b3261e", "quorum": "#1a7f37"}
STYLE = (
    "text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#1f2328}.n{font-weight:bold}.t{fill:#6e7781}"
    ".c{font-style:italic;fill:#57606a}line{stroke:#8c959f}.l{stroke:#d0d7de;stroke-width:2}"
)


@dataclass(frozen=True)
class TraceRow:
    """One row of a picture. A command has no actor; an event has no target."""

    text: str
    actor: str = ""
    target: str = ""
    is_reply: bool = False
    time: str = ""


def rows(trace: str) -> Iterator[TraceRow]:
    """Yield the commands that change something, and what followed from each."""
    for line in trace.splitlines():
        if found := _LINE.match(line):
            time, actor, arrow, target, text = found.groups()
            if actor != "view":
                yield TraceRow(text, actor, target or "", arrow == "-->", time or "")
        elif line.startswith(SHOWN_COMMANDS):
            yield TraceRow(line)


def draw(trace: str) -> str:
    """Return the picture of a trace as SVG."""
    found = list(rows(trace))
    names = re.search(r"^form (.*)$", trace, re.MULTILINE)
    actors = names[1].split() if names else []
    actors += [name for row in found for name in (row.actor, row.target) if name and name not in actors]
    places = {name: LEFT + GAP * place for place, name in enumerate(dict.fromkeys(actors))}
    words = max(places.values()) + WORDS
    width, height = words + 8 * CHARS, TOP + ROW * len(found) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f'<style>{STYLE}</style><defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0,0L8,4L0,8z" fill="#57606a"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    parts.append('<text class="t" x="4" y="32">ms</text>')
    ends = {row.text.split()[1]: y for y, row in _placed(found) if row.text.startswith("kill ")}
    for name, x in places.items():
        parts.append(f'<text class="n" x="{x}" y="32" text-anchor="middle">{name}</text>')
        parts.append(f'<line class="l" x1="{x}" y1="42" x2="{x}" y2="{ends.get(name, height - 8)}"/>')
        if name in ends:
            parts.append(f'<text x="{x}" y="{ends[name] + 5}" text-anchor="middle" style="fill:#b3261e">✗</text>')
    for y, row in _placed(found):
        parts += _drawn(row, y, places, words)
    return "\n".join([*parts, "</svg>", ""])


def _placed(found: list[TraceRow]) -> list[tuple[int, TraceRow]]:
    return [(TOP + ROW * place, row) for place, row in enumerate(found)]


def _drawn(row: TraceRow, y: int, places: dict[str, int], words: int) -> Iterator[str]:
    text = row.text if len(row.text) <= CHARS else f"{row.text[: CHARS - 1]}…"
    if not row.actor:
        yield f'<text class="c" x="{words}" y="{y + 5}">{escape(text)}</text>'
        return
    x = places[row.actor]
    colour = COLOURS.get(row.text.split()[0].rstrip(":"), "#57606a")
    if row.target:
        dashes = ' stroke-dasharray="4 3"' if row.is_reply else ""
        end = places[row.target]
        yield f'<line x1="{x}" y1="{y}" x2="{end}" y2="{y}" style="stroke:#57606a"{dashes} marker-end="url(#a)"/>'
    else:
        yield f'<circle cx="{x}" cy="{y}" r="5" fill="{colour}"/>'
    if row.time:
        yield f'<text class="t" x="4" y="{y + 5}">{row.time}</text>'
    who = row.actor if not row.target else f"{row.actor} → {row.target}"
    yield f'<text x="{words}" y="{y + 5}" style="fill:{colour}">{who}: {escape(text)}</text>'


def pictures() -> dict[str, str]:
    """Return each picture by the name of its file."""
    folder = ROOT / "tests" / "traces"
    return {f"trace-{name}.svg": draw((folder / f"{name}.txt").read_text("utf-8")) for name in DRAWN}


def main() -> None:
    """Write the pictures."""
    for name, text in pictures().items():
        (PICTURES / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
