"""Members as real processes: killed, paused, interrupted, and without a registry; each wait has a limit."""

from __future__ import annotations

import json
import os
import queue
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self

import pytest

import gcom
from gcom.values import limits, names
from tests.oracle import judge
from tests.shell.nodes import LIMIT_S, next_of, take, until

ROOT = Path(__file__).resolve().parent.parent.parent
Row = dict[str, Any]
ExpectLog = Callable[[str], None]


class Process:
    """A worker (tests/shell/worker.py), killed at the end if it still runs."""

    def __init__(self, *words: str, file_bytes_max: int | None = None) -> None:
        limit = None
        if file_bytes_max is not None:
            bounds = (file_bytes_max, file_bytes_max)
            limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, bounds)  # noqa: E731 - runs in the child
        self.popen = subprocess.Popen(
            [sys.executable, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            text=True,
            preexec_fn=limit,
        )
        self.rows: list[Row] = []
        self.errors = ""
        self._news: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._readers = [threading.Thread(target=work, daemon=True) for work in (self._read, self._read_errors)]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            self.rows.append(json.loads(line))
            self._news.put(None)
        self._news.put(None)

    def _read_errors(self) -> None:
        assert self.popen.stderr is not None
        for line in self.popen.stderr:
            self.errors += line

    def say(self, line: str) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(line + "\n")
        self.popen.stdin.flush()

    def until(self, kind: str, **fields: object) -> Row:
        """The first row of that kind with those fields, when it is there."""
        deadline, seen = monotonic() + LIMIT_S, 0
        while True:
            for row in self.rows[seen:]:
                seen += 1
                if row["type"] == kind and fields.items() <= row.items():
                    return row
            try:
                self._news.get(timeout=max(0.01, deadline - monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {kind} {fields} in {self.rows[-5:]}; {self.errors}") from None

    def report(self) -> Row:
        count = sum(row["type"] == "report" for row in self.rows)
        self.say("report")
        until(lambda: sum(row["type"] == "report" for row in self.rows) > count, "the report")
        return [row for row in self.rows if row["type"] == "report"][-1]

    def signal(self, number: signal.Signals) -> None:
        self.popen.send_signal(number)

    def end(self, timeout_s: float = LIMIT_S) -> int:
        """Wait for its end; the exit status."""
        status = self.popen.wait(timeout_s)
        for reader in self._readers:
            reader.join(LIMIT_S)
        return status

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.popen.poll() is None:
            self.popen.kill()
        self.end()
        for pipe in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            if pipe is not None:
                pipe.close()


class Workers:
    """Workers at one registry."""

    def __init__(self, registry: str, stack: ExitStack) -> None:
        self.registry = registry
        self._stack = stack

    def start(self, name: str, *words: str, file_bytes_max: int | None = None) -> Process:
        command = ("-m", "tests.shell.worker", name, self.registry, "news", *words)
        worker = self._stack.enter_context(Process(*command, file_bytes_max=file_bytes_max))
        worker.until("joined")
        return worker

    def three(self, *words: str) -> list[Process]:
        """Three members that have seen each other, in this order of age."""
        found = [self.start(name, *words) for name in ("alice", "bob", "carol")]
        for worker in found:
            worker.until("view", members=["alice", "bob", "carol"])
        return found


@pytest.fixture
def workers() -> Iterator[Workers]:
    with gcom.embedded() as registry, ExitStack() as stack:
        yield Workers(registry.address, stack)


def flows(workers: list[Process], names: list[str], more: int = 50) -> None:
    """Wait until each of the workers has delivered more of each of the names than now."""
    before = {id(worker): worker.report()["counts"] for worker in workers}

    def flowed() -> bool:
        reports = [(before[id(worker)], worker.report()["counts"]) for worker in workers]
        return all(after.get(name, 0) >= first.get(name, 0) + more for first, after in reports for name in names)

    until(flowed, f"text of {names}")


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1, 2])
def test_the_others_go_on_within_a_second_when_one_is_killed(workers: Workers, tmp_path: Path, victim: int) -> None:
    members = workers.three(str(tmp_path))
    for member in members:
        member.say("flow")
    flows(members, ["alice", "bob", "carol"])
    killed = members.pop(victim)
    left = [name for index, name in enumerate(["alice", "bob", "carol"]) if index != victim]
    at = monotonic()
    killed.signal(signal.SIGKILL)
    took = [member.until("view", number=4, members=left)["at"] - at for member in members]
    assert max(took) < 5.0, took  # a second on a machine with nothing else to do
    flows(members, left)
    sent = 0
    for member in members:
        member.say("stop")
        sent += member.until("stopped")["sent"]
    for member in members:
        until(lambda it=member: sum(it.report()["counts"][name] for name in left) == sent, "the rest")  # type: ignore[misc]
    reports = [member.report() for member in members]
    assert reports[0]["counts"] == reports[1]["counts"]
    assert [report["out_of_order"] for report in reports] == [0, 0]
    for member in members:
        member.say("leave")
        member.until("left")
        member.say("end")
        assert member.end() == 0
        assert member.errors == ""
    report = judge(tmp_path)
    assert report.notes == []
    assert report.group("news").failed() == {}
    assert sorted(report.coverage.values())[:2] == ["closed", "closed"]
    assert sorted(report.coverage.values())[2] in ("open", "torn")


@pytest.mark.slow
def test_one_that_was_paused_is_told_that_it_was_expelled(workers: Workers) -> None:
    """It is paused for longer than DETACH_MS: the time that it did not run itself is not taken for a lost quorum."""
    alice, bob, carol = workers.three()
    for member in (alice, bob, carol):
        member.say("flow")
    flows([alice, bob, carol], ["alice", "bob", "carol"])
    at = monotonic()
    carol.signal(signal.SIGSTOP)
    for member in (alice, bob):
        assert member.until("view", number=4, members=["alice", "bob"])["left"] in (["silence"], ["accused"])
    flows([alice, bob], ["alice", "bob"])
    until(lambda: monotonic() - at > limits.DETACH_MS / 1000 + 1, "the end of the pause")
    carol.signal(signal.SIGCONT)
    assert carol.until("departure")["reason"] == "expelled"
    assert carol.until("refused")["error"] == "Detached"
    carol.say("end")
    assert carol.end() == 0
    assert carol.errors == ""
    again = workers.start("carol")
    again.until("view", members=["alice", "bob", "carol"])
    views = [row["members"] for row in alice.rows if row["type"] == "view"]
    assert views[-3:] == [["alice", "bob", "carol"], ["alice", "bob"], ["alice", "bob", "carol"]]


@pytest.mark.slow
def test_a_group_goes_on_without_its_registry_and_is_listed_again_when_it_is_back() -> None:
    with ExitStack() as stack:
        registry = Registry(stack, 0)
        address = registry.address
        members = Workers(address, stack).three()
        for member in members:
            member.say("flow")
        registry.process.kill()
        registry.process.wait(LIMIT_S)
        flows(members, ["alice", "bob", "carol"])
        Registry(stack, names.split_address(address)[1])
        at = monotonic()
        directory = gcom.Directory(address)
        stack.callback(directory.close)
        until(lambda: [len(entry.members) for entry in directory.groups()] == [3], "the group")
        assert monotonic() - at < 5.0  # 2 on a machine with nothing else to do
        assert all(member.errors == "" for member in members)


class Registry:
    """A registry as its own process."""

    def __init__(self, stack: ExitStack, port: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "registry", "--port", str(port)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        stack.callback(self._end)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.endswith(" ready\n"), line
        self.address = line.split()[2]

    def _end(self) -> None:
        self.process.kill()
        self.process.wait(LIMIT_S)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.mark.slow
def test_a_program_that_ends_without_closing_ends(workers: Workers) -> None:
    alice = workers.start("alice")
    bob = workers.start("bob")
    alice.until("view", members=["alice", "bob"])
    bob.say("send bye")
    bob.say("end")
    assert bob.end(5.0) == 0
    assert bob.errors == ""
    assert alice.until("view", number=3)["left"] == ["refused"]


@pytest.mark.slow
def test_an_interrupt_ends_a_blocking_receive_at_once(workers: Workers) -> None:
    alice = workers.start("alice", "", "--quiet")
    alice.say("wait")
    alice.until("waiting")
    at = monotonic()
    alice.signal(signal.SIGINT)
    assert alice.until("interrupted")["at"] - at < 2.0
    assert alice.end(5.0) == 0
    assert alice.errors == ""


@pytest.mark.slow
def test_a_full_disk_is_said_once_and_messages_go_on(workers: Workers, tmp_path: Path) -> None:
    alice = workers.start("alice", str(tmp_path), "--warn", file_bytes_max=20_000)
    alice.say("flow")
    flows([alice], ["alice"], more=1500)
    alice.say("leave")
    alice.until("left")
    alice.say("end")
    assert alice.end() == 0
    assert alice.errors.count("ends here") == 1, alice.errors
    assert alice.errors.count("WARNING") == 1
    assert "Traceback" not in alice.errors
    assert judge(tmp_path).notes == []


def test_a_killed_holder_of_a_name_does_not_keep_it(workers: Workers) -> None:
    with gcom.connect("zoe", workers.registry) as node:
        zoe = node.join("news", create=gcom.Definition.parse("news"))
        bob = workers.start("bob")
        zoe.wait_for_members(2, LIMIT_S)
        with pytest.raises(gcom.NameTaken), gcom.connect("bob", workers.registry) as other:
            other.join("news")
        bob.signal(signal.SIGKILL)
        bob.end()
        with gcom.connect("bob", workers.registry) as other:
            again = other.join("news", timeout_s=LIMIT_S)
            assert sorted(again.members) == ["bob", "zoe"]
            zoe.send("hello")
            assert take(again, 1)[0].text == "hello"


@pytest.mark.slow
def test_a_group_whose_members_were_all_killed_can_be_entered_again(workers: Workers) -> None:
    alice = workers.start("alice")
    alice.signal(signal.SIGKILL)
    alice.end()
    with gcom.connect("bob", workers.registry) as node:
        bob = node.join("news", timeout_s=LIMIT_S)
        assert bob.members == ("bob",)
        assert next_of(bob, gcom.ViewChange).view.number == 1
