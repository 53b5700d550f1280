"""A bank whose branches are processes: they are started, and started again when one dies, until all are stopped."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from gcom.bank.orders import BankOrders
from gcom.bench.processes.children import START_S, Children
from gcom.errors import BadValue, GComTimeout, Unavailable
from gcom.values.names import Address

BASE_PORT = 50_047  # of the seed: branch 1 listens at 50048
LOOK_S = 0.5
AGAIN_S = 1.0  # before a branch that died is started again
FAILURES_MAX = 5  # starts of one branch without success


@dataclass(frozen=True, slots=True)
class ServedBank:
    """The choices of `gcom bank serve`. `base_port` 0: each branch takes any free port."""

    orders: BankOrders
    base_port: int = BASE_PORT
    overdraft: bool = False
    data: Path | None = None
    log_dir: Path | None = None

    def port(self, branch: int) -> int:
        """Return a branch's port; raises BadValue."""
        port = self.base_port + branch if self.base_port else 0
        if not 0 <= port <= 65_535 or (self.base_port and port < 1):
            raise BadValue(f"branch {branch} would listen at port {port}: give another --base-port, or other ids")
        return port


class BranchProcesses:
    """The branches of one bank, and their registry. Use it in the `with` block of `children`."""

    def __init__(self, bank: ServedBank, children: Children, tell: Callable[[str], object]) -> None:
        self._bank = bank
        self._children = children
        self._tell = tell
        self._names = {str(branch): branch for branch in bank.orders.branches}
        self._failures = dict.fromkeys(self._names, 0)
        self._again_at: dict[str, float] = {}
        self.addresses: dict[int, Address] = {}
        for branch in bank.orders.branches:
            bank.port(branch)
        self.registry: Address = ""

    def open(self) -> None:
        """Start the registry and all branches, and wait until they serve. Raises Unavailable, GComTimeout."""
        self.registry = self._children.start_registry(data=None)
        for name in self._names:
            self._start(name)
        deadline = monotonic() + START_S * 2
        while len(self.addresses) < len(self._names):
            self.look(LOOK_S)
            if monotonic() > deadline:
                raise GComTimeout(f"only branches {sorted(self.addresses)} serve after {START_S * 2:g} s")

    @property
    def running(self) -> list[str]:
        """The names of the branches that have not been stopped."""
        return list(self._names)

    def process_id(self, branch: int) -> int:
        """Return the process of a branch; raises KeyError while it is started again."""
        return self._children.process_id(str(branch))

    def look(self, limit_s: float) -> None:
        """Take one report of a branch, if one comes, and start again those that died."""
        try:
            heard = self._children.hear(limit_s)
        except Unavailable as error:
            self._note_deaths(error)
        else:
            if heard:
                self._note(*heard)
        for name in [name for name, at in self._again_at.items() if at <= monotonic()]:
            del self._again_at[name]
            self._start(name)

    def _start(self, name: str) -> None:
        bank, branch = self._bank, self._names[name]
        self._children.start(name, "gcom.demo.bank.branch_process")
        self._children.tell(
            name,
            "serve",
            branch=branch,
            branches=list(bank.orders.branches),
            accounts={str(it.id): bank.orders.balance for it in bank.orders.customers},
            overdraft=bank.overdraft,
            port=bank.port(branch),
            registry=self.registry,
            data=str(bank.data / f"branch-{branch}") if bank.data else None,
            log_dir=str(bank.log_dir) if bank.log_dir else None,
        )

    def _note(self, name: str, report: object) -> None:
        match report:
            case {"say": "ready", "address": str() as address}:
                self._failures[name] = 0
                self.addresses[self._names[name]] = address
                self._tell(f"branch {name} serves at {address}")
            case {"say": "failed", "text": str() as text}:
                self._failures[name] += 1
                if self._failures[name] >= FAILURES_MAX or "port" in text:
                    raise Unavailable(f"branch {name}: {text}")
            case {"say": "stopped"} if name in self._names:
                self._note_stop(name)

    def _note_stop(self, name: str) -> None:
        self._tell(f"branch {name} was stopped")
        del self._names[name]

    def _note_deaths(self, error: Unavailable) -> None:
        if "registry" in self._children and self._children.status("registry") is not None:
            raise error
        for name in list(self._names):
            status = self._children.status(name) if name in self._children else None
            # 1. Two branches are stopped. 2. The end of the first is heard. 3. The second has ended, too, and its word
            # that it was stopped has not been read yet. It ended with status 0, and is not started again.
            if status == 0:
                self._note_stop(name)
            elif status is not None:
                self._tell(f"branch {name} ended (status {status}); it is started again")
                self.addresses.pop(self._names[name], None)
                self._again_at[name] = monotonic() + AGAIN_S
                with suppress(OSError):
                    self._children.kill_one(name)


def serve(bank: ServedBank, tell: Callable[[str], object]) -> None:
    """Have all branches serve until each was stopped, or a signal ends this. Raises Unavailable, GComTimeout."""
    with Children() as children:
        branches = BranchProcesses(bank, children, tell)
        try:
            branches.open()
            tell(f"registry at {branches.registry}; branches: {len(branches.running)}; Ctrl-C ends them")
            while branches.running:
                branches.look(LOOK_S)
        finally:
            children.close()  # also at Ctrl-C they leave, and seal their logs
