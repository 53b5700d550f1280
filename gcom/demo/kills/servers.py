"""Servers and proxies of topics as processes, which the demonstration kills and starts again."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

import gcom
from gcom import topics
from gcom.errors import Unavailable
from gcom.topics.served import fence
from gcom.topics.storage.transaction import job

END_S = 30.0


class DemoServers:
    """A registry in this process, and servers of topics beside it. `stores` has the store of each server, by name."""

    def __init__(self, stores: dict[str, str], proxies: int) -> None:
        self.stores = stores
        self._registry = gcom.embedded()
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._addresses: dict[str, str] = {}
        self.proxies = [f"proxy{number}" for number in range(1, proxies + 1)]
        with ExitStack() as on_failure:
            on_failure.callback(self.close)
            for name in [*stores, *self.proxies]:
                self.start(name)
            on_failure.pop_all()

    def start(self, name: str) -> None:
        """Start a server or a proxy, at its earlier address if it had one."""
        what = ["serve", "--store", self.stores[name]] if name in self.stores else ["proxy"]
        at = self._addresses.get(name, "127.0.0.1:0")
        words = ["topics", *what, "--name", name, "--registry", self._registry.address, "--listen", at, "--json"]
        process = subprocess.Popen([sys.executable, "-m", "gcom.cli", *words], stdout=subprocess.PIPE, text=True)
        self._running[name] = process
        assert process.stdout is not None, "it is a pipe"
        line = process.stdout.readline()
        if not line:
            raise Unavailable(f"the server {name!r} ended by itself, with status {process.wait()}: its words are above")
        self._addresses[name] = str(json.loads(line)["address"])

    def kill(self, name: str) -> None:
        """Kill a server with SIGKILL."""
        process = self._running.pop(name)
        process.kill()
        with process:
            process.wait()

    def place(self, names: Sequence[str] = ()) -> str:
        """Return where clients find these; by default all proxies, or servers where there is no proxy."""
        return "gcom://" + ",".join(self._addresses[name] for name in names or self.proxies or list(self.stores))

    def owner(self, topic: str) -> str:
        """Return the name of the server that last wrote a topic; of one server, that one."""
        return self.owners().get(topic, [next(iter(self.stores))])[0]

    def owners(self) -> dict[str, list[str]]:
        """Return the servers that own each topic, as the databases have it: there should be one."""
        found: dict[str, list[str]] = {}
        for place in dict.fromkeys(self.stores.values()):
            with topics.open(place) as store:
                for topic, process in store.access.ask(job(fence.owners)).items():
                    found.setdefault(topic, []).append(process.partition("#")[0])
        return found

    def close(self) -> None:
        """End all of them."""
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            with process:
                process.wait(END_S)
        self._registry.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def stores_of(place: str | None, folder: str, names: Sequence[str]) -> dict[str, str]:
    """Return the stores of servers: one PostgreSQL database for all, or a file for each."""
    return {name: place or f"{folder}/{name}.db" for name in names}
