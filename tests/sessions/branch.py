"""`python -m tests.sessions.branch REGISTRY NAME`: one replica of the bank, until its standard input ends."""

from __future__ import annotations

import sys

import gcom
import gcom.sessions
from gcom.bank.accounts import Bank


def main() -> None:
    """Serve, and say when that begins."""
    registry, name = sys.argv[1:]
    with gcom.connect(name, registry) as node, gcom.sessions.open(node, "bank", Bank, timeout_s=60.0):
        print("ready", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
