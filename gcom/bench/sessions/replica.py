"""One more replica of the measured accounts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gcom
import gcom.sessions
from gcom.bank.accounts import Bank

OPEN_S = 60.0


@contextmanager
def replica(name: str, registry: str, group: str, durable: dict[str, Any]) -> Iterator[None]:
    """Serve; `durable` are the options of a store with a disk."""
    with gcom.connect(name, registry) as node, gcom.sessions.open(node, group, Bank, timeout_s=OPEN_S, **durable):
        yield
