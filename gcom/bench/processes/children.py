"""Processes that a command starts: told what to do on standard input, heard on standard output, gone when it ends.

Each line either way is one JSON object; `say` names its kind. Every child is in a session of its own, so that Ctrl-C
reaches the command alone, which ends its children itself; if the command is killed, their standard input ends, and so
do they.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import IO, Any, Self

from gcom.bench.frame import GroupSetup
from gcom.errors import GComTimeout, Unavailable
from gcom.values import names
from gcom.values.names import Address

Report = Mapping[str, Any]  # one line of a child; `say` is its kind

START_S = 30.0  # a machine may be busy
STOP_S = 10.0  # a child that was told to end has this long
KILL_S = 2.0  # after that it is killed: a bench must leave no process behind


class _Child:
    """A process, its last words on standard error, and the thread that reads its reports."""

    def __init__(
        self,
        name: str,
        command: list[str],
        inbox: queue.SimpleQueue[tuple[_Child, Report | None]],
        environment: Mapping[str, str],
    ) -> None:
        self.name = name
        # A file and no pipe: nobody reads a pipe while the child lives, and a full one would stop it.
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by kill
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            # In a session of its own: Ctrl-C at the terminal must not end the children before the
            # command has said why.
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": _path(), **environment},
        )
        self._reader = threading.Thread(target=self._hear, args=(inbox,), name=f"reads {name}", daemon=True)
        self._reader.start()

    def _hear(self, inbox: queue.SimpleQueue[tuple[_Child, Report | None]]) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                inbox.put((self, _report(line)))
        # Behind the last line: whoever takes this has all that the child said.
        inbox.put((self, None))

    def tell(self, order: Report) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):  # it is gone, and its end of output says so
            self.process.stdin.write(json.dumps(order).encode() + b"\n")
            self.process.stdin.flush()

    def release(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def last_words(self) -> str:
        """Return the last line on its standard error, where Python writes the exception."""
        # Without the traceback: the parent's error is one line, and the exception says most.
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        # Reaped at once: a process that was killed and not waited for keeps its number and its entry.
        self.process.wait(KILL_S)
        self.release()
        # With a limit: a grandchild that has the pipe open would keep the reader waiting.
        self._reader.join(KILL_S)
        self._errors.close()


class Children:
    """The processes that a command started; none is left when the `with` block ends, however it ends."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        """Add `environment` to that of this process, for the children."""
        self._environment = environment or {}
        self._children: dict[str, _Child] = {}
        self._inbox: queue.SimpleQueue[tuple[_Child, Report | None]] = queue.SimpleQueue()

    def start(self, name: str, module: str, *arguments: str) -> None:
        """Run `python -m module`; the module reads its own standard input until its end."""
        command = [sys.executable, "-m", module, *arguments]
        self._children[name] = _Child(name, command, self._inbox, self._environment)

    def run(self, name: str, function: str, /, **arguments: object) -> None:
        """Have a process of its own obey by what a function returns, named as `module:function`; it may be a class."""
        self.start(name, "gcom.bench.processes", function)
        self.tell(name, "run", **arguments)

    def run_members(self, function: str, setup: GroupSetup, **arguments: object) -> None:
        """Call a function in a process for each member of the group, with its name and the setup's plain values."""
        for name in setup.names:
            self.run(name, function, name=name, setup=setup.plain(), **arguments)

    def __contains__(self, name: str) -> bool:
        return name in self._children

    def start_registry(
        self,
        port: int = 0,
        other: Callable[[str, Report], None] = lambda _name, _report: None,
        data: Path | None = None,
    ) -> Address:
        """Run gcom-registry on a port, 0 any free one; return its address. Reports of other children go to `other`.

        It keeps what it knows in the folder `data`, never in the user's. Raises Unavailable if it does not come up.
        """
        where = ("--port", str(port), "--data", str(data) if data else "none")
        self.start("registry", "gcom.bench.processes.parent_watchdog", "gcom_registry", *where)
        ready = self.gather("line", ["registry"], START_S, other)["registry"]["text"].split()
        if len(ready) != 4 or ready[3] != "ready":
            raise Unavailable(f"gcom-registry did not say that it is ready: {' '.join(ready)!r}")
        return names.address(ready[2])

    def tell(self, name: str, say: str, /, **fields: object) -> None:
        self._children[name].tell({"say": say, **fields})

    def tell_all(self, names: Iterable[str], say: str, /, **fields: object) -> None:
        for name in names:
            self.tell(name, say, **fields)

    def ask(self, whom: Iterable[str], order: str, quiet_s: float, /, **fields: object) -> dict[str, Report]:
        """Give each of `whom` an order; return their reports of it. Raises as `gather` does."""
        whom = list(whom)
        self.tell_all(whom, order, **fields)
        return self.gather(order, whom, quiet_s)

    def release(self, name: str) -> None:
        self._children[name].release()

    def process_id(self, name: str) -> int:
        return self._children[name].process.pid

    def status(self, name: str) -> int | None:
        """Return the exit status of a child; None: it runs."""
        return self._children[name].process.poll()

    def kill_one(self, name: str) -> None:
        """Kill one child, as a crash would; its name is free again, and no more reports of it come."""
        self._children.pop(name).kill()

    def gather(
        self,
        kind: str,
        whom: Iterable[str],
        quiet_s: float,
        other: Callable[[str, Report], None] = lambda _name, _report: None,
    ) -> dict[str, Report]:
        """Return one report of that kind from each of `whom`, by name; all other reports go to `other`.

        Raises GComTimeout when nothing at all was said for `quiet_s` seconds, Unavailable when a child ended.
        """
        waiting = set(whom)
        found: dict[str, Report] = {}
        # The limit is on silence and not on the whole: a busy machine is slow, and one that says nothing is stuck.
        while waiting:
            heard = self.hear(quiet_s)
            if heard is None:
                silent = ", ".join(sorted(waiting))
                raise GComTimeout(f"nothing was heard from {silent} for {quiet_s:g} s: is the machine overloaded?")
            name, report = heard
            if report["say"] == kind and name in waiting:
                waiting.discard(name)
                found[name] = report
            else:
                other(name, report)
        return dict(sorted(found.items()))

    def hear(self, limit_s: float) -> tuple[str, Report] | None:
        """Return the next report and its child; None: nothing in time. Raises Unavailable when a child ended."""
        deadline = monotonic() + limit_s
        while True:
            try:
                child, report = self._inbox.get(timeout=max(0.0, deadline - monotonic()))
            except queue.Empty:
                return None
            if self._children.get(child.name) is not child:
                continue  # it was killed, and another may have its name
            if report is None:
                raise Unavailable(_cause_of_end(child))
            return child.name, report

    def close(self) -> None:
        """Let every child end by itself, the last started first, and kill those that do not."""
        # One deadline for all, and all are told before any is waited for: a hundred children do not take a hundred
        # times as long.
        deadline = monotonic() + STOP_S
        registry = self._children.pop("registry", None)
        for child in self._children.values():
            child.release()
        for child in self._children.values():
            _wait(child, deadline)
        if registry is not None:  # the last, so that members can leave in good order
            registry.process.send_signal(signal.SIGTERM)
            # A deadline of its own: the members may have used up the common one.
            _wait(registry, monotonic() + KILL_S)
            registry.kill()
        self.kill()

    def kill(self) -> None:
        """Kill every child at once."""
        for child in self._children.values():
            if child.process.poll() is None:
                child.process.kill()
        for child in self._children.values():
            child.kill()
        self._children.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # After an error nobody waits for good manners: ten seconds more would only keep the message back.
        if kind is None:
            self.close()
        else:
            self.kill()


def _cause_of_end(child: _Child) -> str:
    # Its output ends a moment before the process does, and only then there is a status to tell.
    child.process.wait(KILL_S)
    return f"process {child.name!r} ended with status {child.process.returncode}: {child.last_words()}"


def _wait(child: _Child, deadline: float) -> None:
    try:
        child.process.wait(max(0.0, deadline - monotonic()))
    # Reaped by `kill`, which comes after: here the other children wait for their turn.
    except subprocess.TimeoutExpired:
        child.process.kill()


def _report(line: bytes) -> Report:
    """Parse a line as a report; a line of a program that knows no reports becomes one of its text."""
    # gcom-registry speaks for people: its one line is no JSON, and `start_registry` reads it as text.
    text = line.decode(errors="replace").strip()
    report: Report = json.loads(text) if text.startswith("{") else {}
    return report if "say" in report else {"say": "line", "text": text}


def _path() -> str:
    """Return the PYTHONPATH under which a child finds the package that this process runs, installed or not."""
    root = str(Path(__file__).resolve().parent.parent.parent)
    return os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
