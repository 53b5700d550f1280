"""Assembly of runs that no frame holds, from fragments of their bytes: at most one per sender at a time.

Fragments of a stream come in order where nothing fails, since a link carries frames in order; so there is no table of
holes. A fragment that does not continue what is here is ignored, and the sender goes back to what is here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gcom.core.codec import frames as codec
from gcom.errors import MalformedFrame
from gcom.values.names import Process
from gcom.values.run import Fragment, Run


@dataclass(slots=True)
class _Assembly:
    """The first bytes of the run of message `first`; fewer than `total`."""

    first: int
    total: int
    data: bytearray = field(default_factory=bytearray)
    by: set[Process] = field(default_factory=set)  # who brought it


class Assemblies:
    """The large runs that have arrived in part, one per sender. Whether a run is wanted is for the caller to know."""

    def __init__(self) -> None:
        self.open: dict[Process, _Assembly] = {}
        self.brought_by: set[Process] = set()  # the run that became whole last

    def size(self, sender: Process, first: int) -> int:
        """Return how many bytes of the run of message `first` are here."""
        found = self.open.get(sender)
        return len(found.data) if found and found.first == first else 0

    def add(self, fragment: Fragment, by: Process = "") -> Run | None:
        """Take a fragment that a peer brought; return the run once it is whole, and is what its fragments said that it
        is.
        """
        found = self._find(fragment)
        if found is None or fragment.at_byte != len(found.data):
            return None
        # Memory grows by bytes that arrived, never by the announced total: else 64 liars could reserve a gigabyte.
        found.data += fragment.data
        found.by.add(by)
        if len(found.data) < found.total:
            return None
        del self.open[fragment.sender]
        self.brought_by = found.by
        try:
            run = codec.decode_run(bytes(found.data))
        except MalformedFrame:
            return None  # its sender, or a relay, lied: it has to come again from the beginning
        # Decoded bytes may name another sender or view than the fragments did, and would pass every later fence as
        # that.
        same = (run.sender, run.view, run.first) == (fragment.sender, fragment.view, fragment.first)
        return run if same else None

    def _find(self, fragment: Fragment) -> _Assembly | None:
        """Return the assembly that a fragment continues; a fragment of a later run replaces an earlier run's
        assembly.
        """
        found = self.open.get(fragment.sender)
        if found and (found.first, found.total) == (fragment.first, fragment.total):
            return found
        if found and found.first == fragment.first:
            del self.open[fragment.sender]  # two totals: one was a lie, and what is here may be of that one
        elif found and found.first > fragment.first:
            return None
        # The middle of a run whose beginning is not here: its sender goes back to the beginning after the reply.
        if fragment.at_byte:
            return None
        made = self.open[fragment.sender] = _Assembly(fragment.first, fragment.total)
        return made

    def drop(self, sender: Process, first: int, last: int) -> None:
        """Forget what there is of messages first…last, which are given up."""
        found = self.open.get(sender)
        if found and first <= found.first <= last:
            del self.open[sender]
