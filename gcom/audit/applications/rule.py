"""The type of a rule about what stands on groups, and the case that it judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gcom.audit.input.applications import Record
from gcom.audit.rules.rule import Example
from gcom.audit.summary.applications import ApplicationKey
from gcom.audit.summary.tally import Tally

T = TypeVar("T")


@dataclass(slots=True)
class ApplicationCase:
    """A thing that is judged: the records of each process about it, in its log's order."""

    key: ApplicationKey
    logs: dict[str, list[Record]]
    coverage: dict[str, str]
    promised: bool = True  # of rules that sessions may ask for: judge those that did, or the others
    _made: dict[Any, Any] = field(default_factory=dict)

    def made(self, kind: Callable[[ApplicationCase], T]) -> T:
        """Return what a class makes of the case, which several rules read: it is made once."""
        if kind not in self._made:
            self._made[kind] = kind(self)
        found: T = self._made[kind]
        return found

    def records(self, *kinds: str) -> Iterator[tuple[str, Record]]:
        """Yield the records of these types with their processes."""
        for process, records in self.logs.items():
            yield from ((process, record) for record in records if record["type"] in kinds)


@dataclass(frozen=True, slots=True)
class ApplicationRule:
    """A rule: what it is about, its sentence in the report, its judging, and the telling of its violations.

    `chosen`: not everybody is promised it; those who are not are judged apart, and decide nothing.
    """

    name: str
    about: str
    means: str
    sentence: Callable[[Example], str]
    judge: Callable[[ApplicationCase, Tally], None]
    chosen: bool = False


def place(process: str, record: Record, **more: Any) -> Example:
    """Return the place of a record in its log, as an example has it."""
    return {"process": process, "at": record["at"], "file": record["file"], "line": record["line"], **more}
