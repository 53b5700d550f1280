"""The bank as the seed has it: branches at ports, `MsgDelivery` and `ClockUpdate`; processes that are killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import gcom
from gcom.bank.branch_server import BRANCH, BranchServer
from gcom.bank.orders import BankOrder, BankOrders, Customer, orders_of
from gcom.bank.visits import ServedBranches
from gcom.bench.processes.children import Children
from gcom.demo.bank.serving import BranchProcesses, ServedBank
from gcom.runtime import pyro
from tests.running import Child, environment
from tests.runtime.nodes import until
from tests.sessions.stores import Branches


class SeedBranch:
    """One branch in this process, and calls to it as they go over the wire."""

    def __init__(self, stack: ExitStack, branches: Branches, name: str) -> None:
        self.node = stack.enter_context(gcom.connect(name, branches.registry.address))
        self.store = branches.open_at(self.node)
        self.stopped = Event()
        stack.callback(BranchServer(self.node, self.store, self.stopped.set).close)

    def call(self, method: str, request: object) -> dict[str, Any]:
        data = request if isinstance(request, bytes) else json.dumps(request).encode()
        with closing(pyro.Caller(self.node.address, BRANCH, pyro.UserSecret(), method=method)) as caller:
            found: dict[str, Any] = json.loads(caller.call(data, 30.0))
        return found

    def deliver(self, interface: str, write_set: int, money: int = 0, customer: int = 1) -> dict[str, Any]:
        event = {"id": customer, "interface": interface, "money": money, "write_set": write_set}
        return self.call("MsgDelivery", event)


@pytest.fixture
def pair() -> Iterator[tuple[SeedBranch, SeedBranch]]:
    with ExitStack() as stack:
        branches = Branches(stack)
        yield SeedBranch(stack, branches, "branch-1"), SeedBranch(stack, branches, "branch-2")


def test_an_event_is_held_back_until_those_before_it_are_done(pair: tuple[SeedBranch, SeedBranch]) -> None:
    one, two = pair
    with ThreadPoolExecutor() as pool:
        assert one.deliver("deposit", 0, 400) == {
            "id": 1,
            "interface": "deposit",
            "write_set": 0,
            "result": "success",
            "balance": 400,
        }
        query = pool.submit(one.deliver, "query", 2)
        until(lambda: len(one.node._host.server._connections) > 1, "connection")
        assert not query.done()
        assert two.deliver("withdraw", 1, 400)["balance"] == 0
        assert query.result(30.0) == {
            "id": 1,
            "interface": "query",
            "write_set": 2,
            "result": "success",
            "balance": 0,
        }
    assert [it.call("ClockUpdate", {"id": 1})["write_set"] for it in pair] == [3, 3]
    assert one.call("ClockUpdate", {"id": 9}) == {"id": 9, "write_set": 0}


def test_an_event_that_is_sent_again_is_carried_out_once(pair: tuple[SeedBranch, SeedBranch]) -> None:
    one, two = pair
    first = one.deliver("deposit", 0, 100)
    assert [it.deliver("deposit", 0, 100) for it in (one, two, two)] == [first] * 3
    assert two.deliver("deposit", 0, 55)["error"] == "SessionForked"
    refused = two.deliver("withdraw", 1, 101)
    assert (refused["result"], refused["write_set"]) == ("fail", 1)
    assert "1 are missing" in refused["text"]
    # The propagation: at rest all branches have the same.
    for it in pair:
        it.store.replicas.barrier().result(30.0)
        with it.store.session(()) as s:
            assert (s.state.balance(1), s.state.total()) == (100, 100)


def test_events_of_two_customers_that_arrive_at_once_at_two_branches(pair: tuple[SeedBranch, SeedBranch]) -> None:
    with ThreadPoolExecutor(8) as pool:
        # The first event of one customer, at both branches at once: it has one session, and one deposit.
        asked = [pool.submit(it.deliver, "deposit", 0, 7, customer) for customer in (1, 2) for it in pair * 2]
        assert {it.result(30.0)["balance"] for it in asked} == {7}


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (b"{", "a request is a JSON object"),
        (b"[1]", "a request is a JSON object"),
        (b"x" * 5_000, "at most 4096 characters"),
        ({"id": 1}, '"interface"'),
        ({"id": 1, "interface": "steal", "write_set": 0}, "must be one of deposit"),
        ({"id": 1, "interface": "query"}, '"write_set"'),
        ({"id": 1, "interface": "query", "write_set": -1}, "counts from 0"),
        ({"id": True, "interface": "query", "write_set": 0}, "whole number"),
        (b'{"id": 1, "interface": "deposit", "money": NaN, "write_set": 0}', "NaN is no number"),
        (b'{"id": 1, "interface": "deposit", "money": 1e30, "write_set": 0}', "whole number from 0"),
        ({"id": 1, "interface": "deposit", "money": -5, "write_set": 0}, "whole number from 0"),
    ],
)
def test_a_bad_request_is_told_and_changes_nothing(
    pair: tuple[SeedBranch, SeedBranch], request_: object, error: str
) -> None:
    answer = pair[0].call("MsgDelivery", request_)
    assert answer["result"] == "error"
    assert error in answer["text"]
    assert pair[0].call("ClockUpdate", {"id": 1})["write_set"] == 0


def deposits_of(branches: int, customers: int = 8) -> BankOrders:
    rows: list[object] = [{"id": it, "type": "bank", "balance": 10} for it in range(1, branches + 1)]
    for customer in range(1, customers + 1):
        events = [{"interface": "deposit", "money": 3, "dest": (customer + it) % branches + 1} for it in range(6)]
        rows.append({"id": customer, "type": "customer", "events": events})
    return orders_of(rows)


@contextmanager
def watched(bank: ServedBank) -> Iterator[BranchProcesses]:
    """Branches that a thread looks after, as `gcom bank serve` does."""
    with Children() as children:
        branches = BranchProcesses(bank, children, lambda _: None)
        branches.open()
        over = Event()

        def look() -> None:
            while not over.is_set():
                branches.look(0.1)

        watching = Thread(target=look, daemon=True)
        watching.start()
        try:
            yield branches
        finally:
            over.set()
            watching.join(30.0)


@pytest.mark.slow
def test_a_dead_branch_stops_nobody_and_the_accounts_outlive_all_branches(tmp_path: Path) -> None:
    asked = deposits_of(branches=3)
    base_port = free_base_port(3)
    with watched(ServedBank(asked, base_port, data=tmp_path / "data")) as branches:
        served = ServedBranches({it: f"127.0.0.1:{base_port + it}" for it in asked.branches})
        assert {it.balance for it in served.carry_out(asked.customers)} == {28}
        os.kill(branches.process_id(2), signal.SIGKILL)
        assert {it.balance for it in served.carry_out(asked.customers)} == {46}
        until(lambda: len(branches.addresses) == 3, "return of branch 2")
        # It has what it missed: the customers' next events are carried out by it alone.
        only = ServedBranches({2: served.addresses[2]})
        look = tuple(Customer(it.id, (BankOrder("query", 2),)) for it in asked.customers)
        assert {it.balance for it in only.carry_out(look)} == {46}
        for branch in asked.branches:
            os.kill(branches.process_id(branch), signal.SIGKILL)
        until(lambda: not branches.addresses, "the news")
        until(lambda: len(branches.addresses) == 3, "return of all")
        assert {it.balance for it in served.carry_out(asked.customers)} == {64}


def free_base_port(branches: int) -> int:
    """A port behind which as many are free."""
    while True:
        with ExitStack() as stack:
            first = stack.enter_context(closing(socket.create_server(("127.0.0.1", 0)))).getsockname()[1]
            try:
                for port in range(first + 1, first + 1 + branches):
                    stack.enter_context(closing(socket.create_server(("127.0.0.1", port))))
            except (OSError, OverflowError):
                continue
            return int(first)


def test_the_ports_are_those_of_the_seed() -> None:
    bank = ServedBank(deposits_of(branches=2))
    assert [bank.port(branch) for branch in bank.orders.branches] == [50_048, 50_049]
    with pytest.raises(gcom.BadValue, match="branch 20000 would listen at port 70047"):
        bank.port(20_000)


@pytest.mark.slow
def test_the_commands_serve_run_and_stop(tmp_path: Path) -> None:
    path, made, base_port = tmp_path / "input.json", tmp_path / "output.json", free_base_port(2)
    events = [
        {"interface": "deposit", "money": 400, "dest": 1},
        {"interface": "withdraw", "money": 400, "dest": 2},
        {"interface": "query", "dest": 2},
    ]
    banks = [{"id": it, "type": "bank", "balance": 0} for it in (1, 2)]
    path.write_text(json.dumps([{"id": 1, "type": "customer", "events": events}, *banks]))
    gcom_ = [sys.executable, "-m", "gcom.cli", "bank"]
    with Child([*gcom_, "serve", str(path), "--base-port", str(base_port)], environment()) as server:
        server.until(lambda: any("Ctrl-C ends them" in it for it in server.errors), "branches")
        words = ["run", str(path), "-o", str(made), "--base-port", str(base_port), "--stop-when-done"]
        with Child([*gcom_, *words], environment()) as client:
            assert client.end() == 0
        assert json.loads(made.read_text()) == [{"id": 1, "balance": 0}]
        assert server.end() == 0
        assert [it for it in server.errors if "was stopped" in it] != []
    with Child([*gcom_, "serve", str(path), "--base-port", str(base_port)], environment()) as server:
        server.until(lambda: any("Ctrl-C ends them" in it for it in server.errors), "branches")
        server.signal(signal.SIGINT)
        assert server.end() == 130
        assert not [it for it in server.errors if "Traceback" in it]
