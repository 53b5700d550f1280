"""Plots of events over time, drawn by Matplotlib as SVG whose colours are the page's own, light or dark."""

from __future__ import annotations

import io
import logging
import math
import re
from collections import Counter
from typing import Any

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

from gcom.audit.summary.timeline import Counts, Timeline

# Colours that stand for the page's variables until the picture is text.
_STANDINS = {
    "#010203": "var(--ink)",
    "#010204": "var(--muted)",
    "#010205": "var(--line)",
    "#010206": "var(--accent)",
    "#010207": "var(--fail)",
    "#010208": "var(--unknown)",
    "#010209": "var(--c2)",
    "#01020a": "var(--card)",
}
_INK, _MUTED, _LINE, _ACCENT, _FAIL, _UNKNOWN, _THIRD, _CARD = _STANDINS
_STYLE: Any = {
    # Text stays text: it takes the page's font and can be searched.
    "svg.fonttype": "none",
    # Ids within the picture are the same each time, so equal logs give equal pages.
    "svg.hashsalt": "gcom",
    "font.size": 8,
    "text.color": _INK,
    "axes.edgecolor": _LINE,
    "axes.labelcolor": _MUTED,
    "xtick.color": _MUTED,
    "ytick.color": _MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "path.simplify": True,
}
_VIEWS_MAX = 40
_BENEATH_LABELS = 0.8  # of the height that bars take, so that the views' numbers stand above them
_LETTERS_ACROSS = 170  # of a view's label, side by side over the whole width


def over_time(whole: Timeline, views: list[tuple[int, int]], violations: dict[str, dict[int, int]]) -> str:
    """Return a plot of deliveries, hold-back and violations per bin, with view changes (number, when) marked; ""
    without times.
    """
    if not whole.anchors:
        return ""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells of its font cache otherwise
    bins = whole.by_bin()
    held = {each: counts for each, counts in bins.items() if counts.codes.max(initial=0) > 0}
    with matplotlib.rc_context(_STYLE):
        # What did not happen has no picture: a log without hold-back shows deliveries alone.
        parts = 1 + bool(held) + bool(violations)
        figure = Figure(figsize=(10.4, 0.55 + 1.25 * parts), layout="constrained")
        axes = list(figure.subplots(parts, 1, sharex=True, squeeze=False)[:, 0])
        first, wide = min(whole.anchors), (1 << whole.shift) / 1e6
        _draw_deliveries(axes[0], bins, first, wide)
        if held:
            _draw_held(axes[1], held, first, wide)
        if violations:
            _draw_violations(axes[-1], violations, first, wide)
        marked = [(number, ((when >> whole.shift) - first + 0.5) * wide) for number, when in views]
        last = max(*whole.anchors, *bins, first)
        axes[0].set_xlim(-0.3 * wide, (last - first + 1.3) * wide)
        _mark_views(axes, marked)
        axes[-1].set_xlabel("seconds since the first record")
        return _as_svg(figure)


def _draw_deliveries(axis: Any, bins: dict[int, Counts], first: int, wide: float) -> None:
    axis.bar(
        [(each - first) * wide for each in bins],
        [counts.total for counts in bins.values()],
        width=wide * 0.86,
        align="edge",
        color=_ACCENT,
    )
    _name(axis, "deliveries")
    highest = max((counts.total for counts in bins.values()), default=1)
    axis.set_ylim(0, max(highest, 1) / _BENEATH_LABELS)
    axis.yaxis.set_major_locator(MaxNLocator(3, integer=True))


def _draw_held(axis: Any, held: dict[int, Counts], first: int, wide: float) -> None:
    places = [(each - first + 0.5) * wide for each in held]
    waited = {
        each: Counts(counts.codes[counts.codes > 0], counts.counts[counts.codes > 0]) for each, counts in held.items()
    }
    highest = [_upper(int(counts.codes[-1])) for counts in waited.values()]
    median = [_upper(counts.code_at(0.5)) for counts in waited.values()]
    axis.vlines(places, median, highest, color=_UNKNOWN, linewidth=1.2, alpha=0.55)
    axis.plot(places, highest, ".", color=_UNKNOWN, markersize=5, label="longest")
    axis.plot(places, median, "_", color=_INK, markersize=5, label="median of those held")
    # Logarithmic: hold-back goes from microseconds to the seconds of a view change.
    axis.set_yscale("log", base=10)
    axis.set_ylim(10 ** math.floor(math.log10(min(median))), 10 ** math.ceil(math.log10(max(highest)) + 0.01))
    axis.yaxis.set_major_locator(LogLocator(10, numticks=5))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: _duration(seconds)))
    axis.yaxis.set_minor_formatter(FuncFormatter(lambda _seconds, _: ""))
    _name(axis, "hold-back")
    axis.legend(loc="upper right", frameon=False, ncols=2, fontsize=8, bbox_to_anchor=(1, 1.25))


def _upper(doublings: int) -> float:
    """Return the end of a coarse bucket, in seconds."""
    return float(2**doublings / 1e6)


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds * 1e6:g} µs"


def _draw_violations(axis: Any, violations: dict[str, dict[int, int]], first: int, wide: float) -> None:
    colors = (_FAIL, _UNKNOWN, _THIRD, _MUTED)
    below: Counter[int] = Counter()
    ranked = sorted(violations.items(), key=lambda item: -sum(item[1].values()))
    # Three rules and the rest: more colours could not be told apart.
    shown = [
        *ranked[:3],
        *([("others", sum((Counter(each) for _, each in ranked[3:]), Counter()))] if ranked[3:] else []),
    ]
    for (rule, by_bin), color in zip(shown, colors, strict=False):
        axis.bar(
            [(each - first) * wide for each in by_bin],
            list(by_bin.values()),
            width=wide * 0.86,
            bottom=[below[each] for each in by_bin],
            align="edge",
            color=color,
            label=rule.replace("_", " ").lower(),
        )
        below.update(by_bin)
    axis.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    _name(axis, "violations")
    axis.legend(loc="upper right", frameon=False, ncols=4, fontsize=8, bbox_to_anchor=(1, 1.25))


def _name(axis: Any, text: str) -> None:
    axis.set_title(text, loc="left", fontsize=8.5, color=_INK, fontweight="bold")
    axis.grid(axis="y", color=_LINE, linewidth=0.6)
    axis.set_axisbelow(True)
    axis.tick_params(which="both", length=0)


def _mark_views(axes: list[Any], views: list[tuple[int, float]]) -> None:
    few = views[:_VIEWS_MAX]
    for axis in axes:
        for _, when in few:
            axis.axvline(when, color=_MUTED, linewidth=0.8, linestyle=(0, (2, 2)), zorder=0)
    left, right = axes[0].get_xlim()
    letter = (right - left) / _LETTERS_ACROSS
    beyond = float("-inf")  # where the label before ends
    for number, when in few:
        text = f"view {number}"
        needed = (len(text) + 2) * letter
        # At the right edge the label stands on the other side of its line.
        at_end = when + needed > right
        begin = when - needed if at_end else when
        # It would cover the label before: the line is drawn, and the number left out.
        if begin < beyond:
            continue
        axes[0].annotate(
            text,
            (when, 0.99),
            xytext=(-3 if at_end else 3, 0),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            fontsize=7.5,
            color=_MUTED,
            horizontalalignment="right" if at_end else "left",
            verticalalignment="top",
            bbox={"facecolor": _CARD, "edgecolor": "none", "pad": 0.8},  # the next view's line stops at it
        )
        beyond = begin + needed


def _as_svg(figure: Figure) -> str:
    FigureCanvasSVG(figure)
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    # The picture's size is the page's to choose; its proportions are in viewBox.
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    for color, variable in _STANDINS.items():
        text = text.replace(color, variable)
    return re.sub(r"\n\s*", "\n", text)
