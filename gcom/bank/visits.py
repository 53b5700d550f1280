"""Customers at branches that `gcom bank serve` runs: each numbers its events, and calls `MsgDelivery` for each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from threading import Event
from time import monotonic
from typing import Any

from gcom.bank.branch_server import BRANCH
from gcom.bank.branches import name_of_branch
from gcom.bank.customers import AT_ONCE, CustomerResult
from gcom.bank.orders import BankOrder, Customer
from gcom.errors import GComError, GComTimeout, LocalError, PeerError, error_of
from gcom.runtime import pyro
from gcom.runtime.security.process import credentials_for
from gcom.values.names import Address

ANSWER_S = 2.0  # then another branch is asked; twice as long in the next round
ROUND_S = 0.2  # before all are asked once more
PATIENCE_S = 60.0  # for one event
FINAL = {"BadValue", "BadMoney", "SessionForked", "SessionUnknown", "BadToken", "NotPermitted", "MachineFailed"}


@dataclass(frozen=True, slots=True)
class ServedBranches:
    """The addresses of a bank's branches. Any thread may call them."""

    addresses: Mapping[int, Address]
    pause: Event = field(default_factory=Event)

    def carry_out(
        self, customers: tuple[Customer, ...], on_done: Callable[[CustomerResult], object] = lambda _: None
    ) -> list[CustomerResult]:
        """Have all customers bank at the same time; return what came of each, in their order. Raises GComError."""
        results = []
        with ThreadPoolExecutor(min(AT_ONCE, len(customers) or 1), "gcom customer") as pool:
            for result in pool.map(self._visit, customers):
                on_done(result)
                results.append(result)
        return results

    def stop(self) -> None:
        """End all branches; one that does not answer is gone already."""
        for branch in self.addresses:
            with closing(self._caller(branch, "Stop")) as caller:
                try:
                    caller.call(b"{}", ANSWER_S)
                except (pyro.ConnectionRefused, pyro.ConnectionLost):
                    continue

    def _visit(self, customer: Customer) -> CustomerResult:
        balance, refused = 0, []
        with ExitStack() as stack:
            callers = {branch: stack.enter_context(closing(self._caller(branch))) for branch in self.addresses}
            clock = {branch: stack.enter_context(closing(self._caller(branch, "ClockUpdate"))) for branch in callers}
            first = customer.orders[0].branch if customer.orders else next(iter(callers))
            write_set = self._ask(clock, first, {"id": customer.id})["write_set"]
            for place, order in enumerate(customer.orders):
                event = _event_of(customer, order, write_set + place)
                answer = self._ask(callers, order.branch, event)
                if answer.get("write_set") != event["write_set"]:
                    raise PeerError(f"branch {order.branch} answered another event than {event}: {answer}")
                if answer["result"] == "success":
                    balance = int(answer["balance"])
                else:
                    refused.append(f"order {place + 1}: {answer['text']}")
        return CustomerResult(customer.id, balance, tuple(refused))

    def _caller(self, branch: int, method: str = "MsgDelivery") -> pyro.Caller:
        address = self.addresses[branch]
        return pyro.Caller(address, BRANCH, credentials_for(address), name_of_branch(branch), method)

    def _ask(self, callers: Mapping[int, pyro.Caller], branch: int, request: dict[str, object]) -> dict[str, Any]:
        """Put a request to a branch; where it does not answer, to the others, until one does."""
        data, deadline, limit_s = json.dumps(request).encode(), monotonic() + PATIENCE_S, ANSWER_S
        why: GComError | None = None
        while monotonic() < deadline:
            for each in _first(branch, callers):
                try:
                    return _answer_of(callers[each].call(data, limit_s))
                except LocalError:
                    raise
                except GComError as error:
                    why = error
            self.pause.wait(ROUND_S)
            limit_s *= 2
        raise GComTimeout(f"no branch answered for {PATIENCE_S:g} s: {why}; does `gcom bank serve` run?")


def _first(branch: int, branches: Iterable[int]) -> Iterator[int]:
    yield branch
    yield from (it for it in branches if it != branch)


def _event_of(customer: Customer, order: BankOrder, write_set: int) -> dict[str, object]:
    event: dict[str, object] = {"id": customer.id, "interface": order.interface, "write_set": write_set}
    if order.interface != "query":
        event["money"] = order.money
    return event if order.to is None else {**event, "to": order.to}


def _answer_of(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError as error:
        raise PeerError(f"no answer of a branch: {error}") from error
    match found:
        case {"result": "error", "error": str() as code, "text": str() as text}:
            raise LocalError(f"{code}: {text}") if code in FINAL else error_of(code, text)
        case {"write_set": int()}:
            return found  # type: ignore[no-any-return]
    raise PeerError(f"no answer of a branch: {data[:60]!r}")
