"""The plots of a performance page, drawn by Matplotlib as SVG: where time goes, and floods."""

from __future__ import annotations

import importlib.util
import io
import logging
import re
from typing import Any

from gcom.bench.latency.stages import STAGES
from gcom.bench.latency.turns import LatencyResult
from gcom.bench.performance.plan import Findings
from gcom.bench.throughput.turns import ThroughputResult
from gcom.errors import ExtraMissing

_STYLE: Any = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "gcom",  # the same figures give the same picture
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_COLORS = ("#4c72b0", "#dd8452", "#55a868", "#c44e52", "#8172b3", "#937860")
_OURS, _OTHER = _COLORS[:2]


def require() -> None:
    """Raise ExtraMissing where Matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ExtraMissing("matplotlib is not installed, which draws the plots: pip install 'gcom[bench]'")


def plots(findings: Findings) -> dict[str, str]:
    """Return each plot's SVG, by its name."""
    require()
    import matplotlib

    # No pyplot, which keeps every figure in a table of its own, and looks for a display.
    from matplotlib.figure import Figure

    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells of its font cache otherwise
    found: dict[str, str] = {}
    draws: Any = {"stages": _draw_stages, "floods": _draw_floods}
    parts: Any = {"stages": paced(findings), "floods": findings.floods}
    with matplotlib.rc_context(_STYLE):
        for name, draw in draws.items():
            figure = Figure(figsize=(8.0, 3.0), layout="constrained", facecolor="white")
            draw(figure, parts[name])
            found[name] = _svg(figure)
    return found


def paced(findings: Findings) -> list[LatencyResult]:
    """Return the measurements of small messages at a steady rate, whose stages are shown."""
    return [it for it in findings.single if it.setup.size == findings.single[0].setup.size]


def _draw_stages(figure: Any, results: list[LatencyResult]) -> None:
    axis = figure.subplots()
    kinds = [it.setup.label for it in results]
    lefts = [0.0] * len(kinds)
    for color, stage in zip(_COLORS, STAGES, strict=False):
        lengths = [it.stages_ms.get(stage, 0.0) for it in results]
        # Laid end to end: the whole bar is about a message's way.
        axis.barh(kinds, lengths, left=lefts, color=color, label=stage, height=0.6)
        lefts = [left + length for left, length in zip(lefts, lengths, strict=True)]
    axis.invert_yaxis()
    axis.set_xlabel("ms from send to the slowest receiver's application, medians")
    axis.legend(ncols=len(STAGES), loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)


def _draw_floods(figure: Any, results: tuple[ThroughputResult, ...]) -> None:
    axis = figure.subplots()
    names = [f"{it.setup.kind}, {it.setup.size} B, {it.setup.senders} of {it.setup.members} send" for it in results]
    places = range(len(results))
    axis.barh([at - 0.2 for at in places], [it.ours.rate / 1e3 for it in results], 0.4, color=_OURS, label="GCom")
    there = [(at, it) for at, it in enumerate(results) if it.baseline]
    rates = [it.baseline.rate / 1e3 for _, it in there if it.baseline]
    axis.barh([at + 0.2 for at, _ in there], rates, 0.4, color=_OTHER, label="baseline")
    for (at, it), rate in zip(there, rates, strict=True):
        axis.text(rate, at + 0.2, f" {it.setup.baseline}", va="center", fontsize=7)
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
