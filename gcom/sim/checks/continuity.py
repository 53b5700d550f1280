"""Continuity: a group keeps its state from instance to instance of its name (ARCHITECTURE 10).

All other rules are of one instance.

A message is *confirmed* when an application was handed it under SAFE, or when a majority of the view in which it was
sent delivered it: so many hold it, and `held_by` would have said so. From then on it is in every state that an
application is given, as far as that application had it before, or its member held it while it awaited the state. So a
state that goes back is noticed at the member whose state it replaces, and a branch at the members whose branch gives
way; members that crashed or left are not checked. An instance that all have left is dissolved, and the next instance of
the name begins anew.
"""

from __future__ import annotations

from collections.abc import Iterable

from gcom.core.messages.effects import Deliver, Ended, Installed, Skip
from gcom.sim.checks.record import Violation
from gcom.sim.checks.state import State
from gcom.values.definition import Definition, Multicast, Netsplit
from gcom.values.lineage import rank
from gcom.values.names import InstanceId, Process
from gcom.values.view import View

_Where = tuple[str, int]  # an instance and a view of it


class Continuity:
    """The rule over all instances of one name; promised to PRIMARY groups over RELIABLE."""

    def __init__(self, definition: Definition, registries: int = 1) -> None:
        self._promised = definition.multicast is Multicast.RELIABLE and definition.netsplit is Netsplit.PRIMARY
        self._safe = definition.safe
        self._views: dict[_Where, View] = {}
        self._delivered: dict[tuple[_Where, Process], dict[Process, int]] = {}  # by view and sender: who has how many
        self._dissolved: set[str] = set()  # instances that all have left; members cut off then are told, and end
        self._confirmed: dict[Process, int] = {}  # of each sender how many, from the first on
        # In a successor a process' numbers begin again: how many of its messages there were before, and are at each.
        self._before: dict[tuple[str, Process], int] = {}
        self._count: dict[tuple[Process, Process], int] = {}
        # States count from a loss on: how many messages of each sender there were before it.
        self._lost: dict[tuple[int, Process], int] = {}
        self._restored: set[int] = set()  # ranks of the views from which a group goes on with one member's own state
        # By an instance that all have left, those that began after it: one at each registry, where neither is told of
        # the other's. When they meet one gives way, and its applications are handed what they had (docs/LIMITS.md).
        self._begun: dict[str, set[str]] = {}
        self._registries = registries
        self._forked = False  # an operator ordered a fork: members, and what only they had, may be given up
        self._given_up: set[str] = set()  # instances that may go on with members that an operator gave up
        self._named: dict[tuple[str, Process, Process], int] = {}  # who was named as a holder of how many of whose

    def see(self, instance: str, who: Process, effect: object) -> None:
        """Check one effect that an application sees."""
        if not self._promised:
            return
        match effect:
            case Installed(view):
                self._views[instance, view.number] = view
                if effect.succeeds and effect.succeeds.gives_up:
                    self._on_given_up(effect.succeeds.instance, who)
                if effect.succeeds and effect.succeeds.by == "ended":
                    self._begun.setdefault(effect.succeeds.instance, set()).add(instance)
                elif effect.succeeds:
                    # 1. In the successor a sender's numbers begin at 1 again. 2. Its earlier messages are still in
                    #    everybody's state. 3. So what is counted goes on from what this process had of it.
                    #    The most that any has: one that has just joined was handed none of the earlier ones.
                    for sender in effect.succeeds.cut:
                        before = self._count.get((who, sender), 0)
                        self._before[instance, sender] = max(before, self._before.get((instance, sender), 0))
            case Deliver(run) if instance not in self._dissolved:
                count = self._before.get((instance, run.sender), 0) + run.last
                self._count[who, run.sender] = count
                self._on_delivered((instance, effect.view), who, run.sender, count)
            # Broken where a copy alone counts, of which what it follows, or its place, dies with others.
            case Skip(sender, first) if first <= self._named.get((instance, sender, who), 0) and not self._forked:
                raise Violation(
                    f"CONTINUITY: {who} was named as a holder of message {first} of {sender}: it gives it up"
                )
            # Whoever comes next finds a name that nobody has: it begins anew, and owes nobody anything.
            case Ended(number, "request") if self._views[instance, number].members == (who,):
                self._confirmed.clear()  # the last has left
                self._dissolved.add(instance)
            case _:
                pass

    def on_confirmed(self, instance: str, sender: Process, number: int, holders: Iterable[Process]) -> None:
        """Record that a sender was told who holds 1…number of its messages, as its receipts name them."""
        for who in holders:
            self._named[instance, sender, who] = number

    def on_fork(self) -> None:
        """Record that an operator ordered a fork: from now on who is handed its own state may lose what it had."""
        self._forked = True

    def _on_given_up(self, instance: str, who: Process) -> None:
        # What those who were given up confirm from now on, or confirmed alone, nobody owes to those who went on.
        self._given_up.add(instance)
        for sender, count in self._confirmed.items():
            self._confirmed[sender] = min(count, self._count.get((who, sender), 0))

    def _on_delivered(self, where: _Where, who: Process, sender: Process, count: int) -> None:
        if where[0] in self._given_up:
            return
        by = self._delivered.setdefault((where, sender), {})
        by[who] = count
        size = len(self._views[where].members)
        # The count that a majority of the view has: sorted from most to least, the one in the middle.
        held = count if self._safe else sorted([*by.values(), *[0] * (size - len(by))], reverse=True)[size // 2]
        self._confirmed[sender] = max(held, self._confirmed.get(sender, 0))

    def on_counted(self, instance: str, since: int, sender: Process, first: int) -> None:
        """Record the first message of a sender that a state which counts from a loss has."""
        self._lost.setdefault((since, sender), self._before.get((instance, sender), 0) + first - 1)

    def on_restored(self, since: int) -> None:
        """Record that a group goes on with the state of one that was put out, which lacks what came meanwhile."""
        self._restored.add(since)

    def on_awaited(
        self, who: Process, held: Iterable[tuple[InstanceId, Deliver]], state: State, told: bool = False
    ) -> None:
        """Check that a state has what came, in whichever instance, while a process awaited it.

        `told`: the process was told that a state which began anew may lack that.
        """
        if not self._promised or self._forked:
            return
        for instance, delivery in held:
            run = delivery.run
            count = self._before.get((instance, run.sender), 0) + run.last
            owed = min(count, self._confirmed.get(run.sender, 0))
            if state.since in self._restored:
                # What came since is in that state, with a gap before it. Broken where all that is held counts for it.
                if not told and rank(instance, delivery.view) < state.since and owed > count - len(run.payloads):
                    raise Violation(
                        f"CONTINUITY: {who} held confirmed messages of {run.sender} back, is given a state that began "
                        "anew after them, and is not told"
                    )
                continue
            has = state.streams.get(run.sender, (0, 0))[0] + self._lost.get((state.since, run.sender), 0)
            # Broken where all who wait when the last donor dies begin at that barrier, or in a successor: what a
            # majority held is lost, though some of them live.
            if has < owed:
                raise Violation(
                    f"CONTINUITY: {who} held {owed} confirmed messages of {run.sender} back, and begins with {has}"
                )

    def on_given(self, who: Process, before: State, given: State, told: bool = False, aside: bool = False) -> None:
        """Check the state that replaces an application's own.

        `told`: this event hands it its own state, to keep aside. `aside`: it was handed that earlier, since its former
        instance does not go on in this one; this excuses a loss only after an operator's fork.
        """
        if not self._promised:
            return
        later = given.since > before.since  # it has nothing of what was before a loss, and counts from there
        # After an order nobody can say whose state covers whose, so all who come back are told.
        raced = self._registries > 1 and any(len(begun) > 1 for begun in self._begun.values())
        if told and not later and not self._forked and not raced:
            raise Violation(f"CONTINUITY: {who} is told that its state is not covered, by one that goes as far back")
        if told or (aside and self._forked):
            return
        for sender, (count, _) in before.streams.items():
            # Not more than the application had itself: what it never saw it cannot lose.
            owed = min(count, self._confirmed.get(sender, 0) - self._lost.get((before.since, sender), 0))
            has = 0 if later else given.streams.get(sender, (0, 0))[0]
            # Broken wherever a name goes to somebody who has not what the group had: by a registry that starts
            # without grace, forgets who was noted, put out or older, or takes silence for death.
            if has < owed:
                raise Violation(
                    f"CONTINUITY: {who} had {owed} confirmed messages of {sender}, and is given a state with {has}"
                )
