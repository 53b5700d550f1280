"""Hosts of their own on this machine: network namespaces on a bridge, each with an address and a home folder.

    switch (a namespace with a bridge) ── veth ── host a 10.213.0.1, fd13::1
                                       ── veth ── host b 10.213.0.2, fd13::2

A link taken down is a real partition: frames stay unanswered, and no connection is reset.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

import pytest

from tests.running import LIMIT_S, Child, environment


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode:
        raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")


def why_not() -> str:
    """Return why hosts cannot be made here; empty if they can."""
    if not sys.platform.startswith("linux") or shutil.which("ip") is None:
        return "network namespaces need Linux and iproute2"
    name = f"gcom-{token_hex(3)}"
    try:
        _ip("netns", "add", name)
        _ip("netns", "delete", name)
    except OSError as error:
        return f"network namespaces may not be made here, run the tests as root: {error}"
    return ""


class TestHost:
    """A host: its addresses, and commands in it, with a home of their own."""

    __test__ = False

    def __init__(self, switch: str, number: int, home: Path) -> None:
        self.home = home
        self.address, self.address6 = f"10.213.0.{number}", f"fd13::{number}"
        self._space = f"{switch}-{number}"
        self._switch, self._port = switch, f"port{number}"
        self.variables: dict[str, str] = {}

    def make(self) -> None:
        _ip("netns", "add", self._space)
        _ip("-n", self._space, "link", "set", "lo", "up")
        _ip("-n", self._switch, "link", "add", self._port, "type", "veth", "peer", "name", "eth0", "netns", self._space)
        _ip("-n", self._switch, "link", "set", self._port, "master", "bridge", "up")
        _ip("-n", self._space, "address", "add", f"{self.address}/24", "dev", "eth0")
        _ip("-n", self._space, "address", "add", f"{self.address6}/64", "dev", "eth0", "nodad")
        _ip("-n", self._space, "link", "set", "eth0", "up")
        _ip("-n", self._space, "route", "add", "default", "dev", "eth0")

    def unmake(self) -> None:
        subprocess.run(["ip", "netns", "delete", self._space], capture_output=True, timeout=LIMIT_S)

    def link(self, state: str) -> None:
        """Take its cable out (`down`) or put it in again (`up`)."""
        _ip("-n", self._switch, "link", "set", self._port, state)

    def words(self, module: str, *arguments: str) -> list[str]:
        return ["ip", "netns", "exec", self._space, sys.executable, "-m", module, *arguments]

    @property
    def environment(self) -> dict[str, str]:
        homes = {f"XDG_{kind}_HOME": str(self.home / kind.lower()) for kind in ("DATA", "STATE", "CONFIG")}
        return environment(HOME=str(self.home), **homes, **self.variables)

    def start(self, module: str, *arguments: str) -> Child:
        """Start `python -m module` on this host."""
        return Child(self.words(module, *arguments), self.environment)

    def run(self, module: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run `python -m module` on this host to its end."""
        command = self.words(module, *arguments)
        env = self.environment
        return subprocess.run(command, input=stdin, capture_output=True, text=True, env=env, timeout=LIMIT_S)


@contextmanager
def network(hosts: int, folder: Path) -> Iterator[list[TestHost]]:
    """Make so many hosts on one network; skips the test where they may not be made."""
    if reason := why_not():
        pytest.skip(reason)
    with made_hosts(hosts, folder) as made:
        yield made


@contextmanager
def made_hosts(hosts: int, folder: Path) -> Iterator[list[TestHost]]:
    """Make so many hosts on one network; raises OSError where they may not be made."""
    switch = f"gcom-{os.getpid():x}-{token_hex(2)}"
    made: list[TestHost] = []
    _ip("netns", "add", switch)
    try:
        _ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", switch, "link", "set", "bridge", "up")
        for number in range(1, hosts + 1):
            made.append(TestHost(switch, number, folder / f"host-{number}"))
            made[-1].make()
        yield made
    finally:
        for host in made:
            host.unmake()
        subprocess.run(["ip", "netns", "delete", switch], capture_output=True, timeout=LIMIT_S)
