"""Who may come in: the leader's answer to a Join (DESIGN 8, 9; issue of a name: JGRP-2286).

A name is taken only while its holder answers. So a Join under a taken name waits until the holder was heard after it
was asked (then it is refused), or is suspected (then it goes in the same view change that takes the holder out).

Who went because of a bad link to some member would be let in and dropped again for as long as the link is bad. So who
went, and was not dead, is let in again only when every member has answered it: it proves that by saying whom it has
reached. It proves so too where it asks before its holder is out, since it may be that process itself, which has noticed
first.

A link that fails and mends all the time would cost two views a time: so whose name went for its link again and again
stays out longer each time (exponential back-off, as route flap damping: RFC 2439 §4).
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace

from gcom.core.detector.suspicion import CUT_OFF, Detector
from gcom.core.messages.frames import Join, JoinRefused, Reach
from gcom.values import limits, names
from gcom.values.definition import Definition, Netsplit, uninvited
from gcom.values.names import Address, Process
from gcom.values.view import View

# Why one goes who may be alive behind a bad link: it is let in again once it has reached all. Whose machine says that
# it is gone may have ended its session itself, since it heard too few.
_MAY_LIVE = (CUT_OFF, "accused", "gone", "silence", "stuck")


def _cut_off(left: Mapping[Process, str]) -> set[str]:
    """The names of those who go because somebody does not hear them."""
    return {names.name_of(who) for who, why in left.items() if why in _MAY_LIVE}


class FlapDamping:
    """The names that went lately though others heard them: how often, and when last."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def count(self, left: Mapping[Process, str], now_ms: int) -> None:
        """A view begins, and these left the one before, for these reasons."""
        for name in [names.name_of(who) for who, why in left.items() if why == CUT_OFF]:
            times, _ = self._known.pop(name, (0, 0))
            self._known[name] = times + 1, now_ms
        for oldest in list(self._known)[: -limits.GONE_MAX]:
            del self._known[oldest]

    def keeps_out(self, name: str, now_ms: int) -> bool:
        """Whether a name is not let in yet: the first time it is at once."""
        times, last_ms = self._known.get(name, (0, 0))
        return times > 1 and now_ms - last_ms < min(limits.FLAP_MS << (times - 2), limits.FLAP_MAX_MS)

    def forget(self, now_ms: int) -> None:
        """Those who have not gone again for long."""
        known = self._known.items()
        self._known = {name: flap for name, flap in known if now_ms - flap[1] < 2 * limits.FLAP_MAX_MS}


@dataclass(frozen=True, slots=True)
class Joiner:
    """A process that waits, since `asked_ms`; it repeats its question, last at `heard_ms`."""

    process: Process
    address: Address
    asked_ms: int
    heard_ms: int
    takes_state: bool
    reaches: bool = True  # every member that is not suspected
    noted: bool = False  # the registry has noted that it may be in the next view


class Admission:
    """The joiners that wait at this member; it matters only while it leads.

    In a PRIMARY group nobody is admitted whom the registry has not noted first: 1. A, B and C are in view 5, C is
    paused. 2. A and B install view 6 with D, and both are killed before anything of it is registered. 3. C runs on, and
    finds A and B dead. If nobody could tell it of D, it would begin a successor beside the living view 6.
    """

    def __init__(self, definition: Definition, process: Process) -> None:
        self._definition = definition
        self._process = process
        self.waiting: dict[Process, Joiner] = {}  # be it behind the holder of its name
        self._notes = definition.netsplit is Netsplit.PRIMARY
        self._noting: tuple[Process, ...] = ()  # the registry is asked to note these
        self._note_at_ms = 0  # when it may be asked
        self._cut_off: dict[str, None] = {}  # names, in order; the oldest are forgotten at the bound
        self._flaps = FlapDamping()

    def install(self, view: View, left: Mapping[Process, str], now_ms: int) -> None:
        """A view begins: forget who is in now, and keep who left because some could not reach them, or they some."""
        self._flaps.count(left, now_ms)
        self._cut_off |= dict.fromkeys(sorted(_cut_off(left)))
        kept = [name for name in self._cut_off if name not in view.names][-limits.GONE_MAX :]
        self._cut_off = dict.fromkeys(kept)
        self.waiting = {
            who: replace(joiner, noted=False)  # a note is of one view
            for who, joiner in self.waiting.items()
            if who not in view.members and self._is_proven(joiner, self._cut_off)
        }
        self._noting, self._note_at_ms = (), now_ms

    def ask(self, who: Process, join: Join, view: View, detector: Detector, now_ms: int) -> JoinRefused | Reach | None:
        """A Join, perhaps not the first of this process; returns why it is refused or put off, or None: it waits."""
        name = names.name_of(who)
        holder = self.holder(name, view)
        reaches = set(view.members) - set(detector.suspects) - {holder} <= set(join.reached)
        if name in self._cut_off and (not reaches or self._flaps.keeps_out(name, now_ms)):
            self.waiting.pop(who, None)
            return Reach(view.members, view.addresses)
        if self._definition.static and name not in self._definition.static:
            return JoinRefused("NotInvited", uninvited(self._definition, name))
        joiner = self.waiting.get(who)
        asked_ms = joiner.asked_ms if joiner else now_ms
        refusal = self._taken(name, asked_ms, view, detector) or self._full(name, view, detector, new=joiner is None)
        if refusal is not None:
            self.waiting.pop(who, None)
            return refusal
        noted = joiner is not None and joiner.noted and joiner.address == join.address
        self.waiting[who] = Joiner(who, join.address, asked_ms, now_ms, join.takes_state, reaches, noted)
        return Reach(view.members, view.addresses) if holder and not reaches else None

    def _taken(self, name: str, asked_ms: int, view: View, detector: Detector) -> JoinRefused | None:
        holder = self.holder(name, view)
        if holder is None or (holder != self._process and detector.spoke_ms(holder) <= asked_ms):
            return None
        text = f"the name {name!r} is taken in group {self._definition.group!r} by {holder}, which answers: use another"
        return JoinRefused("NameTaken", text)

    def _full(self, name: str, view: View, detector: Detector, new: bool) -> JoinRefused | None:
        """Who takes the place of a holder that is going needs none of its own."""
        group = self._definition.group
        replaces = self.holder(name, view) is not None
        if not replaces and len(view.members) - len(detector.suspects) >= limits.MEMBERS_MAX:
            return JoinRefused("Unavailable", f"group {group!r} is full: at most {limits.MEMBERS_MAX} members")
        if new and len(self.waiting) >= limits.JOINS_PENDING_MAX:
            text = f"{limits.JOINS_PENDING_MAX} processes wait to join group {group!r}, the most there may: try again"
            return JoinRefused("Unavailable", text)
        return None

    def to_note(self, now_ms: int) -> tuple[tuple[Process, Address], ...]:
        """Whom the registry is to note now, one request at a time: all that wait, if that is news to it."""
        waiting = list(self.waiting.values()) if self._notes else []
        if self._noting or now_ms < self._note_at_ms or all(joiner.noted for joiner in waiting):
            return ()
        self._noting = tuple(joiner.process for joiner in waiting)
        return tuple((joiner.process, joiner.address) for joiner in waiting)

    def on_noted(self, done: bool, now_ms: int) -> None:
        """The registry has noted whom it was asked to, or it has not: then it is asked again."""
        for who in self._noting if done else ():
            if who in self.waiting:
                self.waiting[who] = replace(self.waiting[who], noted=True)
        self._noting = ()
        self._note_at_ms = now_ms if done else now_ms + limits.JOIN_RETRY_MS

    def holder(self, name: str, view: View) -> Process | None:
        """The member that has a name."""
        return next((member for member in view.members if names.name_of(member) == name), None)

    def ready(self, staying: set[Process], left: Mapping[Process, str]) -> list[Joiner]:
        """Who can be admitted beside those who stay, oldest question first, one a name.

        Under the names of those who `left` because they are not heard, only who reaches all, and the first time only: a
        process that lost its quorum by its bad link asks before the others have missed it, and would come in where it
        goes out, again and again.
        """
        taken = {names.name_of(member) for member in staying}
        cut_off = _cut_off(left)
        chosen: list[Joiner] = []
        for joiner in self.waiting.values():
            name = names.name_of(joiner.process)
            ripe = joiner.noted or not self._notes
            if ripe and self._is_proven(joiner, cut_off) and name not in taken and len(taken) < limits.MEMBERS_MAX:
                taken.add(name)
                chosen.append(joiner)
        return chosen

    def _is_proven(self, joiner: Joiner, cut_off: Container[str]) -> bool:
        """Whether a joiner needs no more proof that its links work: of those who went for them, it is asked."""
        name = names.name_of(joiner.process)
        return name not in cut_off or (joiner.reaches and name not in self._flaps)

    def gathered(self, staying: set[Process], now_ms: int) -> bool:
        """Whether some can be admitted, and have waited long enough for others to come with them."""
        return any(now_ms - joiner.asked_ms >= limits.JOIN_GATHER_MS for joiner in self.ready(staying, {}))

    def tick(self, now_ms: int) -> None:
        """Forget who has not asked again: it has given up, or is gone."""
        self._flaps.forget(now_ms)
        self.waiting = {
            who: joiner for who, joiner in self.waiting.items() if now_ms - joiner.heard_ms < limits.SILENCE_MS
        }

    def holders_asked_for(self, view: View) -> list[Process]:
        """Members whose name a joiner waits for: they are to be heard now."""
        holders = [self.holder(names.name_of(who), view) for who in self.waiting]
        return [holder for holder in holders if holder and holder != self._process]
