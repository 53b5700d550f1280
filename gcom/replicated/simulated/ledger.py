"""The machine of `gcom sim --application replicated`: its commands refuse, fail half-way, and see who is there."""

from __future__ import annotations

from gcom.replicated.errors import CommandRefused
from gcom.replicated.machine import Machine, command

ACCOUNTS = ("a", "b", "c")
PIECES = 1_000


class AccountLedger(Machine):
    """Accounts whose sum never changes, and a list of all transfers."""

    def __init__(self) -> None:
        self.accounts = dict.fromkeys(ACCOUNTS, PIECES)
        self.transfers: list[int] = []
        self.there: tuple[str, ...] = ()

    @command
    def move(self, source: int, target: int, amount: int) -> tuple[int, int]:
        """Move an amount; refuse one that is not there."""
        giver, taker = ACCOUNTS[source % len(ACCOUNTS)], ACCOUNTS[target % len(ACCOUNTS)]
        if not 0 <= amount <= self.accounts[giver]:
            raise CommandRefused(giver, amount)
        self.accounts[giver] -= amount
        self.accounts[taker] += amount
        self.transfers.append(self.context.index)
        return len(self.transfers), self.accounts[giver]

    @command
    def spoil(self) -> None:
        """Change the state, and fail: all is as before."""
        self.accounts.clear()
        raise KeyError("spoiled")

    def on_members(self, members: tuple[str, ...]) -> None:
        """Note who is there."""
        self.there = members


def sum_is_kept(machine: AccountLedger) -> bool:
    """The invariant: what one account gives another one has, and each transfer stands behind the one before it."""
    rising = all(first < second for first, second in zip(machine.transfers, machine.transfers[1:], strict=False))
    return rising and sum(machine.accounts.values()) == PIECES * len(ACCOUNTS)
