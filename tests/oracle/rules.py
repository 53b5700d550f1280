"""The Rules table, one small function a rule; each takes a group's histories and counts cases one by one.

Nothing here is clever on purpose: dictionaries, lists, and loops over loops. What a state across a gap tells is
certain, yet each gap is an unknown case of every rule that reads the sequence it is in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Literal

from tests.oracle.events import Deliver, Elect, End, Gap, History, Message, Opened, Process, Send, Skip, View
from tests.oracle.replay import Next, Section, sections, walk

Verdict = Literal["PASS", "FAIL", "UNKNOWN", "VACUOUS"]


@dataclass(slots=True)
class Tally:
    """A rule's cases: how many were judged, what was wrong, and what could not be judged."""

    evaluated: int = 0
    violations: list[str] = field(default_factory=list)
    unknowns: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        if self.violations:
            return "FAIL"
        if self.unknowns:
            return "UNKNOWN"
        return "PASS" if self.evaluated else "VACUOUS"

    def wrong_or_unknown(self, certain: bool, sentence: str) -> None:
        (self.violations if certain else self.unknowns).append(sentence)

    def add_gaps(self, histories: list[History], *, told: bool = True) -> None:
        """One unknown case a gap; with `told` false, only a gap without state."""
        for history in histories:
            gaps = [event for event in history.events if isinstance(event, Gap) and (told or not event.state)]
            self.unknowns += [f"{history.process} has a gap at position {gap.at}" for gap in gaps]


Rule = Callable[[list[History]], Tally]


def no_creation(histories: list[History]) -> Tally:
    tally = Tally()
    tally.add_gaps(histories)
    highest = {history.process: _highest_sent(history) for history in histories}
    closed = _closed(histories)
    for history in histories:
        who = history.process
        for place, event in walk(history):
            if isinstance(event, Send) and place.number is not None and event.number != place.number + 1:
                tally.violations.append(f"{who} sent {event.number} after {place.number}")
            elif isinstance(event, Deliver):
                tally.evaluated += 1
                known = highest.get(event.sender, 0)
                if event.sender == who and place.number is not None and event.number > place.number:
                    tally.violations.append(f"{who} delivered its own {event.number} before it sent that")
                elif event.number > known:
                    said = f"{who} delivered {event.message}; known to be sent are {known}"
                    tally.wrong_or_unknown(event.sender in closed, said)
    return tally


def _highest_sent(history: History) -> int:
    """A state is trusted only across a gap."""
    numbers = [0]
    for place, event in walk(history):
        if isinstance(event, Send):
            numbers.append(event.number)
        elif isinstance(event, Opened) and event.state is not None and not place.certain:
            numbers.append(event.state.number)
    return max(numbers)


def _closed(histories: list[History]) -> set[Process]:
    return {history.process for history in histories if history.closed}


def no_duplication(histories: list[History]) -> Tally:
    tally = Tally()
    tally.add_gaps(histories)
    for history in histories:
        for place, event in walk(history):
            if isinstance(event, Deliver):
                tally.evaluated += 1
                if event.message in place.settled:
                    tally.violations.append(
                        f"{history.process} delivered {event.message}, settled before, at {event.at}"
                    )
    return tally


def integrity(histories: list[History]) -> Tally:
    tally = Tally()
    sends = _sends(histories)
    closed = _closed(histories)
    for history in histories:
        for event in history.events:
            if not isinstance(event, Deliver) or event.digest is None:
                continue
            send = sends.get(event.message)
            if send is None and event.sender not in closed:
                tally.unknowns.append(f"the send of {event.message} is outside coverage")
            elif send is not None and send.digest is not None:
                tally.evaluated += 1
                if send.digest != event.digest:
                    tally.violations.append(
                        f"{history.process} delivered {event.message} with another payload than was sent"
                    )
    return tally


def _sends(histories: list[History]) -> dict[Message, Send]:
    sends: dict[Message, Send] = {}
    for history in histories:
        for event in history.events:
            if isinstance(event, Send):
                sends.setdefault((history.process, event.number), event)
    return sends


def self_delivery(histories: list[History]) -> Tally:
    tally = Tally()
    tally.add_gaps(histories)
    for section in _sections(histories):
        if section.next in ("none", "unknown") or not section.covered:
            continue
        for message in dict.fromkeys(section.sends):  # a number sent twice is NO_CREATION's
            tally.evaluated += 1
            if message not in section.settled:
                tally.violations.append(
                    f"{section.process} sent {message} in view {section.view} and did not settle it"
                )
    return tally


def agreement(histories: list[History]) -> Tally:
    tally = Tally()
    tally.add_gaps(histories)
    given_up = {history.process: _given_up(history) for history in histories}
    for members, heard, uniform in _bound(histories):
        if len(heard) < 2:
            continue
        tally.evaluated += 1
        demanded = list(dict.fromkeys(message for section in heard for message in section.delivered))
        for section in members:
            for message in demanded if section.covered else []:
                if message not in section.settled or (uniform and message in given_up[section.process]):
                    tally.violations.append(f"{section.process} lacks {message} of view {section.view}; others had it")
    return tally


def _given_up(history: History) -> set[Message | None]:
    return {event.message for event in history.events if isinstance(event, Skip)}


def _bound(histories: list[History]) -> list[tuple[list[Section], list[Section], bool]]:
    """Each class, who binds it by what they delivered, and whether these are all that were in the view.

    What a successor begins with may be known to nobody of a later view that died (Rules, AGREEMENT).
    """
    safe = any(event.safe for history in histories for event in history.events if isinstance(event, View))
    everyone = [section for section in _sections(histories) if not isinstance(section.next, tuple)]
    found = []
    for (view, following), members in _classes(histories).items():
        uniform = safe and not isinstance(following, tuple)
        of_view = [each for each in everyone if each.view == view]
        # DELIVERY_LOG.md, `close`: who exits without leaving says that all have what was sent.
        exited = [each for each in of_view if each.next == "END" and each not in members]
        heard = members if isinstance(following, tuple) else of_view if uniform else members + exited
        found.append((members, heard, uniform))
    return found


def _sections(histories: list[History]) -> list[Section]:
    return [section for history in histories for section in sections(history)]


def _classes(histories: list[History]) -> dict[tuple[int, Next], list[Section]]:
    classes: dict[tuple[int, Next], list[Section]] = defaultdict(list)
    for section in _sections(histories):
        if section.next not in ("none", "unknown"):
            classes[section.view, section.next].append(section)
    return classes


def _classes_of_two(histories: list[History]) -> list[list[Section]]:
    return [members for members in _classes(histories).values() if len(members) > 1]


def fifo(histories: list[History]) -> Tally:
    tally = Tally()
    tally.add_gaps(histories)
    for history in histories:
        first_since_gap: dict[Process, int] | None = None  # None: no gap yet
        for place, event in walk(history):
            if isinstance(event, Gap):
                first_since_gap = {}
            if not isinstance(event, Deliver):
                continue
            tally.evaluated += 1
            before = (event.sender, event.number - 1)
            in_order = event.number == 1 or before in place.settled
            since_gap = first_since_gap is not None and event.number <= first_since_gap.setdefault(
                event.sender, event.number
            )
            if not in_order:
                said = f"{history.process} delivered {event.message} before {before}"
                tally.wrong_or_unknown(not since_gap, said)
    return tally


def causal(histories: list[History]) -> Tally:
    tally = Tally()
    tally.add_gaps(histories)
    known, closed, members = _heard_before_send(histories), _closed(histories), _members(histories)
    for history in histories:
        for place, event in walk(history):
            if not isinstance(event, Deliver) or place.view is None:
                continue
            heard = known.get(event.message)
            if heard is None:
                if event.sender not in closed:
                    tally.unknowns.append(f"what {event.sender} knew when it sent {event.message} is outside coverage")
                continue
            for other in members.get(place.view, ()) if place.members is None else place.members:
                needed = (other, heard.get(other, 0))
                if other == event.sender or needed[1] == 0:
                    continue
                tally.evaluated += 1
                if needed not in place.settled:
                    said = f"{history.process} delivered {event.message}, which depends on {needed}, before that"
                    tally.wrong_or_unknown(place.certain, said)
    return tally


def _members(histories: list[History]) -> dict[int, tuple[Process, ...]]:
    """Of each view, for those whose own record of it a gap hides."""
    members: dict[int, tuple[Process, ...]] = {}
    for history in histories:
        for event in history.events:
            if isinstance(event, View):
                members.setdefault(event.view, event.members)
    return members


def _heard_before_send(histories: list[History]) -> dict[Message, dict[Process, int] | None]:
    """Each message's dependencies, rebuilt from its sender's deliveries; None if a gap hides them."""
    heard: dict[Message, dict[Process, int] | None] = {}
    for history in histories:
        for place, event in walk(history):
            if isinstance(event, Send):
                heard.setdefault((history.process, event.number), dict(place.heard) if place.certain else None)
    return heard


def clock(histories: list[History]) -> Tally:
    tally = Tally()
    tally.add_gaps(histories, told=False)
    members = _members(histories)
    for history in histories:
        for place, event in walk(history):
            if not isinstance(event, Send) or place.view is None or not place.certain:
                continue
            tally.evaluated += 1
            logged = {**place.told, **event.clock}
            inside = members.get(place.view) if place.members is None else place.members
            for other in {*logged, *place.heard} if inside is None else inside:
                said, true = logged.get(other, 0), place.heard.get(other, 0)
                if other != history.process and said != true:
                    sentence = f"{history.process} sent {event.number} with {said} for {other}, having delivered {true}"
                    tally.wrong_or_unknown(inside is not None, sentence)
    return tally


def total(histories: list[History]) -> Tally:
    tally = Tally()
    tally.add_gaps(histories)
    orders = [_delivered_once(history) for history in histories]
    tally.evaluated = sum(len(set(one) & set(other)) > 1 for one, other in combinations(orders, 2))
    cycle = _cycle(orders)
    if cycle:
        tally.violations.append("the orders of delivery contradict each other: " + " before ".join(map(str, cycle)))
    return tally


def _delivered_once(history: History) -> list[Message]:
    return list(dict.fromkeys(event.message for event in history.events if isinstance(event, Deliver)))


def _cycle(orders: list[list[Message]]) -> list[Message]:
    """Take away what nothing comes before, again and again; what is left holds a cycle."""
    before: dict[Message, set[Message]] = {message: set() for order in orders for message in order}
    after: dict[Message, set[Message]] = {message: set() for message in before}
    for order in orders:
        for one, other in pairwise(order):
            before[other].add(one)
            after[one].add(other)
    free = [message for message, earlier in before.items() if not earlier]
    while free:
        done = free.pop()
        del before[done]
        for other in after[done]:
            before[other].remove(done)
            if not before[other]:
                free.append(other)
    return _way_back(before)


def _way_back(before: dict[Message, set[Message]]) -> list[Message]:
    """Where each has something before it, going back meets itself; returned in order of delivery."""
    path: list[Message] = []
    step = min(before, default=None)
    while step is not None and step not in path:
        path.append(step)
        step = min(before[step])
    return [*path[path.index(step) :], step][::-1] if step is not None else []


def total_gap_free(histories: list[History]) -> Tally:
    tally = Tally()
    tally.add_gaps(histories)
    for members in _classes_of_two(histories):
        tally.evaluated += 1
        for one, other in combinations([section for section in members if section.covered], 2):
            if one.delivered != other.delivered:
                tally.violations.append(
                    f"in view {one.view} {one.process} and {other.process} delivered different sequences, "
                    f"{_first_difference(one.delivered, other.delivered)}"
                )
    return tally


def _first_difference(one: list[Message], other: list[Message]) -> str:
    place = next(
        (i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )
    return f"from the {place + 1}th: {one[place : place + 1]} and {other[place : place + 1]}"


def serial_unique(histories: list[History]) -> Tally:
    tally = Tally()
    tally.add_gaps(histories)
    by_serial: dict[int, Message] = {}
    by_message: dict[Message, int] = {}
    for history in histories:
        for event in history.events:
            if not isinstance(event, (Deliver, Skip)) or event.serial is None or event.message is None:
                continue
            tally.evaluated += 1
            if by_serial.setdefault(event.serial, event.message) != event.message:
                tally.violations.append(f"serial {event.serial} is both {by_serial[event.serial]} and {event.message}")
            if by_message.setdefault(event.message, event.serial) != event.serial:
                tally.violations.append(f"{event.message} has serials {by_message[event.message]} and {event.serial}")
    for members, heard, _ in _bound(histories):
        placed = {serial for section in heard for serial in section.placed}
        for section in members:
            for serial in placed & set(section.no_ops):
                tally.violations.append(f"serial {serial} is of no message at {section.process}, and elsewhere of one")
    return tally


def serial_contiguous(histories: list[History]) -> Tally:
    tally = Tally()
    tally.add_gaps(histories, told=False)
    for history in histories:
        for place, event in walk(history):
            if isinstance(event, (Deliver, Skip)) and event.serial is not None and place.serial is not None:
                tally.evaluated += 1
                if event.serial != place.serial + 1:
                    tally.violations.append(f"{history.process} went from serial {place.serial} to {event.serial}")
    begins: dict[int, set[int | None]] = defaultdict(set)
    for section in _sections(histories):
        if section.start is not None:
            begins[section.view].add(section.serial)
    for view, serials in begins.items():
        if len(serials) > 1:
            tally.violations.append(f"view {view} begins after different serials: {serials}")
    return tally


def sending_view(histories: list[History]) -> Tally:
    tally = Tally()
    tally.add_gaps(histories)
    sends = _sends(histories)
    closed = _closed(histories)
    for history in histories:
        for place, event in walk(history):
            in_force = place.in_force()
            if isinstance(event, Send) and in_force not in ([], [event.view]):
                tally.violations.append(f"{history.process} sent {event.number} in {event.view}, not in {in_force}")
            if not isinstance(event, Deliver):
                continue
            tally.evaluated += 1
            send = sends.get(event.message)
            views = {event.view, event.sent_view, *in_force, *([send.view] if send is not None else [])}
            if len(views) > 1:
                tally.violations.append(
                    f"{history.process} delivered {event.message} with views {sorted(map(str, views))}"
                )
            elif send is None and event.sender not in closed:
                tally.unknowns.append(f"the send of {event.message} is outside coverage")
    return tally


def view_agreement(histories: list[History]) -> Tally:
    tally = Tally()
    tally.add_gaps(histories)
    agreed: dict[int, tuple[object, ...]] = {}
    for history in histories:
        who = history.process
        for place, event in walk(history):
            if not isinstance(event, View):
                continue
            tally.evaluated += 1
            if agreed.setdefault(event.view, _substance(event)) != _substance(event):
                tally.violations.append(f"view {event.view} at {who} differs from what another installed")
            if who not in event.members or event.leader not in event.members:
                tally.violations.append(
                    f"{who} or the leader {event.leader} is no member of view {event.view} of {who}"
                )
            if place.left:
                tally.violations.append(f"{who} installed view {event.view} after the end of its session")
            if place.last_view and event.view != place.last_view + 1:
                tally.violations.append(f"{who} installed view {event.view} after {place.last_view}")
            founds = event.view == 1 and not event.succeeds
            if (any(event.base.values()) and (place.last_view or founds)) or (event.base_serial and place.last_view):
                tally.violations.append(f"{who} installed view {event.view} with a base, and does not enter")
    _check_instance(tally, histories)
    _check_leavers(tally, histories)
    return tally


def _check_instance(tally: Tally, histories: list[History]) -> None:
    """One definition in all views; and from view to view who stays comes first, in the same order."""
    views = [event for history in histories for event in history.events if isinstance(event, View)]
    if len({(view.ordering, view.multicast, view.safe, view.netsplit) for view in views}) > 1:
        tally.violations.append("the definition changes")
    members = _members(histories)
    for number, before in members.items():
        after = members.get(number + 1, ())
        stay = tuple(who for who in before if who in after)
        if after[: len(stay)] != stay:
            tally.violations.append(f"members of view {number} have other ranks in the next")


def _check_leavers(tally: Tally, histories: list[History]) -> None:
    """A leaver's `settled` is the next view, which is without it."""
    members = _members(histories)
    for history in histories:
        ends = [(place.in_force(), it) for place, it in walk(history) if isinstance(it, End) and it.seen]
        for nth, (view, end) in enumerate(ends):
            if end.settled is not None and view not in ([], [None], [end.settled - 1]):
                tally.violations.append(f"{history.process} left {view}, and says that {end.settled} follows")
            if end.settled is not None and not nth and history.process in members.get(end.settled, ()):
                tally.violations.append(f"{history.process} left, and is in view {end.settled}")


def _substance(view: View) -> tuple[object, ...]:
    return (view.members, view.leader, view.ordering, view.multicast, view.safe, view.netsplit)


def virtual_synchrony(histories: list[History]) -> Tally:
    tally = Tally()
    tally.add_gaps(histories)
    for members in _classes_of_two(histories):
        tally.evaluated += 1
        for one, other in combinations([section for section in members if section.covered], 2):
            unlike = set(one.delivered) ^ set(other.delivered)
            if unlike:
                tally.violations.append(
                    f"in view {one.view} only one of {one.process} and {other.process} delivered {min(unlike)}"
                )
    _check_starts(tally, _sections(histories))
    return tally


def _check_starts(tally: Tally, all_sections: list[Section]) -> None:
    """All who install a view have by then the same highest settled number of each sender in it."""
    by_view: dict[int, list[Section]] = defaultdict(list)
    for section in all_sections:
        if section.start is not None:
            by_view[section.view].append(section)
    for view, installers in by_view.items():
        tally.evaluated += len(installers) > 1
        for one, other in combinations(installers, 2):
            assert one.start is not None
            assert other.start is not None
            if any(one.start[who] != other.start[who] for who in one.start.keys() & other.start.keys()):
                tally.violations.append(
                    f"{one.process} and {other.process} installed view {view} after different messages: "
                    f"{one.start} and {other.start}"
                )


def one_leader(histories: list[History]) -> Tally:
    tally = Tally()
    tally.add_gaps(histories)
    leaders: dict[int, set[Process]] = defaultdict(set)
    for history in histories:
        for event in history.events:
            if isinstance(event, (View, Elect)):
                leaders[event.view].add(event.leader)
    for view, named in leaders.items():
        tally.evaluated += 1
        if len(named) > 1:
            tally.violations.append(f"view {view} has the leaders {', '.join(sorted(named))}")
    return tally


RULES: dict[str, Rule] = {
    "NO_CREATION": no_creation,
    "NO_DUPLICATION": no_duplication,
    "INTEGRITY": integrity,
    "SELF_DELIVERY": self_delivery,
    "AGREEMENT": agreement,
    "FIFO": fifo,
    "CAUSAL": causal,
    "CLOCK": clock,
    "TOTAL": total,
    "TOTAL_GAP_FREE": total_gap_free,
    "SERIAL_UNIQUE": serial_unique,
    "SERIAL_CONTIGUOUS": serial_contiguous,
    "SENDING_VIEW": sending_view,
    "VIEW_AGREEMENT": view_agreement,
    "VIRTUAL_SYNCHRONY": virtual_synchrony,
    "ONE_LEADER": one_leader,
}
