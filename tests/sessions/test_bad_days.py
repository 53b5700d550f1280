"""Bad input and bad days of sessions and the bank: each is told clearly, and nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gcom
import gcom.sessions
from gcom.bank import orders
from gcom.bank.accounts import BadAccount, BadMoney, Bank
from gcom.cli.app import run
from gcom.errors import BadValue, GComTimeout
from gcom.replicated import OutcomeUnknown, Refused
from gcom.sessions import BadToken, RemoteSessionStore, SessionStore, SessionTimeout, SessionToken
from gcom.sessions import table as tables
from tests.runtime.nodes import until
from tests.sessions.stores import Branches, held_back

Store = SessionStore[Bank] | RemoteSessionStore[Bank]


@pytest.fixture
def branches() -> Iterator[Branches]:
    with ExitStack() as stack:
        yield Branches(stack)


@pytest.fixture(params=["here", "remote"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with ExitStack() as stack:
        branches = Branches(stack)
        local = branches.open("a")
        if request.param == "here":
            yield local
        else:
            yield stack.enter_context(gcom.sessions.open(f"gcom://{branches.registry.address}", "bank", Bank))


def test_a_token_of_the_future_waits_and_is_told(store: Store) -> None:
    with store.session() as s:
        s.state.deposit(1, 5)
        token = SessionToken.decode(s.token)
        ahead = replace(token, write_index=token.write_index + 10**9, written=7).encode()
        with pytest.raises(SessionTimeout, match="its own write 7"):
            store.session(token=ahead, timeout_s=0.3).state.balance(1)
        with pytest.raises(SessionTimeout, match="write 8 of session"):
            store.session(token=ahead, timeout_s=0.3).state.deposit(1, 5)
        assert s.state.balance(1) == 5


def test_a_token_that_was_edited_or_cut_is_refused_at_each_place(store: Store) -> None:
    with store.session() as s:
        text = s.token
    for place in range(0, len(text) - 1, 5):
        edited = text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]
        for bad in (edited, text[:place], f"{text}\n", f"{text}=", f"{text[:place]}\n{text[place:]}"):
            with pytest.raises(BadToken):
                store.session(token=bad)


@pytest.mark.parametrize("money", [-1, float("nan"), 10**30, 1e30, True, "5", None, 0.5])
def test_what_is_no_money_is_refused_and_changes_nothing(store: Store, money: Any) -> None:
    with store.session() as s:
        with pytest.raises(BadMoney, match="money must be a whole number from 0"):
            s.state.deposit(1, money)
        with pytest.raises(BadMoney):
            s.state.withdraw(1, money)
        with pytest.raises(BadMoney):
            s.state.transfer(1, 2, money)
        assert (s.state.balance(1), s.state.total(), s.state.expected()) == (0, 0, 0)


@pytest.mark.parametrize("account", ["1", None, 1.0, True, 10**30])
def test_what_is_no_account_is_refused_and_changes_nothing(store: Store, account: Any) -> None:
    with store.session() as s:
        for order in (s.state.deposit, s.state.withdraw, lambda it, money: s.state.transfer(1, it, money)):
            with pytest.raises(BadAccount, match="an account's number must be a whole number"):
                order(account, 0)
        with pytest.raises(BadAccount):
            s.state.balance(account)
        assert s.state.total() == s.state.expected() == 0


@pytest.mark.parametrize("limit_s", [-1, float("nan"), "5", True])
def test_what_is_no_deadline_is_refused(store: Store, limit_s: Any) -> None:
    with pytest.raises(BadValue, match="timeout_s must be a number of seconds"):
        store.session(timeout_s=limit_s)


@pytest.mark.parametrize("named", [5, None, ["RYW", 5], [["RYW"]], "ryw"])
def test_what_is_no_guarantee_is_refused(store: Store, named: Any) -> None:
    with pytest.raises(BadValue, match="a guarantee must be one of RYW, MR, MW, WFR"):
        store.session(named)


def test_an_account_holds_no_more_than_its_bound(store: Store) -> None:
    with store.session() as s:
        assert s.state.deposit(1, 10**18) == 10**18
        with pytest.raises(Refused, match="would hold more than"):
            s.state.deposit(1, 1)
        assert s.state.total() == s.state.expected() == 10**18


def test_a_deadline_of_0_reads_what_is_there_and_never_hangs(branches: Branches) -> None:
    a, b = branches.open("a"), branches.open("b")
    with a.session() as s:
        s.state.deposit(1, 5)
        token = s.token
        assert a.session(token=token, timeout_s=0).state.balance(1) == 5
        until(lambda: b.sessions == 1)
        with held_back(b):
            for _ in range(3):
                s.state.deposit(1, 5)
            with pytest.raises(SessionTimeout):
                b.session(token=s.token, timeout_s=0).state.balance(1)
        late = a.session(token=s.token, timeout_s=0)
        with pytest.raises((GComTimeout, OutcomeUnknown)):
            late.state.deposit(1, 1)


def test_a_replica_that_is_far_behind_answers_nothing_old(branches: Branches) -> None:
    a, b = branches.open("a"), branches.open("b")
    with a.session() as s:
        until(lambda: b.sessions == 1)
        with ThreadPoolExecutor() as pool:
            with held_back(b):
                for _ in range(300):
                    s.state.deposit(1, 1)
                asked = [pool.submit(b.session(token=s.token, timeout_s=60).state.balance, 1) for _ in range(4)]
                assert not any(it.done() for it in asked)
            assert {it.result(60) for it in asked} == {300}


@pytest.mark.slow
def test_ten_thousand_sessions_are_open_at_once(branches: Branches) -> None:
    a, b = branches.open("a"), branches.open("b")
    futures = [a._table.submit.begin(f"secret {number}") for number in range(10_000)]
    numbers = [it.result(120) for it in futures]
    assert a.sessions == 10_000
    last = SessionToken(a._replica.identity(1), numbers[-1], "secret 9999", ("RYW", "MW"))
    assert b.session(token=last.encode(), timeout_s=60).state.deposit(1, 5) == 5
    newcomer = branches.open("c")
    assert newcomer.sessions == 10_000
    assert a.retire(numbers[-1]) == 9_999


def test_at_the_bound_no_session_is_opened_and_none_gives_way(
    branches: Branches, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = branches.open("a")
    monkeypatch.setattr(tables, "SESSIONS_MAX", 2)
    first, _ = a.session(), a.session()
    with pytest.raises(Refused, match="2 sessions are open: close some"):
        a.session()
    first.close()
    first.close()
    with a.session() as s:
        assert s.state.deposit(1, 1) == 1


def test_an_input_of_100_mb_is_refused_unread(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "input.json"
    with path.open("wb") as file:
        file.truncate(100_000_000)
    for words in (["run"], ["serve"]):
        assert run(["bank", *words, str(path)]) == 2
        assert "has 100,000,000 bytes; an input file has at most 67,108,864" in capsys.readouterr().err


def test_two_customers_with_one_id_are_told_with_their_entry(tmp_path: Path) -> None:
    path = tmp_path / "input.json"
    customer = {"id": 1, "type": "customer", "events": []}
    path.write_text(json.dumps([customer, {"id": 1, "type": "bank"}, customer]))
    with pytest.raises(BadValue, match="entry 3: customer 1 is there twice"):
        orders.read(path)


def test_options_of_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "input.json"
    path.write_text(json.dumps([{"id": 20_000, "type": "bank"}]))
    for words, error in (
        (["run", str(path), "--stop-when-done"], "--stop-when-done needs --base-port"),
        (["run", str(path), "--base-port", "1", "--overdraft"], "give them to gcom bank serve"),
        (["serve", str(path)], "branch 20000 would listen at port 70047"),
        (["demo", "--branches", "1"], "3 to 64 branches"),
    ):
        assert run(["bank", *words]) == 2
        assert error in capsys.readouterr().err
