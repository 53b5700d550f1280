"""The bank under fire, in small; and what its checks would say of answers that are wrong."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from threading import Event

import pytest

from gcom.bank.accounts import Bank
from gcom.demo.bank.chaos import ChaosPlan, ChaosResult, ChaoticCustomer, Ledger
from gcom.errors import BadValue
from tests.running import Child, environment

DEMO = [sys.executable, "-m", "gcom.cli", "bank", "demo"]


@pytest.mark.slow
def test_all_answers_are_right_though_branches_are_killed_and_paused() -> None:
    words = ["--branches", "3", "--customers", "6", "--chaos", "5", "--json"]
    with Child([*DEMO, *words], environment()) as demo:
        assert demo.end() == 0, demo.errors
        (row,), (judged,) = demo.rows("bank"), demo.rows("audit")
    assert row["is_right"]
    assert judged["verdict"] == "PASS"
    assert row["kills"] + row["pauses"] > 0
    assert row["orders"] > 20
    assert row["total"] == row["expected"]


@pytest.mark.slow
def test_ctrl_c_ends_it_cleanly(tmp_path: Path) -> None:
    words = ["--branches", "3", "--customers", "3", "--log-dir", str(tmp_path)]
    with Child([*DEMO, *words], environment()) as demo:
        demo.until(lambda: any("branch" in it and ("killed" in it or "paused" in it) for it in demo.errors), "chaos")
        demo.signal(signal.SIGINT)
        assert demo.end() == 130
        assert not [it for it in demo.errors if "Traceback" in it]
        killed = [it for it in demo.errors if "is killed" in it]
    assert len([*tmp_path.rglob(".*.jsonl")]) == len(killed), "the log of a branch that lived is not sealed"


@pytest.mark.parametrize(
    ("plan", "error"),
    [
        (ChaosPlan(branches=2), "3 to 64 branches"),
        (ChaosPlan(customers=0), "1 to 500 customers"),
        (ChaosPlan(seconds=float("nan")), "seconds of chaos"),
    ],
)
def test_what_cannot_be(plan: ChaosPlan, error: str) -> None:
    with pytest.raises(BadValue, match=error):
        plan.check()


class ForgetfulStore:
    """Sessions on accounts that lose each fourth deposit."""

    token = ""

    def __init__(self) -> None:
        self.state = self
        self._bank = Bank(overdraft=True)
        self._count = 0

    def session(self, token: str = "") -> ForgetfulStore:
        return self

    def deposit(self, account: int, money: int) -> int:
        self._count += 1
        return self._bank.deposit(account, money) if self._count % 4 else self._bank.balance(account) + money

    def __getattr__(self, name: str) -> object:
        return getattr(self._bank, name)


def test_a_lost_deposit_is_noticed() -> None:
    ledger, over, store = Ledger(), Event(), ForgetfulStore()
    customer = ChaoticCustomer(1, ChaosPlan(customers=1), (store,), ledger, over)  # type: ignore[arg-type]
    for _ in range(40):
        customer._order(store)  # type: ignore[arg-type]
    assert any("gave" in it for it in ledger.wrong)


def test_the_verdict_needs_both() -> None:
    right = dict.fromkeys(("orders", "retried", "moves", "refused", "kills", "pauses", "total", "expected"), 0)
    assert ChaosResult(**right, slowest_s=0.0, wrong=()).is_right
    assert not ChaosResult(**right, slowest_s=0.0, wrong=("x",)).is_right
    assert not ChaosResult(**{**right, "total": 1}, slowest_s=0.0, wrong=()).is_right
