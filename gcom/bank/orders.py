"""Input files of a bank: customers with what they do, and branches. The format is the seed's JSON list.

[{"id": 1, "type": "customer", "events": [{"interface": "deposit", "money": 400, "dest": 1}]},
 {"id": 1, "type": "bank", "balance": 0}]
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from gcom.bank.accounts import ACCOUNT_MAX, BadMoney, money_of
from gcom.errors import BadValue

FILE_BYTES_MAX = 64 * 1024 * 1024
BRANCHES_MAX = 64  # members of a group
Interface = Literal["deposit", "withdraw", "query", "transfer"]
INTERFACES: tuple[Interface, ...] = ("deposit", "withdraw", "query", "transfer")


@dataclass(frozen=True, slots=True)
class BankOrder:
    """A thing that a customer does at a branch."""

    interface: Interface
    branch: int
    money: int = 0
    to: int | None = None  # the account of a transfer


@dataclass(frozen=True, slots=True)
class Customer:
    """A customer, its account of the same number, and its orders."""

    id: int
    orders: tuple[BankOrder, ...]


@dataclass(frozen=True, slots=True)
class BankOrders:
    """The customers and branches of an input file, and the opening balance."""

    customers: tuple[Customer, ...]
    branches: tuple[int, ...]
    balance: int  # of each customer, at first


def read(path: Path) -> BankOrders:
    """Return what a file says; raises BadValue, with line and column where it is no JSON, and OSError."""
    size = path.stat().st_size
    if size > FILE_BYTES_MAX:
        raise BadValue(f"{path} has {size:,} bytes; an input file has at most {FILE_BYTES_MAX:,}")
    try:
        return orders_of(json.loads(path.read_text(encoding="utf-8"), parse_constant=no_number))
    except json.JSONDecodeError as error:
        raise BadValue(f"{path}:{error.lineno}:{error.colno}: no JSON: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise BadValue(f"{path}: no UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise BadValue(f"{path}: lists are nested too deeply") from error
    except (BadValue, BadMoney) as error:
        raise BadValue(f"{path}: {error}") from error


def orders_of(rows: object) -> BankOrders:
    """Return what such a list says; raises BadValue, naming the entry."""
    if not isinstance(rows, list):
        raise BadValue('expected a list of entries with "type": "customer" or "bank"')
    customers: dict[int, Customer] = {}
    branches: dict[int, int] = {}
    for place, row in enumerate(rows, 1):
        try:
            kind, number = _field(row, "type"), _id(row)
            if kind == "customer":
                if number in customers:
                    raise BadValue(f"customer {number} is there twice")
                customers[number] = Customer(number, tuple(map(order_of, _list(row, "events"))))
            elif kind == "bank":
                if number in branches:
                    raise BadValue(f"branch {number} is there twice")
                branches[number] = money_of(row.get("balance", 0))
            else:
                raise BadValue(f'"type" must be customer or bank; got {kind!r:.40}')
        except (BadValue, BadMoney) as error:
            raise BadValue(f"entry {place}: {error}") from error
    return _checked(customers, branches)


def _checked(customers: Mapping[int, Customer], branches: Mapping[int, int]) -> BankOrders:
    if not 1 <= len(branches) <= BRANCHES_MAX:
        raise BadValue(f"a bank has 1 to {BRANCHES_MAX} branches; got {len(branches)}")
    balances = set(branches.values())
    if len(balances) > 1:
        raise BadValue(f"all branches have the same accounts: give them one balance, not {sorted(balances)[:5]}")
    for customer in customers.values():
        for order in customer.orders:
            if order.branch not in branches:
                raise BadValue(f"customer {customer.id} goes to branch {order.branch}, which is not there")
            if order.to is not None and order.to not in customers:
                raise BadValue(f"customer {customer.id} sends money to {order.to}, who is no customer")
    return BankOrders(tuple(customers.values()), tuple(branches), balances.pop())


def order_of(row: object) -> BankOrder:
    """Return the order that an object says; raises BadValue, BadMoney."""
    interface = _field(row, "interface")
    if interface not in INTERFACES:
        raise BadValue(f'"interface" must be one of {", ".join(INTERFACES)}; got {interface!r:.40}')
    branch = whole(row, "dest")
    if interface == "query":
        return BankOrder(interface, branch)
    return BankOrder(
        interface, branch, money_of(_field(row, "money")), whole(row, "to") if interface == "transfer" else None
    )


def _field(row: object, name: str) -> Any:
    if not isinstance(row, dict) or name not in row:
        raise BadValue(f'expected an object with "{name}"; got {row!r:.80}')
    return row[name]


def _list(row: object, name: str) -> list[object]:
    found = _field(row, name)
    if not isinstance(found, list):
        raise BadValue(f'"{name}" must be a list; got {found!r:.40}')
    return found


def whole(row: object, name: str) -> int:
    """Return a whole number of an object; raises BadValue."""
    found = _field(row, name)
    if isinstance(found, bool) or not isinstance(found, int) or abs(found) > ACCOUNT_MAX:
        raise BadValue(f'"{name}" must be a whole number; got {found!r:.40}')
    return found


def _id(row: object) -> int:
    return whole(row, "id")


def no_number(text: str) -> NoReturn:
    """Raise BadValue for NaN and Infinity, which Python's reader of JSON would take."""
    raise BadValue(f"{text} is no number that JSON knows")
