"""The bank's accounts: a deterministic machine."""

from __future__ import annotations

from gcom.replicated import Refused
from gcom.replicated.machine import Machine, command, query

CUSTOMERS_MAX = 100_000
MONEY_MAX = 10**18  # of one amount, and of what an account holds
ACCOUNT_MAX = 10**18  # with either sign


class BadMoney(Refused):
    """An amount that is none."""


class BadAccount(Refused):
    """An account's number that is none."""


class Overdrawn(Refused):
    """An account that does not have so much."""


def money_of(amount: object) -> int:
    """Return an amount of money; raises BadMoney unless it is a whole number from 0 to MONEY_MAX."""
    if isinstance(amount, bool) or not isinstance(amount, int) or not 0 <= amount <= MONEY_MAX:
        raise BadMoney(f"money must be a whole number from 0 to {MONEY_MAX}; got {amount!r:.60}")
    return amount


def account_of(number: object) -> int:
    """Return an account's number; raises BadAccount unless it is a whole number: to Python True and 1.0 are 1."""
    if isinstance(number, bool) or not isinstance(number, int) or abs(number) > ACCOUNT_MAX:
        raise BadAccount(f"an account's number must be a whole number up to {ACCOUNT_MAX}; got {number!r:.60}")
    return number


class Bank(Machine):
    """Accounts by number, and their money. With `overdraft` a withdrawal may leave less than nothing."""

    def __init__(self, opening: dict[int, int] | None = None, overdraft: bool = False) -> None:
        self.balances = dict(opening or {})
        self.overdraft = overdraft
        self.put_in = sum(self.balances.values())  # by deposits, less what was withdrawn
        self.tokens: dict[int, str] = {}  # of the sessions of customers that number their events (branch_server.py)

    @command
    def deposit(self, account: int, money: int) -> int:
        """Put money into an account; return what it holds."""
        balance = self._checked(self._held(account) + money_of(money), account)
        self.balances[account] = balance
        self.put_in += money
        return balance

    @command
    def withdraw(self, account: int, money: int) -> int:
        """Take money out of an account; return what it holds. Raises Overdrawn."""
        balance = self._checked(self._held(account) - money_of(money), account)
        self.balances[account] = balance
        self.put_in -= money
        return balance

    @command
    def transfer(self, account: int, to: int, money: int) -> int:
        """Move money to another account; return what the first holds. Raises Overdrawn."""
        has, there, money = self._held(account), self._held(to), money_of(money)
        if account == to:
            return has
        left, there = self._checked(has - money, account), self._checked(there + money, to)
        self.balances[account], self.balances[to] = left, there
        return left

    @command
    def enroll(self, customer: int, token: str) -> str:
        """Note the session of a customer; return the one that was noted first."""
        if len(self.tokens) >= CUSTOMERS_MAX:
            raise Refused(f"{CUSTOMERS_MAX:,} customers are enrolled: no more are taken")
        return self.tokens.setdefault(customer, token)

    @query
    def token_of(self, customer: int) -> str:
        """Return the session of a customer, as a token; empty for one that is not known here."""
        return self.tokens.get(customer, "")

    @query
    def balance(self, account: int) -> int:
        """Return what an account holds."""
        return self._held(account)

    @query
    def total(self) -> int:
        """Return what all accounts hold; it is what was put in."""
        return sum(self.balances.values())

    @query
    def expected(self) -> int:
        """Return what all accounts should hold: what was put in, less what was withdrawn."""
        return self.put_in

    @query
    def invariant(self) -> int:
        """Return what is there and should not be: 0, or money was made or lost. The audit compares it."""
        return self.total() - self.expected()

    def _held(self, account: int) -> int:
        return self.balances.get(account_of(account), 0)

    def _checked(self, balance: int, account: int) -> int:
        if balance < 0 and not self.overdraft:
            raise Overdrawn(f"account {account} holds too little: {-balance} are missing")
        if abs(balance) > MONEY_MAX:
            raise Refused(f"account {account} would hold more than {MONEY_MAX}")
        return balance
