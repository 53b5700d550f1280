"""Rules on views: their members, their leader, and the reasons why members depart."""

from __future__ import annotations

from gcom.core.detector.suspicion import CUT_OFF
from gcom.core.messages.effects import Ended, Installed
from gcom.sim.checks.record import InstanceHistory, ProcessHistory, Rule, Violation
from gcom.values.names import Process
from gcom.values.run import Run
from gcom.values.view import View


class ViewAgreement(Rule):
    """VIEW_AGREEMENT: one view, one set of members in one order; self is a member; views go up by exactly 1."""

    def installed(self, history: ProcessHistory, installed: Installed) -> None:
        who, view = history.process, installed.view
        known = self.record.views.get(view.number, installed).view
        # Members in their order, addresses and all: the whole value was agreed upon.
        # Broken where a promise does not bind, where a value is installed before a quorum has accepted it, and where
        # a witness votes twice: two halves have a view each.
        if known != view:
            raise Violation(f"VIEW_AGREEMENT: view {view.number} is {known.members}, and at {who} {view.members}")
        if who not in view.members or len(set(view.members)) != len(view.members):
            raise Violation(f"VIEW_AGREEMENT: {who} installs view {view.number} of {view.members}")
        # Broken where a decision that comes late is carried out: a process goes back to an older view.
        if history.sections and view.number != history.section.view.number + 1:
            raise Violation(f"VIEW_AGREEMENT: {who} goes from view {history.section.view.number} to {view.number}")
        # A base says what earlier views had: who was in them has it, and who was not needs it.
        if bool(history.sections) == (installed.base is not None):
            raise Violation(f"VIEW_AGREEMENT: only one that enters is given a base, {who} in view {view.number}")


class SuccessionRule(Rule):
    """SUCCESSION: a view is the last one's remaining members in their order, then the joiners, as it says itself.

    So rank is age. No name is in a view twice.
    """

    def installed(self, history: ProcessHistory, installed: Installed) -> None:
        view, who = installed.view, history.process
        # Broken where the registry gives a name to whoever asks.
        if len(set(view.names)) != len(view.names):
            raise Violation(f"SUCCESSION: a name is twice in view {view.number} of {view.members}")
        before = self.record.views.get(view.number - 1)
        if before is None:
            return
        old = before.view.members
        # The order is kept, so rank is age, and the leader is the oldest: nobody has to be asked who leads.
        stay = tuple(member for member in old if member not in installed.left)
        if view.members != (*stay, *installed.joined) or not set(installed.left) <= set(old):
            raise Violation(
                f"SUCCESSION: view {view.number} at {who} is {view.members}, after {old} without "
                f"{tuple(installed.left)} and with {installed.joined}"
            )


class StaticStart(Rule):
    """STATIC: only the names that a static group was made with get in; nothing is sent before all were in one view,
    of this instance or of one that it goes on from. What goes on from a group that had started has started.
    """

    def installed(self, history: ProcessHistory, installed: Installed) -> None:
        strangers = set(installed.view.names) - set(self.record.static)
        if self.record.static and strangers:
            raise Violation(f"STATIC: view {installed.view.number} has {sorted(strangers)}, who were not invited")
        # Broken where a successor begins as a new group does: of a static one that lost a member nobody could send.
        made = installed.succeeds
        before = self.record.earlier.get(made.instance) if made and made.by != "ended" else None
        if before and before.has_started and not installed.view.started:
            who = history.process
            raise Violation(f"STATIC: a group had started, and its successor waits for all its names, says {who}")

    def sent(self, history: ProcessHistory, run: Run) -> None:
        # Broken where a static group starts with whoever is there.
        if self.record.static and not self._has_started(history.section.view.number):
            raise Violation(f"STATIC: {run.sender} sends {run.first} in view {run.view}, and not all have been in")

    def _has_started(self, number: int) -> bool:
        views = [installed.view for installed in self.record.views.values() if installed.view.number <= number]
        had_all = any(before.has_had_all for before in self.record.earlier.values())
        if had_all and any(view.number == 1 and view.started for view in views):
            return True
        return any(set(view.names) == set(self.record.static) for view in reversed(views))


class OneLeader(Rule):
    """ONE_LEADER: all processes that install a view name the same leader for it."""

    def __init__(self, record: InstanceHistory) -> None:
        super().__init__(record)
        self._leaders: dict[int, Process] = {}

    def installed(self, history: ProcessHistory, installed: Installed) -> None:
        view = installed.view
        leader = self._leaders.setdefault(view.number, view.leader)
        if leader != view.leader:
            raise Violation(
                f"ONE_LEADER: view {view.number} is led by {leader}, and for {history.process} {view.leader}"
            )


class Expulsion(Rule):
    """EXPULSION: a member that a view leaves out was suspected; a member told that it is put out is in no later view.

    One that leaves others delivers their cut, unless it was suspected or detached, or those who stay stayed behind.

    Of two members between which a link is broken one way, the one put out may be the one that suspects the other.
    """

    def __init__(self, record: InstanceHistory) -> None:
        super().__init__(record)
        self._put_out: dict[int, list[Process]] = {}  # by the view that must do without them and is still to come

    def installed(self, history: ProcessHistory, installed: Installed) -> None:
        for gone, reason in installed.left.items():
            known = self.record.suspected | (self.record.suspecting if reason == CUT_OFF else set())
            # Broken where a change puts out everybody that is slow.
            if reason not in ("request", "merge") and gone not in known:
                raise Violation(
                    f"EXPULSION: view {installed.view.number} goes on without {gone} ({reason}), whom nobody suspected"
                )
        for who in self._put_out.pop(installed.view.number, ()):
            self._must_be_out(who, [installed.view])

    def ended(self, history: ProcessHistory, ended: Ended) -> None:
        who = history.process
        alone = not history.sections or len(history.section.view.members) == 1
        known = self.record.suspected | self.record.suspecting
        # Broken where leavers are not told how the view without them was decided.
        if (
            ended.reason == "request"
            and ended.settled is None
            and not alone
            and who not in known | self.record.detached
            and not self._stayed_behind(ended.view)
        ):
            raise Violation(
                f"EXPULSION: {who} leaves view {ended.view} without the others' cut, and nobody suspected it"
            )
        if ended.reason != "expelled":
            return
        # Broken where the cut is only what all hold, or a leaver is forgotten: a process finds the group gone on
        # without it, or with what it does not have.
        if who not in known:
            raise Violation(f"EXPULSION: {who} is put out of view {ended.view}, and nobody suspected it")
        later = [installed.view for number, installed in self.record.views.items() if number > ended.view]
        if later:
            self._must_be_out(who, later)
        else:
            # No later view is known yet: the next one must do without it.
            self._put_out.setdefault(ended.view + 1, []).append(who)

    def _stayed_behind(self, view: int) -> bool:
        """Return whether a view goes on after this one, and no majority of those who stay has installed it."""
        # A leaver waits for them for TIME_WAIT_MS, and a `wan` group suspects nobody for longer than that.
        after = self.record.views.get(view + 1)
        stay = [who for who in self.record.views[view].view.members if after and who in after.view.members]
        ahead = [who for who in stay if self.record.history(who).section.view.number > view]
        return bool(stay) and 2 * len(ahead) <= len(stay)

    def _must_be_out(self, who: Process, views: list[View]) -> None:
        # Whom an operator gave up is put out by its order, though the view that was succeeded may still have had it.
        if who not in self.record.given_up and all(who in view.members for view in views):
            raise Violation(f"EXPULSION: {who} is put out, and view {views[0].number} has it all the same")
