"""The first view of a successor, made from the decision that ended its predecessor (docs/protocols/continuity.md)."""

from __future__ import annotations

from gcom.core.messages.effects import Succeeds
from gcom.core.messages.frames import ORDER, Decision, Frame, Install, Refused, Reply, Status
from gcom.core.messages.registry import GroupInfo
from gcom.values.definition import Definition
from gcom.values.view import View


def first_view(definition: Definition, instance: str, decided: Install) -> tuple[GroupInfo, Install, Succeeds]:
    """Return the successor of `instance`: its entry, the INSTALL of its view 1, and the view that this follows."""
    decision, last = decided.decision, decided.decision.view
    made = decision.succession
    assert made is not None, "a succession was decided"
    # The same processes and addresses, so streams to peers live on. Numbers begin at 1 again, which the new instance id
    # fences; serials go on, since the audit holds that they have no gap and no double across instances.
    view = View(1, last.members, last.addresses, last.started)
    entry = GroupInfo(definition, made.instance, 1, view.members, view.addresses, alive=True)
    # All of them enter it together, with an empty cut, as numbers begin anew. Where
    # the sequencer is, and whose state each is given, the succession has decided.
    first = Decision(view, view.members, {}, {}, decision.at_registry, decision.sources)
    # For the log: it names where the predecessor's streams ended. Where its order ended is `serial`, which counts the
    # no-ops: messages with a serial that no survivor holds, beyond the end of their stream.
    cut = {sender: number for sender, number in decision.cut.items() if sender != ORDER}
    follows = Succeeds(instance, last.number - 1, cut, decided.serial, made.by, made.gone, made.gives_up)
    return entry, Install(first, decided.serial), follows


def told_of_successor(frame: Frame, decided: Install) -> Reply:
    """Answer a call to a process in an instance that another one succeeds, for as long as its node lives."""
    view = decided.decision.view
    # The INSTALL may have been lost on its way: a member of the successor is told again with every call.
    if frame.source in view.members:
        head = (frame.group, frame.instance, frame.target, frame.source)
        # As if in the view that is left, where the caller still is:
        # the INSTALL moves it on, and nothing else is news to it.
        return Frame(*head, Status(view.number - 1), (decided,))
    # It was no member: it finds the successor where it found this one.
    if frame.source not in decided.decision.cut:
        return Refused("elsewhere", f"{frame.target} is in another instance of group {frame.group!r}")
    text = f"another instance of group {frame.group!r} goes on without {frame.source}"
    return Refused("expelled", text, decided.decision.cut.get(frame.source))
