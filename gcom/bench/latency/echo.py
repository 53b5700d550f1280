"""The baseline: one bare Pyro5 call for each message, and the same bytes back."""

from __future__ import annotations

import threading

from Pyro5 import api

from gcom.bench.frame import JsonRow
from gcom.bench.latency.pacing import age, pace, stamped
from gcom.bench.settings import LatencySetup
from gcom.bench.throughput.frames import bare_daemon, configure

CALL_S = 30.0


class Echo:
    """A process with an object that is called."""

    def __init__(self) -> None:
        daemon = bare_daemon()
        self.address = str(daemon.register(self, "echo"))
        threading.Thread(target=daemon.requestLoop, daemon=True).start()

    @api.expose  # type: ignore[untyped-decorator]
    def echo(self, payload: bytes) -> bytes:
        return payload


class EchoCaller:
    """A caller at the rate of all members together: as many messages a second on either side."""

    def __init__(self, address: str, setup: JsonRow) -> None:
        configure()
        self._setup = LatencySetup(**setup)
        # One connection for all turns, as a group's members keep theirs.
        self._proxy = api.Proxy(address)
        self._proxy._pyroTimeout = CALL_S

    def take(self, seconds: float) -> JsonRow:
        ages_ns: list[int] = []
        echo, size = self._proxy.echo, self._setup.size
        pace(self._setup.rate, seconds, lambda number: ages_ns.append(age(echo(stamped(number, size)))[1]))
        return {"ages_ns": sorted(ages_ns)}
