"""The frame of all benches: settings, turns, figures with bounds, tables and results.

A bench is a `Setup` (gcom/bench/settings.py), whose fields are the options of its command, and a module with
`measure(setup, tell)`, which yields results. A result has one JSON object for programs, and tables for people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from math import inf
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar, get_type_hints

from gcom.errors import BadValue
from gcom.values import limits
from gcom.values.definition import Definition, Multicast, Ordering

MEBIBYTE = 1024 * 1024

JsonRow = dict[str, Any]  # one JSON object
Tell = Callable[[str], None]  # shows how far a bench is, a line at a time
T = TypeVar("T")
_USUAL = Definition("bench")


class BenchSetting(NamedTuple):
    """The words of --help for a field of a setup, and its bounds or choices. Without `metavar` it is a flag."""

    help: str
    metavar: str | None = None
    least: float = -inf
    most: float = inf
    why: str = ""
    choices: tuple[str, ...] = ()

    def checked(self, name: str, value: Any) -> Any:
        """Return a value, as one of the choices whatever its case; raises BadValue."""
        if self.choices and isinstance(value, str):
            value = next((it for it in self.choices if it.lower() == value.lower()), value)
            if value not in self.choices:
                raise BadValue(f"{name} must be one of {', '.join(self.choices)}; got {value!r}")
        if isinstance(value, int | float) and not self.least <= value <= self.most:
            raise BadValue(f"{name} must be {self.least} to {self.most}{self.why and f', {self.why}'}; got {value}")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The choices of a run. Raises BadValue for a choice that is out of its bounds, or that cannot be measured.

    `command` is the bench's name, and `module` has its `measure`. The docstring is the command's help.
    """

    command: ClassVar[str]
    module: ClassVar[str]
    packages: ClassVar[tuple[tuple[str, ...], ...]] = (("bench", "psutil"),)  # an extra, and what it brings

    def __post_init__(self) -> None:
        for name, setting in self.settings().items():
            object.__setattr__(self, name, setting.checked(name.replace("_", " "), getattr(self, name)))
        # Behind the bounds, so that it may rely on each field by itself.
        self.check()

    @classmethod
    def settings(cls) -> dict[str, BenchSetting]:
        """Return the settings by field; a field without one is no option of the command."""
        hints = get_type_hints(cls, include_extras=True)
        return {
            it.name: hints[it.name].__metadata__[0] for it in fields(cls) if hasattr(hints[it.name], "__metadata__")
        }

    def check(self) -> None:
        """Raise BadValue if this cannot be measured though each field is within its bounds."""

    def needs(self) -> tuple[tuple[str, ...], ...]:
        """Return the extras that the run needs, each with its packages."""
        return self.packages

    def measure(self, tell: Tell = lambda _text: None) -> Iterator[BenchResult]:
        """Measure, and yield each result when it is there. Raises Unavailable or GComTimeout if a process fails."""
        measured: Iterator[BenchResult] = import_module(self.module).measure(self, tell)
        return measured

    def plain(self) -> JsonRow:
        """Return the fields that are values of JSON, from which another process can make the setup again."""
        values = {it.name: getattr(self, it.name) for it in fields(self)}
        return {name: it for name, it in values.items() if it is not None and not isinstance(it, Path)}

    def row(self) -> JsonRow:
        """Return the first fields of the bench's JSON row: its settings."""
        settings = self.settings()
        return {"type": self.command, **{name: it for name, it in self.plain().items() if name in settings}}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSetup(Setup):
    """A group to measure, with `members` processes."""

    ordering: Annotated[str, BenchSetting(f"One of {', '.join(Ordering)}.", "ORDER", choices=tuple(Ordering))] = (
        _USUAL.ordering
    )
    multicast: Annotated[str, BenchSetting(f"One of {', '.join(Multicast)}.", "KIND", choices=tuple(Multicast))] = (
        _USUAL.multicast
    )
    safe: Annotated[bool, BenchSetting("Deliver what a majority of the members holds.")] = False
    members: Annotated[int, BenchSetting("Processes in the group.", "N", 1, limits.MEMBERS_MAX)] = 3
    signed: bool = False

    def check(self) -> None:
        self.define()

    def define(self) -> Definition:
        """Return the group; raises BadValue for promises that do not go together."""
        # Any name does: each run has a registry of its own.
        return Definition.parse("bench", self.ordering, self.multicast, safe=self.safe, signed=self.signed)

    @property
    def definition(self) -> Definition:
        return self.define()

    @property
    def names(self) -> list[str]:
        return [f"m{place}" for place in range(self.members)]

    @property
    def promises(self) -> str:
        group = self.definition
        return f"{group.ordering} {group.multicast}{' SAFE' if group.safe else ''}"

    @property
    def kind(self) -> str:
        """Return the group's promises in words, without RELIABLE, which is usual."""
        return self.promises.replace(" RELIABLE", "")


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure and the bound that it must not exceed, or with `least` not fall below. `digits`: of its JSON row."""

    key: str
    name: str
    value: float | None  # None: it did not happen in time
    bound: float
    least: bool = False
    digits: int = 3

    @property
    def met(self) -> bool:
        if self.value is None:
            return False
        return self.value >= self.bound if self.least else self.value <= self.bound

    def cells(self) -> tuple[str, ...]:
        """Return the figure's row in a table: name, value, bound and judgement."""
        value = "never" if self.value is None else f"{self.value:,.2f}"
        return self.name, value, f"{self.bound:,g}", judgement(self.met)


def judgement(met: bool) -> str:
    """Return the word of all benches for whether a bound is kept."""
    return "ok" if met else "short"


def figure_fields(figures: Iterable[Figure]) -> JsonRow:
    """Return the fields of a JSON row for its figures: their values, their bounds, and whether all are kept."""
    figures = list(figures)
    values = {it.key: None if it.value is None else round(it.value, it.digits) for it in figures}
    return {**values, "to_reach": {it.key: it.bound for it in figures}, "met": all(it.met for it in figures)}


class BenchTable(NamedTuple):
    """A table of texts; its first column and its judgements stand at the left, all others at the right."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        lines = [self.columns, ["---", *["---:"] * (len(self.columns) - 1)], *self.rows]
        return "\n".join(f"| {' | '.join([*line, *[''] * (len(self.columns) - len(line))])} |" for line in lines)


class BenchResult(NamedTuple):
    """One result of a bench; `wrong` is all that was not right, and makes the exit status 1."""

    row: JsonRow
    tables: Sequence[BenchTable] = ()
    wrong: Sequence[str] = ()
    notes: Sequence[str] = ()  # for people, beside the data


def filled(title: str, columns: Mapping[str, str], rows: Iterable[JsonRow]) -> BenchTable:
    """Return a table of JSON rows; `columns` are formats by title, such as "{latency_ms[p50]:.1f}"."""
    return BenchTable(title, [*columns], [[form.format_map(row) for form in columns.values()] for row in rows])


def figures_result(
    setup: Setup,
    title: str,
    figures: Sequence[Figure],
    fields: JsonRow | None = None,
    tables: Sequence[BenchTable] = (),
    beside: Mapping[str, str] | None = None,
    wrong: Sequence[str] = (),
) -> BenchResult:
    """Return a result of figures with bounds; `fields` stand before them in the row, `beside` after them in the table.

    `tables` are for people alone.
    """
    rows = [*(it.cells() for it in figures), *((name, value, "", "") for name, value in (beside or {}).items())]
    table = BenchTable(title, ("", "value", "to reach", "judgement"), rows)
    return BenchResult({**setup.row(), **(fields or {}), **figure_fields(figures)}, [table, *tables], wrong)


def joined(tables: Iterable[BenchTable]) -> list[BenchTable]:
    """Return the tables, those of one title and the same columns as one."""
    found: dict[tuple[str, ...], list[Sequence[str]]] = {}
    for title, columns, rows in tables:
        found.setdefault((title, *columns), []).extend(rows)
    return [BenchTable(title, columns, rows) for (title, *columns), rows in found.items()]


def in_turns(rounds: int, sides: Mapping[str, Callable[[], T]], tell: Tell = lambda _text: None) -> dict[str, list[T]]:
    """Take a turn of each side in each round; return what each side's turns returned.

    A machine that others use too is faster at one time than at another: sides that take turns meet the same times.
    """
    found: dict[str, list[T]] = {side: [] for side in sides}
    for number in range(1, rounds + 1):
        for side, take in sides.items():
            tell(f"turn {number} of {rounds}: {side}")
            found[side].append(take())
    return found


def median_ratio(values: Iterable[float], to: Iterable[float]) -> float:
    """Return the median of the turns' ratios."""
    return median(it / other for it, other in zip(values, to, strict=True))


def rate(count: int, act: Callable[[], object], at_once: int = 1) -> float:
    """Act so many times; return how often that was per second, each act counted for `at_once`."""
    began = perf_counter()
    for _ in range(count):
        act()
    return count * at_once / (perf_counter() - began)


def times_ms(count: int, act: Callable[[], object]) -> list[float]:
    """Act so many times; return how many milliseconds each took, in order of size."""
    found = []
    for _ in range(count):
        began = perf_counter()
        act()
        found.append((perf_counter() - began) * 1000)
    return sorted(found)
