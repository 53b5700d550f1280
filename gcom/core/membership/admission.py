"""The leader's answer to a Join: which joiners it lets in (ARCHITECTURE 8, 9; JGRP-2286 for names used again).

A name is taken only while its holder answers. So a Join under a taken name waits. It is refused once the holder was
heard after the Join came; if the holder becomes suspected, one view change takes the holder out and the joiner in.

A member that went because of a bad link would be let in and dropped again for as long as the link is bad. So a name
that went, and was not proven dead, is let in again only when every member has answered it. The joiner shows this: it
names the members that it has reached.

A process that nobody can call is let in and put out again: it never hears that it is in. So the name of one that never
took up its view is let in again only once it has answered a call.

A link that fails and mends all the time would cost two views each time: so a name that went for its link again and
again stays out longer each time (exponential back-off, as route flap damping: RFC 2439 §4).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace

from gcom.core.detector.suspicion import CUT_OFF, Detector
from gcom.core.messages.frames import Join, JoinRefused, Reach
from gcom.core.messages.registry import Answer, Done, Refusal
from gcom.values import limits, names
from gcom.values.definition import Definition, Netsplit, uninvited
from gcom.values.lineage import Extent
from gcom.values.names import Address, Process
from gcom.values.view import View

# The reasons for which a member goes that may be alive behind a bad link; it is let in again once it has reached all.
# "gone" too: a node answers that when its session ended because it heard too few.
_MAY_LIVE = (CUT_OFF, "accused", "gone", "silence", "stuck")


def _cut_off(left: Mapping[Process, str]) -> set[str]:
    """Return the names of members that go, and may be alive behind a bad link."""
    return {names.name_of(who) for who, why in left.items() if why in _MAY_LIVE}


class FlapDamping:
    """The names that went lately though others heard them: how often, and when last."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def count(self, left: Mapping[Process, str], now_ms: int) -> None:
        """Count the names that `left`, as a view began, for a link that failed: others heard them (CUT_OFF)."""
        for name in [names.name_of(who) for who, why in left.items() if why == CUT_OFF]:
            # Taken out first, so that it comes to the end: the bound forgets whoever went longest ago.
            times, _ = self._known.pop(name, (0, 0))
            self._known[name] = times + 1, now_ms
        for oldest in list(self._known)[: -limits.GONE_MAX]:
            del self._known[oldest]

    def keeps_out(self, name: str, now_ms: int) -> bool:
        """Return whether a name is not let in yet."""
        # The first time costs nothing: links fail once for many reasons. From the second on the wait doubles.
        times, last_ms = self._known.get(name, (0, 0))
        return times > 1 and now_ms - last_ms < min(limits.FLAP_MS << (times - 2), limits.FLAP_MAX_MS)

    def forget(self, now_ms: int) -> None:
        """Forget the names that have not gone again for long."""
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
    own: Extent  # as in Standing
    reaches: bool = True  # every member that is not suspected
    answers: bool = True  # a call of this process, or its name need not
    noted: bool = False  # the registry has noted that it may be in the next view


class Admission:
    """The joiners that wait at this member; it matters only while it leads."""

    def __init__(self, definition: Definition, process: Process) -> None:
        self._definition = definition
        self._process = process
        self.waiting: dict[Process, Joiner] = {}  # be it behind the holder of its name
        # In a PRIMARY group the registry notes a joiner before it is admitted. 1. A, B and C are in view 5, C is
        # paused. 2. A and B install view 6 with D, and both are killed before anything of it is registered. 3. C runs
        # on, and finds A and B dead. If the registry could not name D, C would begin a successor beside view 6.
        self._notes = definition.netsplit is Netsplit.PRIMARY
        self._noting: tuple[Process, ...] = ()  # the registry is asked to note these
        self._no_note = ""  # why the disk of the registry did not take the last of them
        self._note_at_ms = 0  # when it may be asked
        self._cut_off: dict[str, None] = {}  # names, in order; the oldest are forgotten at the bound
        self._flaps = FlapDamping()
        self._never_in: dict[str, None] = {}  # names that never took up the view that let them in; oldest first
        self._unanswered: dict[Process, int] = {}  # calls to joiners that failed in a row

    def on_never_in(self, joiners: Iterable[Process]) -> None:
        """Record joiners that are put out of the view that let them in, and never took it up."""
        self._never_in |= dict.fromkeys(map(names.name_of, joiners))

    def install(self, view: View, left: Mapping[Process, str], now_ms: int) -> None:
        """Begin a view: forget joiners that are in now; keep the names that left for their links."""
        self._flaps.count(left, now_ms)
        self._cut_off |= dict.fromkeys(sorted(_cut_off(left)))
        kept = [name for name in self._cut_off if name not in view.names][-limits.GONE_MAX :]
        self._cut_off = dict.fromkeys(kept)
        never_in = [name for name in self._never_in if name not in view.names][-limits.GONE_MAX :]
        self._never_in = dict.fromkeys(never_in)
        # Who waits under a name that has just gone for its links is
        # forgotten: it asks again, and shows what it reaches.
        self.waiting = {
            who: replace(joiner, noted=False)  # a note is of one view
            for who, joiner in self.waiting.items()
            if who not in view.members and self._is_proven(joiner, self._cut_off)
        }
        # An answer that is under way was for the view that is left; `noted` is false for all again, so they
        # are asked for anew.
        self._noting, self._note_at_ms = (), now_ms

    def ask(self, who: Process, join: Join, view: View, detector: Detector, now_ms: int) -> JoinRefused | Reach | None:
        """Take a Join, perhaps repeated; return its refusal, or Reach: the members to reach, or None: it waits."""
        name = names.name_of(who)
        holder = self.holder(name, view)
        # Its holder may be this process' former session, and a suspect is to go: neither proves anything by an answer.
        reaches = set(view.members) - set(detector.suspects) - {holder} <= set(join.reached)
        # With the members' addresses instead of a refusal: only by calling all of them can it prove that its
        # links work.
        if name in self._cut_off and (not reaches or self._flaps.keeps_out(name, now_ms)):
            # It does not wait, even if it did: a Join from before it had reached all members must not let it in.
            self.waiting.pop(who, None)
            return Reach(view.members, view.addresses)
        # The list of a static group comes after the proof above: its names come back behind bad links like all others.
        if self._definition.static and name not in self._definition.static:
            return JoinRefused("NotInvited", uninvited(self._definition, name))
        joiner = self.waiting.get(who)
        # From its first question on. If each repetition counted, no
        # word of the holder would ever be later than the question.
        asked_ms = joiner.asked_ms if joiner else now_ms
        refusal = (
            self._unnoted(joiner)
            or self._taken(name, asked_ms, view, detector)
            or self._full(name, view, detector, new=joiner is None)
            or self._uncallable(who, join.address)
        )
        if refusal is not None:
            self.waiting.pop(who, None)
            return refusal
        # Both are of an address; at another one it is another life, which the registry must learn of.
        known = joiner if joiner and joiner.address == join.address else None
        marks = name not in self._never_in or bool(known and known.answers), bool(known and known.noted)
        self.waiting[who] = Joiner(who, join.address, asked_ms, now_ms, join.takes_state, join.own, reaches, *marks)
        return Reach(view.members, view.addresses) if holder and not reaches else None

    def _unnoted(self, joiner: Joiner | None) -> JoinRefused | None:
        """Refuse a joiner that the registry's disk did not take: it would wait until its time is over."""
        if joiner is None or joiner.noted or not self._no_note:
            return None
        group = self._definition.group
        return JoinRefused("StorageUnavailable", f"nobody can join group {group!r} now: {self._no_note}")

    def _taken(self, name: str, asked_ms: int, view: View, detector: Detector) -> JoinRefused | None:
        # Only a sign of life after the question counts: `kill -9` and a restart under the same name must not wait for
        # the detector, and a paused holder must not lose its name at once. And only one in this group: a process that
        # left it may go on in others.
        holder = self.holder(name, view)
        if holder is None or (holder != self._process and detector.spoke_here_ms(holder) <= asked_ms):
            return None
        text = f"the name {name!r} is taken in group {self._definition.group!r} by {holder}, which answers: use another"
        return JoinRefused("NameTaken", text)

    def _full(self, name: str, view: View, detector: Detector, new: bool) -> JoinRefused | None:
        """Refuse a joiner for which there is no place."""
        group = self._definition.group
        # It takes the place of a holder that goes in the same change.
        replaces = self.holder(name, view) is not None
        # Suspects count as gone: the change that lets it in takes them out.
        if not replaces and len(view.members) - len(detector.suspects) >= limits.MEMBERS_MAX:
            text = f"group {group!r} is full: it has {limits.MEMBERS_MAX} members, the most there may be"
            return JoinRefused("Unavailable", f"{text}; join when one has left, or use several groups")
        if new and len(self.waiting) >= limits.JOINS_PENDING_MAX:
            text = f"{limits.JOINS_PENDING_MAX} processes wait to join group {group!r}, the most there may: try again"
            return JoinRefused("Unavailable", text)
        return None

    def _uncallable(self, who: Process, address: Address) -> JoinRefused | None:
        """Refuse a joiner that was called in vain, and once more: it may just have started."""
        if self._unanswered.get(who, 0) < 2:
            return None
        del self._unanswered[who]  # if it asks again it is called again
        place = address.partition("@")[0]
        text = f"{self._process} cannot call {who} back at {place}, so it does not admit it"
        return JoinRefused("Unavailable", f"{text}: open that port in the firewall, or advertise another address")

    def on_called(self, who: Process, answers: bool) -> None:
        """Record whether a joiner has answered a call of this process."""
        if joiner := self.waiting.get(who):
            self._unanswered[who] = 0 if answers else self._unanswered.get(who, 0) + 1
            self.waiting[who] = replace(joiner, answers=answers)

    @property
    def to_call(self) -> dict[Process, Address]:
        """The joiners that have to answer a call first, and have not yet."""
        return {who: joiner.address for who, joiner in self.waiting.items() if not joiner.answers}

    def to_note(self, now_ms: int) -> tuple[tuple[Process, Address], ...]:
        """Return the joiners that the registry is to note now: all that wait, if that is news to it."""
        waiting = [joiner for joiner in self.waiting.values() if joiner.answers] if self._notes else []
        # One request at a time, and each repeats all: the registry drops notes with every view.
        if self._noting or now_ms < self._note_at_ms or all(joiner.noted for joiner in waiting):
            return ()
        self._noting, self._no_note = tuple(joiner.process for joiner in waiting), ""
        return tuple((joiner.process, joiner.address) for joiner in waiting)

    def on_noted(self, answer: Answer | None, now_ms: int) -> None:
        """Take the registry's answer: it has noted those it was asked to, or must be asked again."""
        done = isinstance(answer, Done)
        # What passes within seconds, such as a registry that starts, is no reason to turn anybody away.
        full = isinstance(answer, Refusal) and answer.code == "StorageUnavailable"
        self._no_note = answer.text if isinstance(answer, Refusal) and full else ""
        # Only those that the request named: a joiner that came since is not on the registry's disk yet.
        for who in self._noting if done else ():
            if who in self.waiting:
                self.waiting[who] = replace(self.waiting[who], noted=True)
        self._noting = ()
        self._note_at_ms = now_ms if done else now_ms + limits.JOIN_RETRY_MS

    def holder(self, name: str, view: View) -> Process | None:
        """Return the member that has a name."""
        return next((member for member in view.members if names.name_of(member) == name), None)

    def ready(self, staying: set[Process], left: Mapping[Process, str]) -> list[Joiner]:
        """Return the joiners that can be admitted beside those who stay, oldest question first, one per name."""
        taken = {names.name_of(member) for member in staying}
        cut_off = _cut_off(left)
        chosen: list[Joiner] = []
        # A name that goes in this very change must prove its links as well: a process that lost its quorum by its bad
        # link asks before the others have missed it. It would go out and come in with one view, again and again.
        for joiner in self.waiting.values():
            name = names.name_of(joiner.process)
            ripe = joiner.answers and (joiner.noted or not self._notes)
            if ripe and self._is_proven(joiner, cut_off) and name not in taken and len(taken) < limits.MEMBERS_MAX:
                taken.add(name)
                chosen.append(joiner)
        return chosen

    def _is_proven(self, joiner: Joiner, cut_off: Container[str]) -> bool:
        """Return whether a joiner needs no more proof that its links work."""
        name = names.name_of(joiner.process)
        return name not in cut_off or (joiner.reaches and name not in self._flaps)

    def gathered(self, staying: set[Process], now_ms: int) -> bool:
        """Return whether some joiner can be admitted, and has waited long enough for others to come with it."""
        ready = self.ready(staying, {})
        # Members that start together then cost one view change, not one each: a process that asks, or is being noted,
        # is waited for. On a busy machine ten that start at one instant ask over 50 ms.
        last_ms = max((joiner.asked_ms for joiner in self.waiting.values()), default=0)
        quiet = now_ms - last_ms >= limits.JOIN_GATHER_MS and not self._noting
        # But not for ever: others may go on coming, and the registry may be slow.
        return bool(ready) and (quiet or now_ms - ready[0].asked_ms >= limits.JOINS_GATHER_MAX_MS)

    def tick(self, now_ms: int) -> None:
        """Forget joiners that have not asked again: they have given up, or are dead."""
        self._flaps.forget(now_ms)
        for who in [it for it, joiner in self.waiting.items() if now_ms - joiner.heard_ms >= limits.SILENCE_MS]:
            del self.waiting[who]
        self._unanswered = {who: count for who, count in self._unanswered.items() if who in self.waiting}

    def holders_asked_for(self, view: View) -> list[Process]:
        """Return the members whose name a joiner waits for; they are to be heard now."""
        holders = [self.holder(names.name_of(who), view) for who in self.waiting]
        return [holder for holder in holders if holder and holder != self._process]
