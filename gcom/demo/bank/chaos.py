"""The bank under fire: customers bank while their branches are killed and paused, and every answer is checked.

Each customer knows its own account, which nobody else touches: each answer must be what it expects. It sends money to
others' savings, too, where only the sums can be known: they are compared at the end, with what was confirmed.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from threading import Event, Lock, Thread
from time import monotonic

import gcom.sessions
from gcom.bank.accounts import Bank, Overdrawn
from gcom.bank.branches import GROUP
from gcom.bank.orders import BRANCHES_MAX, orders_of
from gcom.bench.processes.children import Children
from gcom.demo.bank.serving import BranchProcesses, ServedBank
from gcom.errors import BadValue, GComError, GComTimeout
from gcom.replicated import OutcomeUnknown
from gcom.sessions import ClientSession, RemoteSessionStore

CUSTOMERS_MAX = 500
SAVINGS = 1_000_000  # plus a customer's number: its account that others send money to
ORDER_S = 120.0  # one order has so long, pauses and retries included
REST_S = 0.1  # of a customer between two orders, about
RETURN_S = 5.0  # a branch that was paused counts as away for so much longer: it may have been put out
LOOK_S = 0.2
TELL_S = 5.0


@dataclass(frozen=True, slots=True)
class ChaosPlan:
    """The size of a run. The seed chooses what is killed, paused and ordered; the clock decides when it hits."""

    branches: int = 5
    customers: int = 50
    seconds: float = 60.0
    seed: int = 1

    def check(self) -> None:
        """Raise BadValue for what cannot be."""
        if not 3 <= self.branches <= BRANCHES_MAX:
            raise BadValue(
                f"expected 3 to {BRANCHES_MAX} branches, of which most live at any time; got {self.branches}"
            )
        if not 1 <= self.customers <= CUSTOMERS_MAX:
            raise BadValue(f"expected 1 to {CUSTOMERS_MAX} customers; got {self.customers}")
        if not 0 < self.seconds <= 86_400:
            raise BadValue(f"expected more than 0 seconds of chaos, a day at most; got {self.seconds:g}")


@dataclass(slots=True)
class ChaosResult:
    """The outcome of a run; it is right if nothing is wrong and the total is as expected."""

    orders: int
    retried: int
    moves: int
    refused: int
    kills: int
    pauses: int
    slowest_s: float
    total: int
    expected: int
    wrong: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        return not self.wrong and self.total == self.expected

    def row(self) -> dict[str, object]:
        """Return the result as one JSON object."""
        return {"type": "bank", **asdict(self), "is_right": self.is_right}


class Ledger:
    """The sums that were confirmed to all customers together. Any thread may write."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.counts: Counter[str] = Counter()
        self.savings: Counter[int] = Counter()
        self.own: dict[int, int] = {}
        self.wrong: list[str] = []
        self.slowest_s = 0.0

    def note(self, what: str, took_s: float = 0.0) -> None:
        """Count something that happened."""
        with self._lock:
            self.counts[what] += 1
            self.slowest_s = max(self.slowest_s, took_s)

    def save(self, account: int, money: int) -> None:
        """Note money that was sent to somebody's savings."""
        with self._lock:
            self.savings[account] += money

    def complain(self, text: str) -> None:
        """Note an answer that is wrong."""
        with self._lock:
            self.wrong.append(text)


class ChaoticCustomer(Thread):
    """A customer with one session, which moves between two stores, as between two machines."""

    def __init__(
        self, number: int, plan: ChaosPlan, stores: tuple[RemoteSessionStore[Bank], ...], ledger: Ledger, over: Event
    ) -> None:
        super().__init__(name=f"customer {number}", daemon=True)
        self._number = number
        self._plan = plan
        self._stores = stores
        self._ledger = ledger
        self._over = over
        self._chance = Random(f"{plan.seed} {number}")
        self._has = 0

    def run(self) -> None:
        try:
            session = self._stores[0].session()
            while not self._over.wait(self._chance.uniform(0, 2 * REST_S)):
                if self._chance.random() < 0.1:
                    session = self._chance.choice(self._stores).session(token=session.token)
                    self._ledger.note("moves")
                self._order(session)
        except GComError as error:
            self._ledger.complain(f"customer {self._number}: {type(error).__name__}: {error}")
        self._ledger.own[self._number] = self._has

    def _order(self, session: ClientSession[Bank]) -> None:
        chance, bank, me = self._chance, session.state, self._number
        kind, money = chance.choice(("deposit", "withdraw", "transfer", "query")), chance.randint(1, 100)
        other = SAVINGS + chance.randint(1, self._plan.customers)
        began = monotonic()
        try:
            match kind:
                case "deposit":
                    has, found = self._has + money, self._certain(session, lambda: bank.deposit(me, money))
                case "withdraw":
                    has, found = self._has - money, self._certain(session, lambda: bank.withdraw(me, money))
                case "transfer":
                    has, found = self._has - money, self._certain(session, lambda: bank.transfer(me, other, money))
                    self._ledger.save(other, money)
                case _:
                    has, found = self._has, bank.balance(me)
        except Overdrawn:
            self._ledger.note("refused")
            has, found = self._has, self._has if self._has < money else -1
        self._ledger.note("orders", monotonic() - began)
        if found != has:
            self._ledger.complain(f"customer {me}: {kind} of {money} gave {found}, expected {has}")
        self._has = has

    def _certain(self, session: ClientSession[Bank], order: Callable[[], int]) -> int:
        """Return the result of a write, however often it has to be tried again."""
        deadline = monotonic() + ORDER_S
        try:
            return order()
        except OutcomeUnknown:
            while True:
                self._ledger.note("retried")
                with suppress(OutcomeUnknown):
                    return int(session.retry())
                if monotonic() > deadline:
                    raise GComTimeout(f"an order has no outcome after {ORDER_S:g} s") from None


class Havoc:
    """Kills and pauses branches, a minority of them at a time."""

    def __init__(self, plan: ChaosPlan, branches: BranchProcesses, tell: Callable[[str], object]) -> None:
        self._plan = plan
        self._branches = branches
        self._tell = tell
        self._chance = Random(plan.seed)
        self._paused: dict[int, tuple[int, float]] = {}  # by branch: its process, and when it goes on
        self._returning: dict[int, float] = {}  # by branch: when it is surely back among the others
        self._next_s = monotonic()
        self.kills = self.pauses = 0

    def act(self) -> None:
        """Do what is due."""
        now = monotonic()
        for branch in [it for it, (_, until_s) in self._paused.items() if until_s <= now]:
            self._resume(branch)
        away = {it for it, until_s in self._returning.items() if until_s > now} | self._paused.keys()
        up = [it for it in self._branches.addresses if it not in away]
        if now < self._next_s or self._plan.branches - len(up) >= (self._plan.branches - 1) // 2:
            return
        self._next_s = now + self._chance.uniform(1.0, 4.0)
        branch = self._chance.choice(sorted(up))
        process = self._branches.process_id(branch)
        if self._chance.random() < 0.5:
            os.kill(process, signal.SIGKILL)
            self._branches.addresses.pop(branch)
            self.kills += 1
            self._tell(f"branch {branch} is killed")  # once it is true: a Ctrl-C may come between the two
        else:
            seconds = self._chance.uniform(1.0, 6.0)
            self._paused[branch] = process, now + seconds  # first, so that whatever comes between, it goes on later
            os.kill(process, signal.SIGSTOP)
            self.pauses += 1
            self._tell(f"branch {branch} is paused for {seconds:.1f} s")

    def end(self) -> None:
        """Let all go on."""
        for branch in list(self._paused):
            self._resume(branch)

    def _resume(self, branch: int) -> None:
        process, _ = self._paused.pop(branch)
        self._returning[branch] = monotonic() + RETURN_S
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)


def run(plan: ChaosPlan, served: ServedBank, tell: Callable[[str], object]) -> ChaosResult:
    """Have customers bank while branches die; return what came of it. Raises Unavailable, GComTimeout."""
    plan.check()
    with Children() as children:
        try:
            return _run(plan, served, children, tell)
        finally:
            children.close()  # also at Ctrl-C the branches leave, and seal their logs


def _run(plan: ChaosPlan, served: ServedBank, children: Children, tell: Callable[[str], object]) -> ChaosResult:
    with ExitStack() as stack:
        branches = BranchProcesses(served, children, tell)
        branches.open()
        url = f"gcom://{branches.registry}"
        stores = tuple(
            stack.enter_context(gcom.sessions.open(url, GROUP, Bank, timeout_s=ORDER_S / 4)) for _ in range(2)
        )
        ledger, over = Ledger(), Event()
        stack.callback(over.set)
        customers = [ChaoticCustomer(it, plan, stores, ledger, over) for it in range(1, plan.customers + 1)]
        for customer in customers:
            customer.start()
        havoc = Havoc(plan, branches, tell)
        stack.callback(havoc.end)
        _watch(plan, branches, havoc, ledger, tell)
        havoc.end()
        over.set()
        deadline = monotonic() + ORDER_S
        while any(it.is_alive() for it in customers) and monotonic() < deadline:
            branches.look(LOOK_S)
        return _compare(plan, stores[0], ledger, havoc)


def _watch(
    plan: ChaosPlan, branches: BranchProcesses, havoc: Havoc, ledger: Ledger, tell: Callable[[str], object]
) -> None:
    began = monotonic()
    told = began
    while (now := monotonic()) - began < plan.seconds:
        havoc.act()
        branches.look(LOOK_S)
        if now - told >= TELL_S:
            told = now
            wrong = f"{len(ledger.wrong)} answers wrong" if ledger.wrong else "all answers right"
            tell(f"{now - began:.0f} of {plan.seconds:g} s: {ledger.counts['orders']:,} orders, {wrong}")


def _compare(plan: ChaosPlan, store: RemoteSessionStore[Bank], ledger: Ledger, havoc: Havoc) -> ChaosResult:
    with store.session() as auditor:
        for number in range(1, plan.customers + 1):
            if number not in ledger.own:
                ledger.complain(f"customer {number} waits still")
                continue
            _expect(ledger, number, auditor.state.balance(number), ledger.own[number])
            _expect(ledger, SAVINGS + number, auditor.state.balance(SAVINGS + number), ledger.savings[SAVINGS + number])
        total, expected = auditor.state.total(), sum(ledger.own.values()) + ledger.savings.total()
    counts = ledger.counts
    return ChaosResult(
        orders=counts["orders"],
        retried=counts["retried"],
        moves=counts["moves"],
        refused=counts["refused"],
        kills=havoc.kills,
        pauses=havoc.pauses,
        slowest_s=ledger.slowest_s,
        total=total,
        expected=expected,
        wrong=tuple(ledger.wrong),
    )


def _expect(ledger: Ledger, account: int, found: int, expected: int) -> None:
    if found != expected:
        ledger.complain(f"account {account} holds {found}, and {expected} by what was confirmed")


def bank_of(plan: ChaosPlan, data: Path | None = None, log_dir: Path | None = None) -> ServedBank:
    """Return the branches of a run, at any free ports; raises BadValue."""
    plan.check()
    orders = orders_of([{"id": it, "type": "bank", "balance": 0} for it in range(1, plan.branches + 1)])
    return ServedBank(orders, 0, data=data, log_dir=log_dir)
