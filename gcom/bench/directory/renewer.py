"""The leaders of many groups in one process: `python -m gcom.bench.directory.renewer REGISTRY GROUPS`.

Each group is registered every RENEW_MS, as its leader would, and the groups are spread evenly over that time. There is
nothing behind them: a registry calls nobody.
"""

from __future__ import annotations

import sys
from contextlib import closing
from threading import Event, Thread
from time import monotonic

from gcom.bench.processes import child
from gcom.core.messages.registry import GroupInfo, Register
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.view import View

ASK_S = 10.0
THREADS = 4  # registers that are under way at once; a registry that is slower falls behind, and that is counted
PERIOD_S = limits.RENEW_MS / 1000
ADDRESS = "127.0.0.1:9"  # the discard port: nobody calls it, and nobody of ours listens there


def group_name(number: int) -> str:
    return f"bench-{number}"


def registration(number: int) -> Register:
    """Return the registration that a group's only member sends each RENEW_MS."""
    process = "m0#bench"
    return Register(Definition(group_name(number)), f"bench{number}", View(1, (process,), (ADDRESS,)), process)


class Renewer:
    """A thread that renews its share of the groups until it is stopped."""

    def __init__(self, registry: str, share: range, stop: Event) -> None:
        self.renewed = 0
        self.refused = 0
        self._registry = registry
        self._share = share
        self._stop = stop
        self.thread = Thread(target=self._run, name=f"renews {share.start}", daemon=True)

    def _run(self) -> None:
        with closing(DirectoryClient(self._registry, ASK_S)) as client:
            due = monotonic()
            while not self._stop.is_set():
                for number in self._share:
                    self._renew(client, number)
                    # From when it was due: a registry that is slow for a moment must not lower the rate.
                    due += PERIOD_S / len(self._share)
                    self._stop.wait(max(0.0, due - monotonic()))

    def _renew(self, client: DirectoryClient, number: int) -> None:
        taken = isinstance(client.ask(registration(number)), GroupInfo)
        self.renewed += taken
        self.refused += not taken


def main() -> None:
    """Register all groups once, then renew them, and tell how many were, until standard input ends."""
    registry, groups = sys.argv[1], int(sys.argv[2])
    with closing(DirectoryClient(registry, ASK_S)) as client:
        # All of them before the first renewal: what is measured then finds its group, as a leader's renewal does.
        for number in range(groups):
            client.ask(registration(number))
    stop = Event()
    renewers = [Renewer(registry, range(first, groups, THREADS), stop) for first in range(min(THREADS, groups))]
    for renewer in renewers:
        renewer.thread.start()
    child.say("ready")
    while child.heard() is not None:
        child.say("renewed", count=sum(it.renewed for it in renewers), refused=sum(it.refused for it in renewers))
    stop.set()
    child.end()


if __name__ == "__main__":
    main()
