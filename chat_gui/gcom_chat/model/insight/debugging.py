"""Debug mode: faults put into links on purpose, changed link by link, recorded, and replayed from JSON.

The faults themselves are the library's (`gcom.Faults`); here is how a person changes them: by links that are chosen in
a matrix, or by commands (`/delay bob 200ms`, `/drop 10%`, `/partition alice bob | carol`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import gcom
from gcom_chat.model.input.commands import BadCommand, named
from gcom_chat.model.text import normal
from gcom_chat.model.texts.isolates import apart
from gcom_chat.model.texts.words import translate

ANYBODY = "*"
REGISTRY = "registry"
RECORDING_VERSION = 1
STEPS_MAX = 10_000  # an hour of dragged sliders
_SHARE = re.compile(r"(\d{1,3})%?")

Link = tuple[str, str]


def with_link(faults: gcom.Faults, links: Iterable[Link], settings: gcom.LinkFaults) -> gcom.Faults:
    """Return the faults with other settings for some links; settings that say nothing take the link's own away."""
    made = dict(faults.links)
    for link in links:
        made[link] = settings
        # An entry that says nothing would still hide the faults that are for all links.
        if settings == gcom.LinkFaults():
            del made[link]
    return replace(faults, links=made)


def for_all(faults: gcom.Faults, settings: gcom.LinkFaults) -> gcom.Faults:
    """Return the faults with other settings for all links that have none of their own."""
    return replace(
        faults,
        drop=settings.drop or 0.0,
        duplicate=settings.duplicate or 0.0,
        reorder=settings.reorder or 0.0,
        delay=settings.delay or gcom.Delay(),
    )


def with_cuts(faults: gcom.Faults, links: Iterable[Link], cut: bool) -> gcom.Faults:
    """Return the faults with some links cut, or healed."""
    chosen = frozenset(links)
    return replace(faults, cuts=faults.cuts | chosen if cut else faults.cuts - chosen)


def partitioned(faults: gcom.Faults, sides: Sequence[Sequence[str]]) -> gcom.Faults:
    """Return the faults with every link between two sides cut, and no other."""
    cuts = {(a, b) for mine in sides for other in sides if other is not mine for a in mine for b in other}
    return replace(faults, cuts=frozenset(cuts))


def link_text(faults: gcom.Faults, source: str, target: str) -> str:
    """Return the faults of a link for a cell of the matrix, one a line; empty: none."""
    if faults.cut(source, target):
        return translate("faults", "✂ cut")
    found = faults.of_link(source, target)
    words = [str(found.delay)] if found.delay is not None and found.delay.ms else []
    signs = (("−", found.drop), ("×2", found.duplicate), ("⇄", found.reorder))
    words += [f"{sign} {share:.0%}" for sign, share in signs if share]
    return "\n".join(words)


def obey(faults: gcom.Faults, name: str, rest: str, members: Sequence[str]) -> gcom.Faults:
    """Return the faults after a command; raises BadCommand."""
    try:
        match name:
            case "delay":
                who, _, delay = rest.rpartition(" ")
                wanted = gcom.Faults.parse(f"delay={delay}").delay
                who = normal(who)
                if not who:
                    return replace(faults, delay=wanted)
                # Both ways: whoever says "bob is far away" means his answers as well.
                links = _links_of(who, members)
                return with_link(faults, links, replace(faults.links.get(links[0], gcom.LinkFaults()), delay=wanted))
            case "drop":
                return replace(faults, drop=_share(rest))
            case "reorder":
                return replace(faults, reorder=_share(rest))
            case _:
                sides = [list(_names_in(side, members)) for side in rest.split("|")] if rest else []
                for each in (each for side in sides for each in side):
                    _known(each, members)
                return partitioned(faults, sides)
    except gcom.BadValue as error:
        raise BadCommand(str(error)) from error


def _share(text: str) -> float:
    found = _SHARE.fullmatch(text.strip())
    if not found or int(found[1]) > 100:
        wrong = translate("faults", "a share is 0% to 100%, as in /drop 10%; got {!r}")
        raise BadCommand(wrong.format(text[:20]))
    return int(found[1]) / 100


def _names_in(side: str, members: Sequence[str]) -> Iterator[str]:
    rest = side.replace(",", " ").strip()
    while rest:
        name, rest = named(rest, members)
        yield name


def _links_of(who: str, members: Sequence[str]) -> list[Link]:
    """Return the links between a member and all others, both ways."""
    _known(who, members)
    return [(ANYBODY, who), (who, ANYBODY)]


def _known(who: str, members: Sequence[str]) -> None:
    if who not in (*members, REGISTRY):
        wrong = translate("faults", "{!r} is no member: there are {}, and {}")
        raise BadCommand(wrong.format(who[:20], ", ".join(map(apart, members)), REGISTRY))


@dataclass(slots=True)
class FaultRecording:
    """Faults in the order in which they came into force, by ms since the recording began."""

    steps: list[tuple[int, gcom.Faults]] = field(default_factory=list)

    def add(self, at_ms: int, faults: gcom.Faults) -> None:
        """Add a step, unless it changes nothing; after STEPS_MAX of them nothing more is recorded."""
        # A slider that is dragged says the same thing many times.
        if len(self.steps) < STEPS_MAX and (not self.steps or self.steps[-1][1] != faults):
            self.steps.append((at_ms, faults))

    def to_json(self) -> str:
        """Return the recording as JSON."""
        steps = [{"at_ms": at_ms, "faults": json.loads(faults.to_json())} for at_ms, faults in self.steps]
        return json.dumps({"gcom-faults-recording": RECORDING_VERSION, "steps": steps}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> FaultRecording:
        """Read what `to_json` returned; raises BadValue saying what is wrong."""
        try:
            found = json.loads(text)
            if found["gcom-faults-recording"] != RECORDING_VERSION:
                raise gcom.BadValue(
                    translate("faults", "a recording of version {} is needed").format(RECORDING_VERSION)
                )
            steps = [(int(each["at_ms"]), gcom.Faults.from_json(json.dumps(each["faults"]))) for each in found["steps"]]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            if isinstance(error, gcom.BadValue):
                raise
            wrong = translate("faults", "no recording of faults: {}: {}")
            raise gcom.BadValue(wrong.format(type(error).__name__, error)) from error
        if any(later < earlier for (earlier, _), (later, _) in pairwise(steps)):
            raise gcom.BadValue(translate("faults", "no recording of faults: its steps go back in time"))
        return cls(steps[:STEPS_MAX])

    def due(self, from_ms: int, to_ms: int) -> gcom.Faults | None:
        """Return the faults that come into force in a span of time, the last of them; None: no change."""
        found = [faults for at_ms, faults in self.steps if from_ms <= at_ms < to_ms]
        return found[-1] if found else None

    @property
    def length_ms(self) -> int:
        """The time at which the last step is due."""
        return self.steps[-1][0] if self.steps else 0
