"""Why there should be another view, who may propose it, and what (DESIGN 8, 9)."""

from __future__ import annotations

from gcom.core.admission import Admission
from gcom.core.detector import Detector, is_quorum
from gcom.core.frames import Decision, Promise
from gcom.values import names
from gcom.values.definition import Definition
from gcom.values.names import Process
from gcom.values.view import View


def is_started(definition: Definition, members: tuple[Process, ...], before: bool) -> bool:
    """A static group starts when all its names are in, and stays started."""
    return before or set(definition.static) <= {names.name_of(member) for member in members}


class Grounds:
    """What speaks for a change of the view, as far as this process knows: suspects, leavers, joiners, frozen members.

    `frozen`: a member has promised to a change that this process may know nothing of.
    """

    def __init__(self, process: Process, definition: Definition, view: View) -> None:
        self.detector = Detector(process)
        self.admission = Admission(definition, process)
        self.leavers: dict[Process, None] = {}  # in the order in which they were heard
        self.frozen = False
        self._process = process
        self._definition = definition
        self._view = view

    def install(self, view: View, now_ms: int) -> None:
        """Begin a view; what still speaks for another one is kept."""
        self._view = view
        self.frozen = False
        self.leavers = {member: None for member in self.leavers if member in view.members}
        self.detector.install(view, now_ms)
        self.admission.install(view)

    @property
    def live(self) -> set[Process]:
        """The members that this process does not suspect, itself included."""
        return set(self._view.members) - set(self.detector.suspects)

    @property
    def has_quorum(self) -> bool:
        """Whether the live members are a quorum."""
        return is_quorum(self._view, self.live)

    @property
    def urgent(self) -> bool:
        """Whether a change is wanted for more than joins."""
        return bool(self.frozen or self.leavers or self.detector.suspects or self._accused)

    @property
    def any(self) -> bool:
        """Whether a change is wanted."""
        return self.urgent or self.admission.any

    @property
    def _accused(self) -> list[Process]:
        """Whom a quorum suspects, though this process may not."""
        return [member for member in self._view.members if self.detector.by_quorum(member)]

    def may_propose(self, now_ms: int) -> bool:
        """Whether this process should propose, as far as the others go: joins alone wait for one another a little."""
        ripe = self.urgent or self.admission.gathered(self.live, now_ms)
        return ripe and self.has_quorum and self.permits(self._process)

    def permits(self, proposer: Process) -> bool:
        """Whether this process, or a quorum, suspects every rank above the proposer's: the bully's rule, by votes.

        For its own proposal only the quorum counts: a lone suspicion would freeze this process for nothing.
        """
        above = self._view.members[: self._view.rank(proposer)]
        alone = proposer != self._process
        return all(self.detector.by_quorum(member) or (alone and self.detector.suspected(member)) for member in above)

    def fresh(self, promises: dict[Process, Promise]) -> Decision:
        """The value when no promise reports an accepted one: the union of what the promises hold.

        If nobody would stay, the proposer does, and leaves alone after that.
        """
        reasons = dict.fromkeys(self._accused, "accused") | self.detector.suspects
        reasons |= dict.fromkeys(self.leavers, "request")
        old = self._view
        stay = [member for member in old.members if member in promises and member not in reasons] or [self._process]
        left = {member: reasons.get(member, "silence") for member in old.members if member not in stay}
        joiners = self.admission.ready(set(stay))
        members = (*stay, *[joiner.process for joiner in joiners])
        addresses = (*map(old.address, stay), *[joiner.address for joiner in joiners])
        view = View(old.number + 1, members, addresses, is_started(self._definition, members, old.started))
        cut = {sender: max(promise.held.get(sender, 0) for promise in promises.values()) for sender in old.members}
        return Decision(view, tuple(joiner.process for joiner in joiners), left, cut)
