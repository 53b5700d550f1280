"""Customers of a bank: each carries out its orders in one session, at the branches that it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from gcom.bank.accounts import Bank
from gcom.bank.orders import BankOrder, Customer
from gcom.replicated import Refused
from gcom.sessions import SessionStore

AT_ONCE = 64  # customers; the others wait for their turn


@dataclass(frozen=True, slots=True)
class CustomerResult:
    """The outcome of a customer's orders: its balance after the last order, and what was refused."""

    id: int
    balance: int
    refused: tuple[str, ...] = ()


def carry_out(
    customers: tuple[Customer, ...],
    branches: Mapping[int, SessionStore[Bank]],
    on_done: Callable[[CustomerResult], object] = lambda _: None,
) -> list[CustomerResult]:
    """Have all customers bank at the same time; return what came of each, in their order. Raises GComError."""
    with ThreadPoolExecutor(min(AT_ONCE, len(customers) or 1), "gcom customer") as pool:
        results = []
        for result in pool.map(lambda it: visit(it, branches), customers):
            on_done(result)
            results.append(result)
        return results


def visit(customer: Customer, branches: Mapping[int, SessionStore[Bank]]) -> CustomerResult:
    """Carry out one customer's orders."""
    first = next(iter(branches.values()))
    balance, refused = 0, []
    session = first.session()
    token, at = session.token, first
    try:
        for place, order in enumerate(customer.orders, 1):
            if branches[order.branch] is not at:
                at = branches[order.branch]
                session = at.session(token=token)
            try:
                balance = perform(session.state, customer.id, order)
            except Refused as error:
                refused.append(f"order {place}: {error}")
            token = session.token
    finally:
        session.close()
    return CustomerResult(customer.id, balance, tuple(refused))


def perform(bank: Bank, account: int, order: BankOrder) -> int:
    """Carry out one order at an account; return the account's balance."""
    match order.interface:
        case "deposit":
            return bank.deposit(account, order.money)
        case "withdraw":
            return bank.withdraw(account, order.money)
        case "transfer":
            assert order.to is not None, "orders_of checks it"
            return bank.transfer(account, order.to, order.money)
        case "query":
            return bank.balance(account)
