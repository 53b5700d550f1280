"""The healed phase: all faults are off, and now the group must become live, or it never will.

All running processes must come into one view within a bound, and all that each sends then must reach all. An earlier
fault may still put a member out, by a suspicion that is being acted upon, say; then all of this is checked again,
within the same bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from gcom.sim.checkers import Violation
from gcom.sim.faults.population import Population
from gcom.sim.network import LATE_MS_MAX, Network
from gcom.sim.node import SimNode
from gcom.sim.plan.events import Fault, TroubleEvent
from gcom.sim.registries import Registries
from gcom.sim.simulation import Simulation
from gcom.values.definition import Multicast
from gcom.values.names import Process

# Scaled as the group's detection is: the bound for all progress after the heal, and the time by which silence has put a
# dead member out of every quorum's view.
LIVE_MS, SILENT_MS = 60_000, 15_000
STORM_MS = 300  # shorter than any silence that counts


class Healing:
    """The end of every fault, and the wait for progress."""

    def __init__(
        self, simulation: Simulation, network: Network, registries: Registries, population: Population, rng: Random
    ) -> None:
        self._simulation, self._network, self._registries = simulation, network, registries
        self._population = population
        self._rng = rng
        self._marks: list[tuple[Process, int]] = []
        self._marked_ms = 0
        self._healed_ms = 0
        self._stormed = False

    def run(self) -> None:
        """End the faults, then raise Violation if the group does not come to life."""
        self._end_faults()
        self._healed_ms = self._simulation.now_ms
        detection = self._simulation.plan.definition.detection
        end_ms = self._healed_ms + detection.extended_ms(LIVE_MS)
        self._simulation.at(detection.extended_ms(SILENT_MS), self._bury)
        # Again from the beginning when a member was put out meanwhile: a suspicion of before the heal may still be
        # acted upon. The bound is on all of it.
        while not self._goes_on(end_ms):
            pass

    def _goes_on(self, end_ms: int) -> bool:
        """Return True when all are in one view and their marks arrived; False if a member was put out meanwhile."""
        simulation = self._simulation
        if not simulation.until(end_ms, self._is_united):
            # What most defects of a view change come to: a change that nobody can end, as a promise was forgotten, a
            # value is held by nobody who lives, or a question is not asked again.
            raise self._stuck("those who run are not in one view")
        # In this order: 1. one view; 2. what was sent last is settled, with nothing behind it that would
        # reveal a loss; 3. what sides brought is merged; 4. enough was sent; 5. a last message of each reaches
        # all; 6. all is read.
        if simulation.plan.silent:
            self._storm()
        if simulation.silent and not self._settles(end_ms):
            return False
        if not self._merges(end_ms):
            return False
        if not simulation.until(end_ms, lambda: simulation.has_enough):
            sent, delivered = simulation.messages, simulation.deliveries
            # Broken where credit is never given, or bytes of a window never given back: all senders stand still.
            raise self._stuck(f"only {sent} messages were sent and {delivered} delivered")
        self._mark()
        simulation.until(end_ms, lambda: self._have_arrived() or not self._are_in() or self._is_a_mark_lost())
        if not self._have_arrived() and simulation.now_ms >= end_ms:
            missing = [*self._missing(), *self._unanswered()]
            raise Violation(f"STUCK: what is sent does not arrive: {missing}; {self._population.describe()}")
        simulation.silent = self._have_arrived()
        return simulation.silent and self._rests(end_ms)

    def _stuck(self, what: str) -> Violation:
        return Violation(f"STUCK: {what}: {self._population.describe()}")

    def _rests(self, end_ms: int) -> bool:
        """Return True when all have read all, after checking their states; False if a member was put out meanwhile."""
        simulation = self._simulation
        simulation.until(end_ms, lambda: self._have_read_all() or not self._is_united())
        if not self._is_united():
            return False
        if not self._have_read_all():
            raise self._stuck("what arrived is not read, or what was in doubt is not settled")
        # Only now: before all is read two members that agree may have come to different places of their queues.
        keepers = {node.session.process: node.session.application for node in self._running}
        states = {who: application.state for who, application in keepers.items()}
        self._running[0].session.checker.states.on_rest({who: state for who, state in states.items() if state})
        return True

    def _have_read_all(self) -> bool:
        """Tell whether all have read what came, and know what became of their own messages."""
        sessions = [node.session for node in self._running]
        doubts = any(session.checker.doubt.open_at(session.process) for session in sessions)
        return not doubts and all(session.application.has_read for session in sessions)

    @property
    def _running(self) -> list[SimNode]:
        return [node for node in self._population.living if not node.away]

    def _end_faults(self) -> None:
        simulation = self._simulation
        static = bool(simulation.plan.definition.static)  # begins anew only with all its names
        self._network.heal()
        # The hardest moment for a registry to start again: all who were cut off register at once.
        if simulation.plan.forgets:
            self._registries.first.restart(TroubleEvent(Fault.AMNESIA, 0))
        for registry in self._registries.each:
            registry.heal()
        for node in self._population.everybody:
            node.reads_slowly = ""
            if node.paused:
                node.resume()
            if static:
                self._population.come_back(node)
        dead = [node for node in map(self._population.node, simulation.plan.names) if node is not None and node.crashed]
        # Some stay dead: a group must live on without them. Two at least run, as one alone would prove nothing.
        for node in dead:
            if static or len(self._running) < 2 or self._rng.random() < 0.7:
                self._population.restart(node, same_port=self._rng.random() < 0.3)

    def _bury(self) -> None:
        """Check that every majority has put out the processes of lost machines, by their silence alone; then let the
        machines refuse calls, which proves those deaths to the others as well.
        """
        silent = [node for node in self._population.everybody if node.crashed and not node.refuses]
        gone = {process for node in silent for process in node.sessions}
        members = [node.session for node in self._running if node.is_member]
        here = {session.process for session in members}
        for session in members:
            view = session.machine.view
            # Detached in a majority: they wait for one that alone has the state, and no kernel says that it is dead.
            if session.machine.detached:
                continue
            # Only a majority is blamed: a minority cannot put anybody out, and half of a view
            # depends on the tie-breaker.
            if view and gone & set(view.members) and 2 * len(here & set(view.members)) > len(view.members):
                # Broken where nobody is ever suspected, or silence is no evidence.
                raise Violation(f"SILENCE: {session.describe()}: {sorted(gone)} have said nothing for too long")
        for node in silent:
            node.refuses = True

    def _is_united(self) -> bool:
        running = self._running
        if not all(node.is_member for node in running):
            return False
        sessions = [node.session for node in running]
        views = {
            (session.machine.instance, session.machine.view and session.machine.view.number) for session in sessions
        }
        view = sessions[0].machine.view
        # A joiner whose state never comes is in the view, and useless.
        if not all(session.application.has_state for session in sessions):
            return False
        # One view by name is not enough: it must have exactly the processes that run.
        return len(views) == 1 and view is not None and set(view.members) == {session.process for session in sessions}

    def _storm(self) -> None:
        """Break many calls once more, then fall silent: the last losses are repaired though nothing follows them."""
        simulation = self._simulation
        if not self._stormed:
            self._stormed = True
            simulation.silent, self._network.stormy = False, True
            # 1. Calls break while all send. 2. All fall silent. 3. What was lost last has no later message that would
            #    reveal it: only the protocol's own questions can.
            simulation.until(simulation.now_ms + STORM_MS)
            simulation.silent = True
            simulation.until(simulation.now_ms + simulation.plan.delay_ms)
            self._network.stormy = False

    def _merges(self, end_ms: int) -> bool:
        """Return whether the states of all sides of a split are merged; STATE checks that all members have the same."""
        simulation = self._simulation
        if simulation.plan.definition.multicast is not Multicast.RELIABLE:
            return True
        simulation.until(end_ms, lambda: self._has_merged() or not self._is_united())
        if not self._has_merged() and simulation.now_ms >= end_ms:
            # Broken where a state that never came takes along what was merged into it.
            raise self._stuck("what an instance had is not merged")
        return self._has_merged()

    def _has_merged(self) -> bool:
        return self._is_united() and all(node.session.application.has_reconciled for node in self._running)

    def _settles(self, end_ms: int) -> bool:
        """Return whether all that was sent before the silence is settled everywhere, with nothing sent after it."""
        simulation = self._simulation
        simulation.until(end_ms, lambda: self._is_settled() or not self._is_united())
        simulation.silent = not self._is_settled()
        if simulation.silent and simulation.now_ms >= end_ms:
            # Broken where a last message that was lost has nothing behind it that tells of it, and where nobody
            # passes the order on.
            raise self._stuck("what was sent last is neither delivered nor given up")
        return not simulation.silent

    def _is_settled(self) -> bool:
        """Tell whether each member of the view has settled all numbered messages of each."""
        if not self._is_united():
            return False
        sessions = [node.session for node in self._running]
        sent = [
            (session.process, number) for session in sessions if (number := session.checker.sent_by(session.process))
        ]
        return all(session.checker.settled_by(session.process, *last) for session in sessions for last in sent)

    def _mark(self) -> None:
        """Have each member send one message more, and fall silent: it must arrive everywhere, and so must all before
        it, though nothing follows.
        """
        self._marks.clear()
        self._marked_ms = self._simulation.now_ms
        self._simulation.silent = True
        for node in [node for node in self._running if node.is_member]:
            node.session.application.submit(1)
            process = node.session.process
            # The number of what was submitted, not of what was sent: it may wait for a view change.
            self._marks.append((process, node.session.checker.calls.submitted(process)))

    def _is_a_mark_lost(self) -> bool:
        """Tell whether a mark was given up, as BASIC may with a call of before the heal: then mark anew.

        Such a call may bring a view change about, or break the connection over which the mark was put behind it.
        """
        if self._simulation.plan.definition.multicast is not Multicast.BASIC:
            return False
        if self._marked_ms >= self._healed_ms + LATE_MS_MAX:  # no call of before is under way
            return False
        checkers = [(node.session.checker, node.session.process) for node in self._running]
        return any(
            checker.settled_by(process, *mark) and not checker.delivered_by(process, *mark)
            for checker, process in checkers
            for mark in self._marks
        )

    def _are_in(self) -> bool:
        """Tell whether all senders of marks are still members."""
        members = {node.session.process for node in self._running if node.is_member}
        return members == {sender for sender, _ in self._marks}

    def _have_arrived(self) -> bool:
        if not (self._is_united() and self._are_in()):
            return False
        return next(self._missing(), None) is None and next(self._unanswered(), None) is None

    def _unanswered(self) -> Iterator[str]:
        """Yield the unicasts and calls that have not come to their end."""
        sessions = [node.session for node in self._running]
        return sessions[0].checker.envelopes.waiting({session.process for session in sessions})

    def _missing(self) -> Iterator[tuple[Process, Process, int]]:
        """Yield receiver, sender and number of each mark that has not been delivered."""
        for session in [node.session for node in self._running]:
            checker, process = session.checker, session.process
            for sender, number in self._marks:
                # A mark that was given up is settled, and missing all the same.
                if not checker.settled_by(process, sender, number) or not checker.delivered_by(process, sender, number):
                    yield process, sender, number
