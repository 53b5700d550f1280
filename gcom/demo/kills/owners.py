"""Kills the owner of the topics, while a producer and then a consumer work through proxies, and counts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

from gcom.demo.kills import worker
from gcom.demo.kills.killing import KillResult, compared, prepared
from gcom.demo.kills.servers import DemoServers, stores_of
from gcom.errors import Unavailable

LINES_PER_KILL = 100


def kill_owners(
    times: int, proxies: int, folder: Path, place: str | None, tell: Callable[[str], object], seed: int = 1
) -> KillResult:
    """Kill the owner so many times, half of them while the producer works; the folder must be new or empty.

    Three servers share a PostgreSQL database; a file has one, which is started again.
    """
    lines = prepared(folder, LINES_PER_KILL * (times + 1))
    stores = stores_of(place, str(folder), ("a", "b", "c") if place else ("a",))
    with DemoServers(stores, proxies) as servers:
        killing = _OwnerKills(servers, times, tell, Random(seed))
        killing.during("producer", folder, times - times // 2)
        killing.during("consumer", folder, times)
        return compared("owner", killing.kills, lines, folder, servers.place())


class _OwnerKills:
    def __init__(self, servers: DemoServers, times: int, tell: Callable[[str], object], chance: Random) -> None:
        self._servers, self._times, self._tell, self._chance = servers, times, tell, chance
        self.kills = 0

    def during(self, role: str, folder: Path, upto: int) -> None:
        """Run a worker to its end, and kill the owner after some of its batches, until there were so many kills."""
        command = [sys.executable, "-m", "gcom.demo.kills.worker", role, str(folder), self._servers.place()]
        due = self._next()
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None, "it is a pipe"
            assert process.stdin is not None, "it is a pipe"
            try:
                for count, line in enumerate(process.stdout):
                    if line == "done\n":
                        process.wait()
                        break
                    process.stdin.write("\n")
                    process.stdin.flush()
                    if count >= due and self.kills < upto:
                        self._kill()
                        due = count + self._next()
            finally:
                process.kill()
        if process.returncode != 0:
            raise Unavailable(f"the {role} ended by itself, with status {process.returncode}: its words are above")

    def _next(self) -> int:
        return self._chance.randint(1, 4)

    def _kill(self) -> None:
        """Kill the owner at some moment of the batch that has just begun, and start it again."""
        owner = self._servers.owner(worker.TOPIC)
        self._servers.kill(owner)
        self.kills += 1
        self._tell(f"killed {self.kills} of {self._times} times: the owner was {owner!r}")
        self._servers.start(owner)
