"""Faults of calls as a value: a text for people and shells, JSON for records that are replayed (docs/TESTING.md)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from gcom.errors import BadValue
from gcom.runtime import pyro
from gcom.values import names

ANYBODY = "*"
TEXT_CHARS_MAX = 64 * 1024
DELAY_MS_MAX = 10_000  # beyond a frame's call, which is given up after 2.5 s
FREEZE_MS_MAX = 600_000  # ten minutes: longer than anything waits for a member
SEED_MAX = 10**18 - 1  # as many digits as a text may have, so each record can be typed again
JSON_VERSION = 1  # of records, which may be replayed by a later GCom
PARETO_SHAPE = 1.5  # finite mean, infinite variance: now and then one is very late

_ALLOWED = (
    "seed=N, drop=P, drop_reply=P, duplicate=P, reorder=P (P: 0 to 1), delay=Ams, A..Bms, exp:Ams or pareto:Ams, the "
    "last five also for a link as in drop[A>B]=P, cut=A>B or cut=A+B<>C+D, freeze=A:Tms"
)
# Digits are counted: `int` of a million of them takes seconds, and all such numbers are refused anyway.
_DELAY = re.compile(r"(?:(exp|pareto):)?([0-9]{1,6})(?:\.\.([0-9]{1,6}))?ms")
_LINKS = re.compile(r"([^<>]+)(<?>)([^<>]+)")
_OF_LINKS = re.compile(r"(\w+)(?:\[(.+)\])?")
_FREEZE = re.compile(r"([^:]+):([0-9]{1,6})ms")
_SHARES = ("drop", "drop_reply", "duplicate", "reorder")
_PREFIXES = {"exponential": "exp:", "pareto": "pareto:"}
_KINDS = {"exp": "exponential", "pareto": "pareto"}

Link = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Delay:
    """A delay of a call, drawn for its request and for its answer; never above 10 s.

    fixed: `ms`. uniform: from `least_ms` to `ms`. exponential, pareto: with the mean `ms` before the bound; pareto
    (shape 1.5) has the heavy tail of a bad network.
    """

    kind: Literal["fixed", "uniform", "exponential", "pareto"] = "fixed"
    ms: int = 0
    least_ms: int = 0

    def __post_init__(self) -> None:
        """Raise BadValue for a delay that cannot be."""
        # By type, since True is an int to isinstance, and a delay of True ms would be one of 1.
        whole = type(self.ms) is int and type(self.least_ms) is int
        if self.kind not in ("fixed", "uniform", *_PREFIXES) or not whole:
            raise BadValue(f"a delay is fixed, uniform, exponential or pareto, in whole ms; got {self.kind!r}")
        if not 0 <= self.least_ms <= self.ms <= DELAY_MS_MAX or (self.least_ms and self.kind != "uniform"):
            raise BadValue(f"a delay is A ms, or A..B ms with A <= B, at most {DELAY_MS_MAX}; got {self}")

    def seconds(self, share: float) -> float:
        """Return the delay at a share of the distribution, from 0 to below 1."""
        match self.kind:
            case "fixed":
                ms = float(self.ms)
            case "uniform":
                ms = self.least_ms + share * (self.ms - self.least_ms)
            case "exponential":
                # Never the logarithm of 0: a share is below 1.
                ms = -self.ms * math.log(1 - share)
            case _:
                # ms * (a - 1) / a is the scale at which a Pareto distribution of shape a has the mean ms.
                ms = self.ms * (1 - 1 / PARETO_SHAPE) * (1 - share) ** (-1 / PARETO_SHAPE)
        return min(ms, DELAY_MS_MAX) / 1000

    def __str__(self) -> str:
        if self.kind == "uniform":
            return f"{self.least_ms}..{self.ms}ms"
        return f"{_PREFIXES.get(self.kind, '')}{self.ms}ms"


@dataclass(frozen=True, slots=True)
class LinkFaults:
    """The faults of calls from one name to another; None: as for all."""

    drop: float | None = None
    drop_reply: float | None = None
    duplicate: float | None = None
    reorder: float | None = None
    delay: Delay | None = None

    def __post_init__(self) -> None:
        """Raise BadValue for a probability or a delay that cannot be."""
        _check(self, optional=True)


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults that calls may have, for `Node.inject`; all chance comes from `seed`.

    `drop`, `drop_reply`, `duplicate`, `reorder`: the probability that a call's request or answer is lost, that its
    request arrives twice, or after a later one. `links`: other settings for calls from the first name of a pair to the
    second; `cuts`: pairs of names, nothing from the first reaches the second. `freeze`: by name, for how many ms from
    now on a node neither calls nor is called. A name is a member's, "registry", or "*" for anybody. Raises BadValue.
    """

    seed: int = 0
    drop: float = 0.0
    drop_reply: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    delay: Delay = Delay()
    cuts: frozenset[tuple[str, str]] = frozenset()
    # Maps have no hash. Faults that differ in these alone share one, and are compared in full.
    links: Mapping[tuple[str, str], LinkFaults] = field(default_factory=dict, hash=False)
    freeze: Mapping[str, int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Raise BadValue for what is not allowed."""
        _check(self, optional=False)
        if type(self.seed) is not int or not 0 <= self.seed <= SEED_MAX:
            raise BadValue(f"faults: the seed is a whole number from 0; got {self.seed!r}")
        for link in (*self.cuts, *self.links):
            if not isinstance(link, tuple) or len(link) != 2:
                raise BadValue(f"faults: a link is a pair of names; got {link!r}")
        if not all(isinstance(it, LinkFaults) for it in self.links.values()):
            raise BadValue("faults: the settings of a link are LinkFaults")
        for name, ms in self.freeze.items():
            if type(ms) is not int or not 0 <= ms <= FREEZE_MS_MAX:
                raise BadValue(f"faults: {name!r} is frozen for 0 to {FREEZE_MS_MAX} ms; got {ms!r}")
        # A cut of a name that nobody can have would cut nothing, and look like a cut; so would one in another form.
        object.__setattr__(self, "cuts", frozenset((_name(a), _name(b)) for a, b in self.cuts))
        object.__setattr__(self, "links", {(_name(a), _name(b)): found for (a, b), found in self.links.items()})
        object.__setattr__(self, "freeze", {_name(name): ms for name, ms in self.freeze.items()})

    @classmethod
    def parse(cls, text: str) -> Faults:
        """Read faults from a text; raises BadValue naming what is allowed."""
        # A file that all processes follow may be anything: it is not read, or parsed, without end.
        if len(text) > TEXT_CHARS_MAX:
            raise BadValue(f"faults of {len(text):,} characters are too long: at most {TEXT_CHARS_MAX:,}")
        found = cls()
        # Blanks and lines part items as commas do: in a file each may stand on a line of its own.
        # A blank only before the next word with its `=`: a name may have one inside.
        items = re.split(r"[,\n]|\s+(?=\w+(?:\[[^\]]*\])?=)", text)
        for item in [item.strip() for item in items if item.strip() not in ("", "none")]:
            key, _, value = item.partition("=")
            found = replace(found, **_read(found, item, key, value))
        return found

    def __str__(self) -> str:
        """Return a text that `parse` reads back, to nine digits; `none`, without the seed, where nothing goes wrong."""
        items = [f"{name}={_text(getattr(self, name))}" for name in _SHARES if getattr(self, name)]
        if self.delay.ms:
            items.append(f"delay={self.delay}")
        # Sorted, so that equal faults have one text: logs and records are compared by it.
        items += [f"cut={source}>{target}" for source, target in sorted(self.cuts)]
        for (source, target), settings in sorted(self.links.items()):
            items += [f"{name}[{source}>{target}]={_text(value)}" for name, value in _given(settings)]
        items += [f"freeze={name}:{ms}ms" for name, ms in sorted(self.freeze.items())]
        return ",".join([f"seed={self.seed}", *items]) if items else "none"

    def to_json(self) -> str:
        """Return these faults as a JSON object, its keys in a fixed order."""
        made = {
            "version": JSON_VERSION,
            "seed": self.seed,
            **{name: getattr(self, name) for name in _SHARES},
            "delay": str(self.delay),
            "cuts": [f"{source}>{target}" for source, target in sorted(self.cuts)],
            "links": {f"{link[0]}>{link[1]}": _as_json(settings) for link, settings in sorted(self.links.items())},
            "freeze": dict(sorted(self.freeze.items())),
        }
        return json.dumps(made)

    @classmethod
    def from_json(cls, text: str) -> Faults:
        """Read what `to_json` returned; what is left out is none. Raises BadValue."""
        if len(text) > TEXT_CHARS_MAX:
            raise BadValue(f"faults of {len(text):,} characters are too long: at most {TEXT_CHARS_MAX:,}")
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadValue(f"faults: no JSON: {error}") from error
        found = _table(found, "faults", {"version", *(it.name for it in fields(cls))})
        version = found.pop("version", JSON_VERSION)
        if version != JSON_VERSION:
            raise BadValue(f"faults: version {version!r} is not known, only {JSON_VERSION}")
        cuts = _list(found.pop("cuts", []))
        links = _table(found.pop("links", {}), "links")
        made: dict[str, Any] = {
            "delay": _delay(found.pop("delay", "0ms")),
            "cuts": frozenset(link for text in cuts for link in _links(str(text), str(text))),
            "links": {link: _from_json(links[text]) for text in links for link in _links(text, text)},
            "freeze": _table(found.pop("freeze", {}), "freeze"),
        }
        return cls(**found, **made)

    def cut(self, source: str, target: str) -> bool:
        """Return whether nothing gets from one name to the other."""
        return bool(self.cuts) and any((a, b) in self.cuts for a in (source, ANYBODY) for b in (target, ANYBODY))

    def of_link(self, source: str, target: str) -> LinkFaults:
        """Return all settings of calls from one name to another; those of the closest link count."""
        found = LinkFaults(self.drop, self.drop_reply, self.duplicate, self.reorder, self.delay)
        # The closest last, so that what it sets stands.
        for link in ((ANYBODY, ANYBODY), (ANYBODY, target), (source, ANYBODY), (source, target)):
            if link in self.links:
                found = replace(found, **dict(_given(self.links[link])))
        return found

    def frozen_ms(self, names_of: Iterable[str]) -> int:
        """Return for how long one of these names neither calls nor is called, from when these faults came in force."""
        return max([self.freeze.get(name, 0) for name in (*names_of, ANYBODY)]) if self.freeze else 0


def refuse_off_loopback(*addresses: str) -> None:
    """Raise BadValue where an address is not on loopback: faults are for tests on one machine."""
    for address in addresses:
        try:
            pyro.loopback(names.split_address(address)[0])
        except BadValue as error:
            place = names.place_of(address)
            raise BadValue(f"faults are for tests on loopback: {place} is in use by other machines") from error


def _read(found: Faults, item: str, key: str, value: str) -> dict[str, Any]:
    """Return the fields that an item of a text changes."""
    match = _OF_LINKS.fullmatch(key)
    name, link = match.groups() if match else (key, None)
    if key == "cut":
        return {"cuts": found.cuts | set(_links(item, value))}
    # 18 digits: a seed of a thousand would be a number that nobody can type again.
    if key == "seed" and value.isascii() and value.isdigit() and len(value) <= 18:
        return {"seed": int(value)}
    if key == "freeze" and (frozen := _FREEZE.fullmatch(value)):
        return {"freeze": {**found.freeze, _name(frozen[1]): int(frozen[2])}}
    if name not in (*_SHARES, "delay"):
        raise _bad(item)
    setting: Any = _delay(value, item) if name == "delay" else _share(item, value)
    if link is None:
        return {name: setting}
    links = dict(found.links)
    for pair in _links(item, link):
        links[pair] = replace(links.get(pair, LinkFaults()), **{name: setting})
    return {"links": links}


def _bad(item: str) -> BadValue:
    return BadValue(f"faults: {item[:200]!r} is not one of {_ALLOWED}, or @FILE in place of all")


def _share(item: str, value: str) -> float:
    # By its form first: `float` alone takes "nan", "inf" and "1e-3", which the text of a fault never has.
    if not re.fullmatch(r"[0-9]{0,3}(\.[0-9]{0,9})?", value) or not value.strip(".") or float(value) > 1:
        raise _bad(item)
    return float(value)


def _delay(value: object, item: str = "") -> Delay:
    match = _DELAY.fullmatch(value) if isinstance(value, str) else None
    # A mean and a range at once would be two distributions.
    if not match or (match[1] and match[3]):
        raise _bad(item or f"delay={value}")
    if match[1]:
        return Delay(_KINDS[match[1]], int(match[2]))  # type: ignore[arg-type]
    return Delay("uniform", int(match[3]), int(match[2])) if match[3] else Delay("fixed", int(match[2]))


def _links(item: str, value: str) -> Iterator[Link]:
    match = _LINKS.fullmatch(value)
    if not match:
        raise _bad(item)
    sources, targets = ([_name(name) for name in match[side].split("+")] for side in (1, 3))
    for source in sources:
        for target in targets:
            yield source, target
            if match[2] == "<>":
                yield target, source


def _name(text: str) -> str:
    return text if text == ANYBODY else names.member_name(text.strip())


def _check(settings: Faults | LinkFaults, optional: bool) -> None:
    for name in _SHARES:
        value = getattr(settings, name)
        if value is None and optional:
            continue
        # True is an int, and would be a probability of 1.
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise BadValue(f"faults: {name} is a probability, 0 to 1; got {value!r}")
    if not isinstance(settings.delay, Delay) and not (optional and settings.delay is None):
        raise BadValue(f"faults: delay is a Delay; got {settings.delay!r}")


def _given(settings: LinkFaults) -> Iterator[tuple[str, Any]]:
    """Yield the settings that differ from those for all."""
    for name in (*_SHARES, "delay"):
        if (value := getattr(settings, name)) is not None:
            yield name, value


def _text(value: float | Delay) -> str:
    # Nine digits, as many as are read; never an exponent, which is not read.
    return str(value) if isinstance(value, Delay) else f"{value:.9f}".rstrip("0").rstrip(".")


def _as_json(settings: LinkFaults) -> dict[str, float | str]:
    return {name: str(value) if isinstance(value, Delay) else value for name, value in _given(settings)}


def _from_json(found: object) -> LinkFaults:
    settings = _table(found, "a link", {*_SHARES, "delay"})
    delay = settings.pop("delay", None)
    return LinkFaults(**settings, delay=None if delay is None else _delay(delay))


def _table(found: object, of: str, allowed: set[str] | None = None) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise BadValue(f"faults: {of} must be a JSON object; got {type(found).__name__}")
    # A word that is misspelt would leave the network whole, and a test would pass for that.
    strangers = sorted(set(found) - allowed) if allowed is not None else []
    if strangers:
        raise BadValue(f"faults: {of} has no {strangers[0][:200]!r}, only {', '.join(sorted(allowed or ()))}")
    return dict(found)


def _list(found: object) -> list[Any]:
    if not isinstance(found, list):
        raise BadValue(f"faults: cuts must be a list; got {type(found).__name__}")
    return found
