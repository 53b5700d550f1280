"""The state that an application had in the instance it left: kept until it is merged where the application is now.

One per application in a group, over all its sessions; the driver holds it (docs/protocols/netsplit.md). It calls
`leave` when all of a session has been dealt with, and `enter` before anything of the next is. It calls `merged` when a
MergeState is put to the queue; `given` or `lost` when the state that the application awaits has come, or cannot come.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gcom.values.names import Process
from gcom.values.run import StateToMerge


@dataclass(frozen=True, slots=True)
class _Kept:
    state: bytes
    instance: str
    in_vain: bool  # has in it a state that was brought to that session, and was not merged there
    in_doubt: bool = False  # merged by others, and here it depends on the state that is on its way


class StateReconciliation:
    """The state that one application has still to bring."""

    def __init__(self) -> None:
        self._kept: _Kept | None = None

    @property
    def done(self) -> bool:
        """Return whether nothing waits to be merged."""
        return self._kept is None

    def leave(self, instance: str, state: bytes, merge: Callable[[bytes, bytes], bytes]) -> None:
        """End a session: keep its state."""
        # What was to be brought there and was not merged goes along, or a second split would lose it.
        before = self._kept
        self._kept = _Kept(merge(state, before.state) if before else state, instance, before is not None)

    def enter(self, instance: str, first: bool) -> StateToMerge | None:
        """Begin a session, as the first of its instance or not; return what to multicast in it, if anything."""
        kept = self._kept
        if kept is None:
            return None
        # The first of an instance goes on with what it has. A process that comes back to the instance that it was in
        # has missed nothing that its own state would add.
        if not kept.in_vain and (first or kept.instance == instance):
            self._kept = None
            return None
        self._kept = replace(kept, in_doubt=False)
        return StateToMerge(kept.state)

    def merged(self, process: Process, sender: Process, state: bytes, *, awaiting: bool) -> None:
        """Record that `process`, which is this one, merges what `sender` brought.

        `awaiting`: its application has no state yet that this could be merged into.
        """
        # An equal state of another member counts as well: equal states are merged once per barrier.
        if self._kept and (sender == process or state == self._kept.state):
            # Still awaiting: the state that comes is of a later barrier and covers the merge; if none comes, nobody
            # alive may have it.
            self._kept = replace(self._kept, in_doubt=True) if awaiting else None

    def given(self) -> None:
        """Record that the state that was awaited has come."""
        if self._kept and self._kept.in_doubt:
            self._kept = None

    def lost(self) -> StateToMerge | None:
        """Record that no state comes; return what to multicast again, if anything."""
        # The members that had merged it may be the dead ones whose state was awaited.
        if self._kept is None or not self._kept.in_doubt:
            return None
        self._kept = replace(self._kept, in_doubt=False)
        return StateToMerge(self._kept.state)

    def give_up(self) -> bytes | None:
        """Keep nothing any more; return what nobody is known to have merged."""
        # Also where no other state has taken its place yet: that the process was about to bring it is known here only.
        kept, self._kept = self._kept, None
        return kept.state if kept else None
