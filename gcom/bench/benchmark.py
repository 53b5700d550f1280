"""The base of all benchmarks: the group that is measured, bounds, goals, and progress.

A benchmark is a package with a setup, a result whose `row()` is one JSON object of plain values, and `measure(setup,
tell)`. Its setup derives from `BoundedSetup`, or from `BenchSetup` where one group is measured, and adds its own
fields, whose bounds are in their annotations. A figure to reach is a `Goal` where it is measured round by round, else a
`Bounded`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Annotated, NamedTuple, get_type_hints

from gcom.errors import BadValue
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import Address

MEBIBYTE = 1024 * 1024

Tell = Callable[[str], None]  # shows how far a benchmark is, a line at a time


class Between(NamedTuple):
    """Bounds of a field of a setup, as its annotation."""

    least: float
    most: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class BoundedSetup:
    """The choices of a run. Raises BadValue for a choice that is out of its bounds, or that cannot be measured."""

    def __post_init__(self) -> None:
        # The bound stands at the field, as `Annotated`, so one loop serves the setups of all benchmarks.
        for name, hint in get_type_hints(type(self), include_extras=True).items():
            for least, most, why in getattr(hint, "__metadata__", ()):
                if not least <= (value := getattr(self, name)) <= most:
                    raise BadValue(
                        f"{name.replace('_', ' ')} must be {least} to {most}{why and f', {why}'}; got {value}"
                    )
        # Behind the bounds, so that it may rely on each field by itself.
        if refusal := self.refusal():
            raise BadValue(refusal)

    def refusal(self) -> str:
        """Return why this cannot be measured though each field is within its bounds; empty if it can."""
        return ""


@dataclass(frozen=True, slots=True)
class BenchSetup(BoundedSetup):
    """The group to measure, with `members` processes."""

    definition: Definition
    members: Annotated[int, Between(1, limits.MEMBERS_MAX)]

    @property
    def names(self) -> list[str]:
        # By place: a member process finds its part by the number in its name (TurnPlan.place).
        return [f"m{place}" for place in range(self.members)]

    @property
    def kind(self) -> str:
        """Return the group's promises in words, without RELIABLE, which is usual."""
        return self.promises.replace(" RELIABLE", "")

    @property
    def promises(self) -> str:
        group = self.definition
        return f"{group.ordering} {group.multicast}{' SAFE' if group.safe else ''}"

    def words(self, registry: Address) -> tuple[str, ...]:
        """Return the arguments of a member process that name its registry and group, as `parse` reads them."""
        group = self.definition
        # As words of a command line: the member is a process of its own, and may be started by hand to look at it.
        words = registry, group.group, group.ordering, group.multicast, str(group.safe), str(group.signed)
        return *words, str(group.detection)

    def row(self, kind: str) -> dict[str, object]:
        """Return the first fields of a group's JSON row."""
        group = self.definition
        words = {"type": kind, "ordering": str(group.ordering), "multicast": str(group.multicast)}
        return {**words, "safe": group.safe, "members": self.members}


def parse(words: Sequence[str]) -> tuple[Address, Definition, list[str]]:
    """Return the registry and the group that `BenchSetup.words` named, and the arguments after them."""
    registry, group, ordering, multicast, safe, signed, detection, *rest = words
    # As `str` writes a bool; `bool` of a word is true, whatever the word.
    is_safe, is_signed = safe == "True", signed == "True"
    kind = Definition.parse(group, ordering, multicast, safe=is_safe, signed=is_signed, detection=detection)
    return registry, kind, rest


def refused_load(setup: BenchSetup, senders: int, baseline: str | None, baselines: Sequence[str]) -> str:
    """Return why so many cannot send, or nothing of that name be compared with; empty if both can be."""
    if senders > setup.members:
        return f"senders {senders} is not 1 to {setup.members}: all of them are members"
    return refused_baseline(baseline, baselines)


def refused_baseline(baseline: str | None, baselines: Iterable[str]) -> str:
    """Return why nothing of that name can be compared with; empty if it can be, or nothing is compared."""
    known = (None, *baselines)
    return "" if baseline in known else f"baseline must be one of {', '.join(baselines)}; got {baseline!r}"


class Bounded(NamedTuple):
    """A figure and the bound that it must not exceed, or with `least` not fall below. `digits`: of its JSON row."""

    key: str
    name: str
    value: float
    bound: float
    least: bool = False
    digits: int = 3

    @property
    def met(self) -> bool:
        return self.value >= self.bound if self.least else self.value <= self.bound


def figure_fields(figures: Sequence[Bounded]) -> dict[str, object]:
    """Return the fields of a JSON row for its figures: their values, their bounds, and whether all are kept."""
    bounds, met = {it.key: it.bound for it in figures}, all(it.met for it in figures)
    return {**{it.key: round(it.value, it.digits) for it in figures}, "to_reach": bounds, "met": met}


def times_ms(count: int, act: Callable[[], object]) -> list[float]:
    """Act so many times; return how many milliseconds each took, in order of size."""
    found = []
    for _ in range(count):
        began = perf_counter()
        act()
        found.append((perf_counter() - began) * 1000)
    return sorted(found)


def rate(count: int, act: Callable[[], object]) -> float:
    """Act so many times; return how often that was per second."""
    began = perf_counter()
    for _ in range(count):
        act()
    return count / (perf_counter() - began)


@dataclass(frozen=True, slots=True)
class Goal:
    """A measure, and the bound for the worst or the median of its rounds."""

    key: str
    name: str
    unit: str
    most: float
    by: str = "worst"

    def shown(self, value: float | None) -> str:
        return "never" if value is None else f"{value:.3g} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Figure:
    """The values measured for a goal, one per round; None where it did not happen in time."""

    goal: Goal
    values: tuple[float | None, ...]

    @property
    def value(self) -> float | None:
        """Return the value that counts against the goal; None if any round has none."""
        there = [value for value in self.values if value is not None]
        # A round in which it did not happen is worse than any number: the figure has none.
        if not there or len(there) < len(self.values):
            return None
        # The worst, unless the goal says otherwise: a median would hide the one round that took too long.
        return median(there) if self.goal.by == "median" else max(there)

    @property
    def met(self) -> bool:
        return self.value is not None and self.value <= self.goal.most

    def row(self) -> dict[str, object]:
        rounds = [None if value is None else round(value, 3) for value in self.values]
        return {
            "type": "figure",
            "key": self.goal.key,
            "name": self.goal.name,
            "unit": self.goal.unit,
            # Under the name of what counts, `worst` or `median`: the key says how it was reckoned.
            self.goal.by: None if self.value is None else round(self.value, 3),
            "rounds": rounds,
            "to_reach": self.goal.most,
            "met": self.met,
        }
