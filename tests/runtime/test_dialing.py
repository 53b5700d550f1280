"""Names of hosts: found, not found, and looked up for longer than anybody waits."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from threading import Event
from time import monotonic

import pytest

import gcom
from gcom.runtime import pyro
from gcom.runtime.pyro.dialing import RESOLVE_S, Found, HostNames, dial
from gcom.runtime.pyro.places import Place, public_address
from gcom.runtime.registry.directory_client import DirectoryClient
from tests.runtime.nodes import LIMIT_S

HERE: Found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 1))]


class Silent:
    """A name server that answers when it is let."""

    def __init__(self) -> None:
        self.asked = 0
        self.answers = Event()
        self.known = True

    def look_up(self, host: str, port: int) -> Found:
        self.asked += 1
        self.answers.wait(LIMIT_S)
        if not self.known:
            raise socket.gaierror(socket.EAI_NONAME, "nobody")
        return HERE


@pytest.fixture
def silent() -> Iterator[Silent]:
    found = Silent()
    yield found
    found.answers.set()


def test_a_name_server_that_is_silent_is_waited_for_no_longer_than_is_said(silent: Silent) -> None:
    found = HostNames(silent.look_up)
    for _ in range(3):
        with pytest.raises(socket.gaierror, match="no name server answers"):
            found.resolved("a", 1, monotonic() + RESOLVE_S)
    assert silent.asked == 1  # one search for all who ask
    silent.answers.set()
    answer: Found = []
    while not answer:  # until its thread is over
        try:
            answer = found.resolved("a", 1, monotonic() + LIMIT_S)
        except socket.gaierror:
            continue
    assert answer == HERE


def test_a_name_that_is_found_is_asked_for_again_with_the_next_dial(silent: Silent) -> None:
    silent.answers.set()
    found = HostNames(silent.look_up)
    assert [found.resolved("a", 1, monotonic() + LIMIT_S) for _ in range(2)] == [HERE, HERE]
    assert silent.asked == 2


def test_a_failure_is_told_and_a_name_that_is_mended_is_found(silent: Silent) -> None:
    silent.answers.set()
    silent.known = False
    found = HostNames(silent.look_up)
    with pytest.raises(socket.gaierror, match="nobody"):
        found.resolved("a", 1, monotonic() + LIMIT_S)
    silent.known = True
    answer: Found = []
    while not answer:
        try:
            answer = found.resolved("a", 1, monotonic() + LIMIT_S)
        except socket.gaierror:
            continue
    assert answer == HERE


def test_a_host_is_dialled_by_its_name() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        dialled = dial("localhost", port, monotonic() + LIMIT_S)
        with dialled:
            assert dialled.getpeername() == server.getsockname()


def test_a_registry_whose_name_is_not_found_is_said_to_be_that() -> None:
    refused = pytest.raises(gcom.RegistryUnavailable, match=r"no machine is known here as 'a\.\.b'.*mend that name")
    client = DirectoryClient("a..b:7411", credentials=pyro.UserSecret())
    with refused:
        client.groups()
    client.close()


def test_the_first_of_the_registries_to_which_a_way_leads_tells_the_own_address() -> None:
    assert public_address(Place("0.0.0.0"), 7500, toward=["a..b:7411", "127.0.0.1:7411"]) == "127.0.0.1:7500"
