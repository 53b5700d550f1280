"""The plots of a performance page, drawn by Matplotlib as SVG: where time goes, and floods."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterable
from typing import Any

from gcom.bench.frame import BenchResult, JsonRow, Setup
from gcom.bench.latency.stages import STAGES

Measured = tuple[Setup, BenchResult]
Findings = dict[str, list[Measured]]  # by section

_STYLE: Any = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "gcom",  # the same figures give the same picture
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_COLORS = ("#4c72b0", "#dd8452", "#55a868", "#c44e52", "#8172b3", "#937860")
_OURS, _OTHER = _COLORS[:2]


def labelled(found: Iterable[Measured]) -> list[JsonRow]:
    """Return the rows of figures, each with the promises of its group."""
    return [{"label": getattr(it, "label", getattr(it, "kind", "")), **result.row} for it, result in found]


def small(findings: Findings) -> list[Measured]:
    """Return the measurements of small messages at a steady rate, whose stages are shown."""
    size = findings["single"][0][1].row["size"]
    return [it for it in findings["single"] if it[1].row["size"] == size]


def plots(findings: Findings) -> dict[str, str]:
    """Return each plot's SVG, by its name."""
    import matplotlib

    # No pyplot, which keeps every figure in a table of its own, and looks for a display.
    from matplotlib.figure import Figure

    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells of its font cache otherwise
    found: dict[str, str] = {}
    draws: Any = {"stages": _draw_stages, "floods": _draw_floods}
    parts: Any = {"stages": small(findings), "floods": findings["floods"]}
    with matplotlib.rc_context(_STYLE):
        for name, draw in draws.items():
            figure = Figure(figsize=(8.0, 3.0), layout="constrained", facecolor="white")
            draw(figure, parts[name])
            found[name] = _svg(figure)
    return found


def _draw_stages(figure: Any, found: list[Measured]) -> None:
    axis = figure.subplots()
    rows = labelled(found)
    kinds = [row["label"] for row in rows]
    lefts = [0.0] * len(kinds)
    for color, stage in zip(_COLORS, STAGES, strict=False):
        lengths = [row["stages_ms"].get(stage, 0.0) for row in rows]
        # Laid end to end: the whole bar is about a message's way.
        axis.barh(kinds, lengths, left=lefts, color=color, label=stage, height=0.6)
        lefts = [left + length for left, length in zip(lefts, lengths, strict=True)]
    axis.invert_yaxis()
    axis.set_xlabel("ms from send to the slowest receiver's application, medians")
    axis.legend(ncols=len(STAGES), loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)


def _draw_floods(figure: Any, found: list[Measured]) -> None:
    axis = figure.subplots()
    rows = labelled(found)
    names = ["{label}, {size} B, {senders} of {members} send".format_map(row) for row in rows]
    places = range(len(rows))
    axis.barh([at - 0.2 for at in places], [it["messages_per_s"] / 1e3 for it in rows], 0.4, color=_OURS, label="GCom")
    rates = [it["baseline_messages_per_s"] / 1e3 for it in rows]
    axis.barh([at + 0.2 for at in places], rates, 0.4, color=_OTHER, label="baseline")
    for at, row in enumerate(rows):
        axis.text(rates[at], at + 0.2, f" {row['baseline']['kind']}", va="center", fontsize=7)
    # The first one on top, as in the page's table.
    axis.set_yticks(list(places), names)
    axis.invert_yaxis()
    axis.set_xlabel("thousand messages per second at the slowest member")
    axis.legend(frameon=False)


def _svg(figure: Any) -> str:
    out = io.StringIO()
    # Without date and program: equal figures give equal files, and a diff of the page is one of its figures.
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return re.sub(r"<metadata>.*?</metadata>\s*", "", text[text.index("<svg") :], flags=re.DOTALL)
