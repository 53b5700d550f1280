"""The kernel's word on a life: real processes, stopped, killed, forked, and replaced at their port."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import gcom
from gcom.runtime.user_process import life
from gcom.runtime.user_process.life import Life, host_id, is_dead
from gcom.values.names import life_of
from tests.running import Child
from tests.runtime.nodes import until

pytestmark = pytest.mark.skipif(not host_id(), reason="the system has no abstract sockets")

NODE = """
import sys
import gcom
node = gcom.connect("bob", sys.argv[1])
print(node.address, flush=True)
sys.stdin.read()
"""
FORKS = """
import os, signal, sys
from gcom.runtime.user_process.life import Life
life = Life()
child = os.fork()
if child == 0:
    signal.pause()
print(life.name, child, flush=True)
signal.pause()
"""


class Program(Child):
    """Python that says one line when it is ready."""

    def __init__(self, text: str, *words: str) -> None:
        super().__init__([sys.executable, "-c", text, *words])
        (self.line,) = self.until(lambda: self.out[:1], "its line")

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.end()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


@pytest.fixture
def registry(stack: ExitStack) -> str:
    return stack.enter_context(gcom.embedded()).address


def test_a_stopped_process_is_not_dead_and_a_killed_one_is_at_once(stack: ExitStack, registry: str) -> None:
    bob = stack.enter_context(Program(NODE, registry))
    assert not is_dead(bob.line)
    bob.signal(signal.SIGSTOP)
    os.waitid(os.P_PID, bob.process.pid, os.WSTOPPED | os.WNOWAIT)
    assert not is_dead(bob.line)
    bob.signal(signal.SIGCONT)
    assert not is_dead(bob.line)
    bob.kill()
    assert is_dead(bob.line)


def test_another_process_at_the_port_of_a_dead_one_is_not_taken_for_it(stack: ExitStack, registry: str) -> None:
    bob = stack.enter_context(Program(NODE, registry))
    place, _, _ = bob.line.partition("@")
    bob.kill()
    with gcom.connect("carol", registry) as carol:
        at_its_port = f"{place}@{life_of(carol.address)}"
        assert is_dead(bob.line)
        assert not is_dead(at_its_port)


def test_a_child_that_outlives_its_process_does_not_keep_its_life(stack: ExitStack) -> None:
    program = stack.enter_context(Program(FORKS))
    name, child = program.line.split()
    address = f"127.0.0.1:7500@{name}"
    stack.callback(os.kill, int(child), signal.SIGKILL)
    assert not is_dead(address)
    program.signal(signal.SIGKILL)
    program.process.wait()
    os.kill(int(child), 0)  # it lives on
    until(lambda: is_dead(address), "its death")


def test_closing_a_node_ends_its_life_and_it_may_be_closed_again(registry: str) -> None:
    node = gcom.connect("bob", registry)
    assert not is_dead(node.address)
    node.close()
    assert is_dead(node.address)
    node.close()


def test_a_defect_ends_a_life_though_the_process_goes_on(registry: str) -> None:
    with gcom.connect("bob", registry) as node:
        node._host.on_defect()
        assert is_dead(node.address)


def test_of_two_nodes_of_one_process_each_has_a_life_of_its_own(registry: str) -> None:
    with gcom.connect("bob", registry) as bob:
        with gcom.connect("carol", registry) as carol:
            assert life_of(bob.address) != life_of(carol.address)
        assert (is_dead(bob.address), is_dead(carol.address)) == (False, True)


@pytest.fixture
def over() -> str:
    """The token of a life of this host that is over."""
    ended = Life()
    ended.end()
    return ended.name.partition(".")[2]


BOOT, NETWORK = host_id()[:12], host_id()[12:]
OTHER_BOOT, OTHER_NETWORK = "0" * 12, "1" * 8


@pytest.mark.parametrize(
    ("place", "host", "dead"),
    [
        ("127.0.0.1:7500", BOOT + NETWORK, True),
        ("10.0.0.7:7500", BOOT + NETWORK, True),
        ("127.0.0.1:7500", BOOT + OTHER_NETWORK, False),  # its names are not ours
        ("127.0.0.1:7500", OTHER_BOOT + OTHER_NETWORK, False),
        ("127.0.0.1:7500", OTHER_BOOT + NETWORK, True),  # this machine was started since
        ("[::1]:7500", OTHER_BOOT + NETWORK, True),
        ("10.0.0.7:7500", OTHER_BOOT + NETWORK, False),  # a machine of its own, perhaps
        ("127.0.0.1:7500", "", False),
    ],
)
def test_only_this_host_can_say_so(over: str, place: str, host: str, dead: bool) -> None:
    assert is_dead(f"{place}@{host}.{over}" if host else place) is dead


def test_a_system_without_such_sockets_names_no_life_and_proves_nothing(
    over: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(life, "host_id", lambda: "")
    assert Life().name == ""
    assert not is_dead(f"127.0.0.1:7500@{BOOT}{NETWORK}.{over}")
