"""A registry that is killed and started again with its data: how soon it lists all groups, and doubts none."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from time import monotonic

from gcom.bench.benchmark import Tell
from gcom.bench.directory.members import PROCESSES
from gcom.bench.processes.children import START_S, Children
from gcom.core.messages.registry import GroupInfo
from gcom.errors import GComTimeout, RegistryUnavailable
from gcom.runtime import pyro
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.values import names
from gcom.values.names import Address

ROUNDS = 3
JOINED_S = 120.0  # for all groups to be whole
ASK_S = 5.0
POLL_S = 0.01
LIMIT_S = 60.0  # for what hangs, not a figure


def listed_again(groups: int, tell: Tell) -> tuple[float, ...]:
    """Return the seconds of each round, from the first dial that is taken until all groups are listed, whole and alive.

    Raises Unavailable or GComTimeout if a process fails, or a group is not listed again.
    """
    members = [f"members {place}" for place in range(PROCESSES)]
    with tempfile.TemporaryDirectory(prefix="gcom-bench-") as folder, Children() as children:
        registry = children.start_registry(data=Path(folder))
        for place, name in enumerate(members):
            children.start(name, "gcom.bench.directory.members", registry, str(place), str(groups))
        children.gather("ready", members, JOINED_S)
        # Whole once before the kill: a group that never was would not be listed as whole after it either.
        _await_all(registry, groups)
        tell(f"{groups * PROCESSES} members are in {groups} groups; their registry is killed, and started again")
        return tuple(_round(children, registry, Path(folder), groups, tell) for _ in range(ROUNDS))


def _round(children: Children, registry: Address, folder: Path, groups: int, tell: Tell) -> float:
    # As a crash: nothing that a registry does at a good end may be needed for this.
    children.kill_one("registry")
    dialling = _FirstDial(registry)
    # It begins to listen some time before it says that it is ready.
    children.start_registry(names.split_address(registry)[1], data=folder)
    seconds = _await_all(registry, groups) - dialling.taken()
    tell(f"all are listed again after {seconds:.2f} s")
    return seconds


class _FirstDial:
    """A thread that dials until somebody listens."""

    def __init__(self, address: Address) -> None:
        self._place = names.split_address(address)
        self._at = 0.0
        self._thread = Thread(target=self._dial, daemon=True)
        self._thread.start()

    def _dial(self) -> None:
        deadline = monotonic() + START_S
        while monotonic() < deadline:
            try:
                with pyro.dial(*self._place, deadline):
                    self._at = monotonic()
                    return
            except OSError:
                Event().wait(POLL_S)

    def taken(self) -> float:
        """Return when a dial was taken first."""
        self._thread.join(START_S)
        return self._at


def _await_all(registry: Address, groups: int) -> float:
    """Return when all groups were found to be listed with all their members, and alive."""
    deadline = monotonic() + LIMIT_S
    with closing(DirectoryClient(registry, ASK_S)) as client:
        while monotonic() < deadline:
            try:
                found = client.groups()
            # It starts again just now: not to be reached yet is a part of what is measured.
            except RegistryUnavailable:
                found = ()
            if len(found) == groups and not doubted(found):
                return monotonic()
            Event().wait(POLL_S)
    raise GComTimeout(f"after {LIMIT_S:g} s not all of {groups} groups are listed as alive, with all their members")


def doubted(found: Sequence[GroupInfo]) -> list[GroupInfo]:
    """Return the groups that lack a member, or that nobody has registered since."""
    # Neither alone would do: after its start the registry lists from its disk, with members but not alive, what nobody
    # has registered with it yet.
    return [entry for entry in found if not entry.alive or len(entry.members) != PROCESSES]
