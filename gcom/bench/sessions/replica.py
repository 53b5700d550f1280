"""One more replica of the measured accounts."""

from __future__ import annotations

from typing import Any

import gcom
import gcom.sessions
from gcom.bank.accounts import Bank
from gcom.bench.processes import child

OPEN_S = 60.0


def run(name: str, registry: str, group: str, durable: dict[str, Any]) -> None:
    """Serve until released; `durable` are the options of a store with a disk."""
    with (
        gcom.connect(name, registry) as node,
        gcom.sessions.open(node, group, Bank, timeout_s=OPEN_S, **durable),
    ):
        child.obey()
