"""Members and registries as real processes, which tests kill, pause and watch."""

from __future__ import annotations

import os
import resource
import secrets
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

from gcom.values import names
from tests.running import Child, Row
from tests.runtime.nodes import until


class Worker(Child):
    """A member (tests/runtime/worker.py)."""

    def __init__(self, *words: str, file_bytes_max: int | None = None) -> None:
        self.name = words[0]
        limit = None
        if file_bytes_max is not None:
            bounds = (file_bytes_max, file_bytes_max)
            limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, bounds)  # noqa: E731 - runs in the child
        super().__init__([sys.executable, "-m", "tests.runtime.worker", *words], before=limit)

    def say(self, line: str) -> None:
        self.write(line.encode() + b"\n")

    def told(self, kind: str, **fields: object) -> Row:
        """The first row of that kind with those fields, when it is there."""

        def found() -> Row | None:
            return next((row for row in self.rows(kind) if fields.items() <= row.items()), None)

        return self.until(found, f"{kind} {fields}")

    def ask(self, word: str) -> Row:
        """Say a word that is answered with a row of that kind; the answer."""
        count = len(self.rows(word))
        self.say(word)
        return self.until(lambda: self.rows(word)[count:], word)[-1]

    def report(self) -> Row:
        """Its counts as of now."""
        return self.ask("report")


class Workers:
    """Workers in the group `news` at one registry."""

    def __init__(self, registry: str, stack: ExitStack) -> None:
        self.registry = registry
        self._stack = stack

    def start(self, name: str, *words: str, file_bytes_max: int | None = None) -> Worker:
        """One that has joined."""
        worker = self._stack.enter_context(Worker(name, self.registry, "news", *words, file_bytes_max=file_bytes_max))
        worker.told("joined")
        return worker

    def three(self, *words: str) -> list[Worker]:
        """Three members that have seen each other, in this order of age."""
        found = [self.start(name, *words) for name in ("alice", "bob", "carol")]
        for worker in found:
            worker.told("view", members=["alice", "bob", "carol"])
        return found


def flows(workers: list[Worker], names: list[str], more: int = 50) -> None:
    """Wait until each of the workers has delivered more of each of the names than now."""
    before = {id(worker): worker.report()["counts"] for worker in workers}

    def flowed() -> bool:
        reports = [(before[id(worker)], worker.report()["counts"]) for worker in workers]
        return all(after.get(name, 0) >= first.get(name, 0) + more for first, after in reports for name in names)

    until(flowed, f"text of {names}")


class Network:
    """The network's cuts, by which processes do not reach each other, for all processes at one instant."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "faults"
        self.cut("")
        self.words = ("--faults", f"@{self._file}")

    def cut(self, text: str) -> None:
        """By a rename, so that nobody reads half of it."""
        fresh = self._file.with_suffix(".new")
        fresh.write_text(text)
        fresh.rename(self._file)


def confirm(sender: Worker, text: str, *others: Worker) -> None:
    """Send a text, and wait until its sender is told that a majority holds it, and these have delivered it."""
    sender.say(f"confirm {text}")
    sender.told("confirmed", text=text)
    for worker in (sender, *others):
        until(lambda it=worker: text in it.report()["texts"], f"{text} at each")  # type: ignore[misc]


def together(members: dict[str, Worker]) -> bool:
    """Whether the last that each was told of its group is one and the same view, of these names."""
    told = [[row for row in worker.rows() if row["type"] in ("view", "departure")][-1:] for worker in members.values()]
    if not all(rows and sorted(rows[0].get("members", [])) == sorted(members) for rows in told):
        return False
    return len({(rows[0]["instance"], rows[0]["number"]) for rows in told}) == 1


class Registry(Child):
    """A registry; port 0 takes any free one. It keeps what it knows in the folder `data`, "none" nowhere."""

    def __init__(self, port: int = 0, data: str = "") -> None:
        self.data = data or f"{os.environ['XDG_DATA_HOME']}/{secrets.token_hex(4)}"
        super().__init__([sys.executable, "-m", "gcom_registry", "--port", str(port), "--data", self.data])
        (line,) = self.until(lambda: self.out[:1], "line that it is ready")
        assert line.endswith(" ready"), line
        self.address = line.split()[2]

    def again(self) -> Registry:
        """The next one at its port, which knows what this one knew."""
        return Registry(names.split_address(self.address)[1], self.data)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.end()
