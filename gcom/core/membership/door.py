"""The door: how a process that asks to be let in is answered, called back and noted (docs/protocols/group.md)."""

from __future__ import annotations

from gcom.core.links import Links
from gcom.core.membership.view_change import ViewChanger
from gcom.core.messages.effects import AskRegistry
from gcom.core.messages.frames import Control, Frame, Join, Redirect, Refused, Reply
from gcom.core.messages.registry import Note
from gcom.values.names import Process


class Door:
    """A member's part in letting others in; it matters only while it leads."""

    def __init__(self, group: str, instance: str, links: Links, view_change: ViewChanger) -> None:
        self._group, self._instance = group, instance
        self._links = links
        self._view_change = view_change
        self._admission = view_change.triggers.admission
        self._called: set[Process] = set()  # have a link, to be called back

    def answer(self, source: Process, join: Join, now_ms: int) -> Refused | tuple[Control, ...]:
        """Answer a Join, perhaps repeated: by a refusal, or by the items of the reply; without any it waits."""
        change = self._view_change
        # A process enters once: its numbers would be given again.
        if change.tombstones.is_gone(source):
            return Refused("expelled", f"{source} was in group {self._group!r}: it enters again as a new process only")
        detector = change.triggers.detector
        leader = next(member for member in change.view.members if not detector.suspected(member))
        if leader != change.process:
            return (Redirect(leader, change.view.address(leader)),)
        refusal = self._admission.ask(source, join, change.view, detector, now_ms)
        self._links.owe_status(self._admission.holders_asked_for(change.view))
        self._call_back(now_ms)
        return (refusal,) if refusal else ()

    def _call_back(self, now_ms: int) -> None:
        for who, address in self._admission.to_call.items():
            if who not in self._links:
                self._links.open(who, address, now_ms)
                self._links.owe_status([who])
                self._called.add(who)

    def on_reply(self, peer: Process, reply: Reply) -> bool:
        """Take the answer of a process that was called back; return whether it is one."""
        if peer not in self._called:
            return False
        # `entering` of another instance: it is on its way in there as well. All else is said by whoever has its port.
        self._end_call(peer, answers=isinstance(reply, Frame) or reply.code == "entering")
        return True

    def on_failed(self, peer: Process) -> None:
        """Record that a process that is called back does not answer."""
        if peer in self._called:
            self._end_call(peer, answers=False)

    def _end_call(self, peer: Process, answers: bool) -> None:
        # Its link is closed: a view opens one of its own, whose heartbeats have the time of that view's others.
        self._called.remove(peer)
        self._links.close(peer)
        self._admission.on_called(peer, answers)

    def note(self, now_ms: int) -> None:
        """Have the registry note the joiners that are to be admitted."""
        if joiners := self._admission.to_note(now_ms):
            view = self._view_change.view.number
            self._view_change.effects.append(AskRegistry(Note(self._group, self._instance, view, joiners)))
