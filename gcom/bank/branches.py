"""The branches of a bank: a node and a replica of the accounts each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import gcom
import gcom.sessions
from gcom.bank.accounts import Bank
from gcom.sessions import SessionStore

GROUP = "bank"
OPEN_S = 30.0


def name_of_branch(number: int) -> str:
    """Return the member's name of a branch."""
    return f"branch-{number}"


@contextmanager
def opened(
    branches: Sequence[int], accounts: dict[int, int], overdraft: bool, log_dir: Path | None = None
) -> Iterator[dict[int, SessionStore[Bank]]]:
    """Open a registry and all branches in this process; yield the branches by number."""
    with ExitStack() as stack:
        registry = stack.enter_context(gcom.embedded())
        found = {}
        for number in branches:
            node = stack.enter_context(gcom.connect(name_of_branch(number), registry.address, log_dir=log_dir))
            machine = partial(Bank, accounts, overdraft)
            found[number] = stack.enter_context(gcom.sessions.open(node, GROUP, machine, timeout_s=OPEN_S))
        yield found
