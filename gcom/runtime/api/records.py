"""The delivery log of a process, for what stands on groups and has records of its own."""

from __future__ import annotations

from gcom.runtime.api.node import Node
from gcom.trace.writer import DeliveryLog


def log_of(node: Node, process: str) -> DeliveryLog | None:
    """Return the log that a process of this node writes; None without `log_dir`, or once the log is closed."""
    return node._host.logs.get(process)
