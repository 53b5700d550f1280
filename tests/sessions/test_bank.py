"""The bank: the seed's inputs, many customers, bad input, and its command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from gcom.bank import branches, customers, orders
from gcom.cli.app import run
from gcom.errors import BadValue

BANKS = [{"id": 1, "type": "bank", "balance": 0}, {"id": 2, "type": "bank", "balance": 0}]


def order(interface: str, dest: int, **more: object) -> dict[str, object]:
    return {"interface": interface, "dest": dest, **more}


MONOTONIC_WRITES = [order("deposit", 1, money=400), order("withdraw", 2, money=400), order("query", 2)]
READ_YOUR_WRITES = [order("deposit", 1, money=400), order("query", 2)]


@pytest.mark.parametrize(("events", "balance"), [(MONOTONIC_WRITES, 0), (READ_YOUR_WRITES, 400)])
def test_the_examples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], events: list[dict[str, object]], balance: int
) -> None:
    given, made = tmp_path / "input.json", tmp_path / "output.json"
    given.write_text(json.dumps([{"id": 1, "type": "customer", "events": events}, *BANKS]))
    assert run(["bank", "run", str(given), "-o", str(made)]) == 0
    assert json.loads(made.read_text()) == [{"id": 1, "balance": balance}]
    assert f"customers: 1, branches: 2; all accounts hold {balance}, as they should" in capsys.readouterr().err


def test_two_hundred_deposited_twice_less_370_leaves_30() -> None:
    events = [order("deposit", 1, money=200), order("deposit", 2, money=200), order("withdraw", 1, money=370)]
    asked = orders.orders_of([{"id": 1, "type": "customer", "events": events}, *BANKS])
    with branches.opened(asked.branches, {1: 0}, overdraft=False) as bank:
        assert [it.balance for it in customers.carry_out(asked.customers, bank)] == [30]


@pytest.mark.slow
def test_fifty_customers_at_five_branches_neither_wait_for_ever_nor_lose_money(
    tolerate_log: Callable[[str], None],
) -> None:
    tolerate_log("1 silent")  # a branch that had no processor while it shook hands; it dials again
    rng = Random(3)
    rows: list[object] = [{"id": number, "type": "bank", "balance": 100} for number in range(1, 6)]
    for number in range(1, 51):
        events = [
            order(
                rng.choice(("deposit", "withdraw", "query", "transfer")),
                rng.randint(1, 5),
                money=rng.randint(0, 50),
                to=rng.randint(1, 50),
            )
            for _ in range(10)
        ]
        rows.append({"id": number, "type": "customer", "events": events})
    asked = orders.orders_of(rows)
    with branches.opened(asked.branches, {it.id: 100 for it in asked.customers}, overdraft=False) as bank:
        results = customers.carry_out(asked.customers, bank)
        totals = set()
        for store in bank.values():
            with store.session() as s:
                s.state.deposit(1, 0)  # so that this replica has all that was before
                totals.add((s.state.total() - s.state.expected(), s.state.total()))
    assert len(results) == 50
    assert any(it.refused for it in results)
    assert len(totals) == 1
    assert next(iter(totals))[0] == 0


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('[{"id": 1,,}]', r":1:1\d: no JSON: "),
        ("{}", "expected a list of entries"),
        ("[5]", 'entry 1: expected an object with "type"'),
        ('[{"id": 1, "type": "bank", "balance": NaN}]', "NaN is no number"),
        ('[{"id": 1, "type": "bank", "balance": -1}]', "whole number from 0 to"),
        ('[{"id": 1, "type": "bank", "balance": 1e30}]', "whole number from 0 to"),
        (f'[{{"id": 1, "type": "bank", "balance": {10**30}}}]', "whole number from 0 to"),
        ('[{"id": 1, "type": "bank"}, {"id": 1, "type": "bank"}]', "entry 2: branch 1 is there twice"),
        ('[{"id": 1, "type": "customer", "events": []}]', "1 to 64 branches; got 0"),
        ('[{"id": 1, "type": "branch"}]', '"type" must be customer or bank'),
        ('[{"id": 1, "type": "bank"}, {"id": 2, "type": "bank", "balance": 5}]', "give them one balance"),
        (json.dumps([*BANKS, {"id": 1, "type": "customer", "events": [order("steal", 1)]}]), '"interface" must be'),
        (json.dumps([*BANKS, {"id": 1, "type": "customer", "events": [order("query", 9)]}]), "goes to branch 9"),
        (
            json.dumps([*BANKS, {"id": 1, "type": "customer", "events": [order("transfer", 1, money=1, to=7)]}]),
            "sends money to 7",
        ),
        (json.dumps([*BANKS] + [{"id": 1, "type": "customer", "events": []}] * 2), "customer 1 is there twice"),
    ],
)
def test_a_bad_file_is_named_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, error: str
) -> None:
    path = tmp_path / "input.json"
    path.write_text(text)
    with pytest.raises(BadValue, match=error):
        orders.read(path)
    assert run(["bank", "run", str(path)]) == 2
    assert str(path) in capsys.readouterr().err
