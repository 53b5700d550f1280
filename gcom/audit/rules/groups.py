"""The summaries of one (group, instance) put together: their processes, their gaps, and the classes that went on
together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gcom.audit.summary.fingerprints import BUCKET
from gcom.audit.summary.intervals import add_numbers
from gcom.audit.summary.lineage import INTO
from gcom.audit.summary.position import Key
from gcom.audit.summary.process import ProcessSummary, SectionSummary, add_prints
from gcom.audit.summary.tally import EXAMPLES, Tally

ProcessSection = tuple[str, SectionSummary]  # a process, in one of its sections


@dataclass(frozen=True, slots=True)
class BoundClass:
    """A class of a view, and all sections whose deliveries bind it; `safe` if these are not its members' alone."""

    view: int
    members: list[ProcessSection]
    heard: list[ProcessSection]
    safe: bool


@dataclass(slots=True)
class InstanceLogs:
    """The summaries of one (group, instance), one per process, with the coverage of each process.

    `gaps` has, per process, the position of each gap and whether a state follows it; position 0 stands for a member
    without any readable log.
    """

    key: Key
    summaries: dict[str, ProcessSummary]
    coverage: dict[str, str]
    gaps: dict[str, list[tuple[int, bool]]]

    @classmethod
    def of(cls, key: Key, summaries: list[ProcessSummary], coverage: dict[str, str]) -> InstanceLogs:
        """Put summaries together. `coverage` is of all processes whose logs are there; a member without a log, or with
        a gap and no record of the group, counts as a gap.
        """
        merged: dict[str, ProcessSummary] = {}
        for summary in summaries:
            # Chains of one process come in its log's order, so what one leaves open the next one goes on with.
            merged[summary.process] = join(merged[summary.process], summary) if summary.process in merged else summary
        for summary in merged.values():
            for section in summary.sections:
                if section.next == "open":
                    closed = coverage[summary.process] == "closed"
                    # A section that is open where the log ends: "END" if the log says that it is complete, so that
                    # all such are one class; else nobody knows what became of the process.
                    section.next = "END" if closed else "none" if section.covered else "unknown"
        gaps = {who: summary.gaps for who, summary in merged.items()}
        members = {who for summary in merged.values() for view in summary.views for who in view["members"]}
        for who in members - set(merged):
            # A member without any readable log may have sent and delivered anything: as a gap at its first position.
            if coverage.get(who, "lost") == "lost":
                gaps[who] = [(0, False)]
        return cls(key, merged, coverage, gaps)

    def closed(self, process: str) -> bool:
        """Tell whether the process's log is complete, so that an event not in it did not happen."""
        return self.coverage.get(process) == "closed"

    def sections(self) -> list[tuple[str, SectionSummary]]:
        """Return all sections with their processes' names, each process's in its log's order."""
        return [(who, each) for who, summary in sorted(self.summaries.items()) for each in summary.sections]

    def classes(self) -> dict[tuple[int, int | str], list[tuple[str, SectionSummary]]]:
        """Return the processes that went together from view to view (DELIVERY_LOG.md, Rules)."""
        found: dict[tuple[int, int | str], list[tuple[str, SectionSummary]]] = defaultdict(list)
        for who, section in self.sections():
            if section.next not in ("none", "unknown"):
                # DELIVERY_LOG.md, Class: equal (W, next). Who crashed is in none: nothing shows that
                # it outlived the view.
                found[section.view, section.next].append((who, section))
        return dict(sorted(found.items(), key=lambda each: str(each[0])))

    def bound(self) -> Iterator[BoundClass]:
        """Yield each class with the sections whose deliveries bind it.

        A process that ends its log without leaving says that all has what was sent. In a SAFE group all who go on owe
        also what a member delivered that crashed in the view. Not those who go over into a successor: where a quorum is
        dead, messages that only it held are gone, and CONTINUITY judges the rest.
        """
        safe = any(view.get("safe") for summary in self.summaries.values() for view in summary.views)
        everyone: dict[int, list[ProcessSection]] = defaultdict(list)
        for who, section in self.sections():
            everyone[section.view].append((who, section))
        for (view, _), members in self.classes().items():
            if _goes_over(members[0]):
                yield BoundClass(view, members, members, safe=False)
            elif safe:
                yield BoundClass(view, members, [each for each in everyone[view] if not _goes_over(each)], safe=True)
            else:
                goes_on = members[0][1].next != "END"
                ended = [each for each in everyone[view] if each[1].next == "END"] if goes_on else []
                yield BoundClass(view, members, members + ended, safe=False)

    def ends_nowhere(self) -> bool:
        """Tell whether no log shows that a process went on from a view, or ended in it: then no class has a member."""
        return not self.classes() and not any(self.closed(who) for who in self.summaries)

    def members(self) -> dict[int, list[str]]:
        """Return the members of each view, from the first log that tells."""
        found: dict[int, list[str]] = {}
        for _, summary in sorted(self.summaries.items()):
            for view in summary.views:
                found.setdefault(view["view"], view["members"])
        return found

    def definitions(self) -> list[dict[str, Any]]:
        """Return the group's definition, as a `view` record has it; several where the logs do not agree on it."""
        found: dict[tuple[object, ...], dict[str, Any]] = {}
        for summary in self.summaries.values():
            for view in summary.views:
                kind = view["ordering"], view["multicast"], view.get("safe", False), view.get("netsplit", "PRIMARY")
                carried = tuple(view["carries"]) if "carries" in view else None
                found.setdefault((*kind, carried), view)
        return list(found.values())


def _goes_over(member: ProcessSection) -> bool:
    """Tell whether a process leaves the view into a successor, and so binds nobody who went on in the instance.

    1. C is put out of view 3, and the others, in view 4, all die. 2. C goes on alone, in a successor, and delivers its
    own last message as that begins. 3. No member of view 4 had this message, and none has broken a promise by that.
    """
    return str(member[1].next).startswith(INTO)


def join(one: ProcessSummary, other: ProcessSummary) -> ProcessSummary:
    """Add `other` to `one`, in place, and return it: summaries of consecutive parts of one process's log."""
    for rule, tally in other.tallies.items():
        one.tally(rule).add(tally)
    sections = other.sections
    # A part that begins without installing a view continues the section that the part before left open.
    if sections and not sections[0].installed and one.sections and one.sections[-1].next == "open":
        _join_sections(one.sections[-1], sections[0])
        sections = sections[1:]
    one.sections += sections
    one.views += other.views
    one.elects += other.elects
    one.gaps += other.gaps
    one.adopts += other.adopts
    one.sent = one.sent.union(other.sent)
    one.sent_with_digest = one.sent_with_digest.union(other.sent_with_digest)
    add_numbers(one.sent_in, other.sent_in)
    add_numbers(one.delivered_in, other.delivered_in)
    add_numbers(one.delivered, other.delivered)
    add_numbers(one.skipped, other.skipped)
    add_numbers(one.given_up, other.given_up)
    add_numbers(one.delivered_with_digest, other.delivered_with_digest)
    add_numbers(one.confirmed, other.confirmed)
    add_prints(one.serials, other.serials)
    add_prints(one.sent_digests, other.sent_digests)
    add_prints(one.delivered_digests, other.delivered_digests)
    one.highest_sent = max(one.highest_sent, other.highest_sent)
    for who, number in other.highest.items():
        one.highest[who] = max(number, one.highest.get(who, 0))
    one.deliveries += other.deliveries
    one.deliveries_without_serial += other.deliveries_without_serial
    one.late_serials |= other.late_serials
    # Serials that fall from the first part to the second, as in a log that two processes claim: neither part's scan
    # could see it.
    if other.first_serial and other.first_serial <= one.last_serial:
        one.late_serials |= {bucket for bucket in other.serials if bucket <= one.last_serial // BUCKET}
    one.first_serial = one.first_serial or other.first_serial
    one.last_serial = max(one.last_serial, other.last_serial)
    # The earlier part's stays: it has the first send that depends on the other process.
    for who, number in other.depends_from.items():
        one.depends_from.setdefault(who, number)
    for view, tally in other.undecided_clocks.items():
        one.undecided_clocks.setdefault(view, Tally()).add(tally)
    one.timeline.add(other.timeline)
    # The first end counts, as in note_end(): a process enters an instance once.
    if not one.end:
        one.end, one.settled_at_end = other.end, other.settled_at_end
    return one


def _join_sections(one: SectionSummary, other: SectionSummary) -> None:
    one.covered &= other.covered
    add_numbers(one.delivered, other.delivered)
    one.sends = one.sends.union(other.sends)
    one.settled, one.next = other.settled, other.next
    one.placed, one.no_ops = one.placed.union(other.placed), one.no_ops.union(other.no_ops)
    one.no_op_places += other.no_op_places[: EXAMPLES - len(one.no_op_places)]
    add_prints(one.order, other.order)
