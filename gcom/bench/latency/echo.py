"""The baseline: `python -m gcom.bench.latency.echo`, one bare Pyro5 call for each message, and the same bytes back."""

from __future__ import annotations

import sys
import threading

from Pyro5 import api, config

from gcom.bench.latency.pacing import age, pace, stamped
from gcom.bench.processes import child

CALL_S = 30.0


class _Echo:
    """The object that is called."""

    @api.expose  # type: ignore[untyped-decorator]
    def echo(self, payload: bytes) -> bytes:
        return payload


def _serve() -> None:
    daemon = api.Daemon(host="127.0.0.1", port=0)
    address = str(daemon.register(_Echo(), "echo"))
    threading.Thread(target=daemon.requestLoop, daemon=True).start()
    child.say("ready", address=address)
    child.wait_for_release()


def _call(address: str, rate: float, size: int) -> None:
    with api.Proxy(address) as proxy:
        proxy._pyroTimeout = CALL_S
        child.say("ready")
        # One connection for all turns, as a group's members keep theirs.
        while (order := child.heard()) is not None:
            child.say("taken", ages_ns=sorted(_ages_ns(proxy, rate, size, order["seconds"])))


def _ages_ns(proxy: api.Proxy, rate: float, size: int, seconds: float) -> list[int]:
    ages_ns: list[int] = []
    pace(rate, seconds, lambda number: ages_ns.append(age(proxy.echo(stamped(number, size)))[1]))
    return ages_ns


def main() -> None:
    """Serve, or with an address call at a rate as told, until standard input ends."""
    # Whatever the environment of this machine says: the baseline is the same one everywhere.
    config.reset(use_environment=False)
    config.SERIALIZER = "msgpack"
    config.SOCK_NODELAY = True
    if len(sys.argv) == 1:
        _serve()
    else:
        address, rate, size = sys.argv[1:]
        _call(address, float(rate), int(size))
    child.end()


if __name__ == "__main__":
    main()
