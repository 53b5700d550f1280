"""`python -m gcom.demo.bank.branch_process`: one branch, told on standard input what it is, until that ends."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any

import gcom
import gcom.sessions
from gcom.bank.accounts import Bank
from gcom.bank.branch_server import BranchServer
from gcom.bank.branches import GROUP, name_of_branch
from gcom.bench.processes import child

OPEN_S = 3_600.0  # a durable branch waits for a majority, however long the others take


def serve(told: dict[str, Any]) -> None:
    """Be a branch until it is stopped."""
    number, stopped = told["branch"], Event()
    machine = partial(Bank, {int(it): money for it, money in told["accounts"].items()}, told["overdraft"])
    options: dict[str, Any] = {}
    if told["data"]:
        options = {"data": told["data"], "replicas": tuple(map(name_of_branch, told["branches"]))}
        Path(told["data"]).mkdir(parents=True, exist_ok=True)
    place = f"127.0.0.1:{told['port']}" if told["port"] else None
    with gcom.connect(name_of_branch(number), told["registry"], listen=place, log_dir=told["log_dir"]) as node:
        child.say("connected")
        with gcom.sessions.open(node, GROUP, machine, timeout_s=OPEN_S, **options) as store:
            server = BranchServer(node, store, stopped.set)
            Thread(target=_await_release, args=(stopped,), daemon=True).start()
            child.say("ready", address=node.address.partition("@")[0])
            stopped.wait()
            server.close()
    child.say("stopped")


def _await_release(stopped: Event) -> None:
    child.wait_for_release()
    stopped.set()


def main() -> None:
    """Take the parent's word, and serve."""
    told = child.hear("serve")
    try:
        serve(told)
    except gcom.GComError as error:
        child.say("failed", text=str(error))
        child.end(1)
    child.end()


if __name__ == "__main__":
    main()
