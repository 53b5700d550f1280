"""The part of a group that shows it: snapshots and receipts. None of it waits for anything but the node's lock."""

from __future__ import annotations

from gcom.runtime.api.handle import GroupHandle
from gcom.runtime.api.watch import Watch
from gcom.runtime.inspection.snapshots import receipt_of
from gcom.runtime.user_process.entry import application_call
from gcom.values.snapshot import Receipt, Snapshot


class Inspecting(GroupHandle):
    """The methods of a group that tell how it stands."""

    @application_call()
    def snapshot(self) -> Snapshot:
        """Return one consistent look at this process in the group: view, clocks, what is held back, suspicions.

            for held in group.snapshot().held_back:
                print(held.sender, held.first, "waits for", ", ".join(map(str, held.waits_for)))

        It asks nobody, so it works while detached and, with the last view, on the way back.
        """
        with self._host.lock:
            return self._host.snapshot(self._membership)

    @application_call()
    def receipt(self, number: int) -> Receipt:
        """Return the state of the message to which `send` gave that number, and which members are known to hold it.

            number = group.send("hello")
            print(group.receipt(number).state)

        The numbers are those of the present `process` and `instance`: after a Returned event, and in a successor, they
        begin at 1 again, so compare those of the Receipt, or settle what is open by the Departure. Nothing is kept per
        message: a member that came since is named neither way. Raises BadValue for a number that was not given.
        """
        with self._host.lock:
            return receipt_of(self._session, number)

    @application_call()
    def watch(self, most: int = 10_000) -> Watch:
        """Record for each message when it was sent, received, ordered and delivered, its serial and its vector clock.

        The last `most` messages are kept. Nothing is recorded before, and nothing once no watch is open. Raises
        BadValue.
        """
        return Watch(self._host, self._membership, most)
