"""`python -m gcom.bench.sessions.replica REGISTRY NAME [DATA NAMES]`: one more replica of the measured accounts."""

from __future__ import annotations

import sys
from typing import Any

import gcom
import gcom.sessions
from gcom.bank.accounts import Bank
from gcom.bench.processes import child

OPEN_S = 60.0


def main() -> None:
    """Serve until released."""
    registry, name, group, *durable = sys.argv[1:]
    options: dict[str, Any] = {"data": durable[0], "replicas": tuple(durable[1].split(","))} if durable else {}
    with (
        gcom.connect(name, registry) as node,
        gcom.sessions.open(node, group, Bank, timeout_s=OPEN_S, **options),
    ):
        child.say("ready")
        child.wait_for_release()
    child.end()


if __name__ == "__main__":
    main()
