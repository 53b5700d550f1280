"""The registry in this process: its name server for stock Pyro5 clients, its directory for ours."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import Pyro5.api
import pytest
from gcom_registry import naming
from gcom_registry.server import RENEWALS_MAX, RegistryServer
from Pyro5.errors import NamingError, PyroError

from gcom.core.codec.registry import decode_answer
from gcom.core.directory.table import Directory
from gcom.core.messages.registry import Claim, Create, GroupInfo, Lookup, Note, Refusal, Register
from gcom.errors import PeerError, VersionMismatch
from gcom.runtime import pyro
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.values import limits, names
from gcom.values.definition import Definition
from gcom.values.view import View
from tests.core.ids import CountedIds

NEWS = Definition.parse("news")
LIMIT_S = 120.0  # for what takes a second at most, also where others use the machine
HOME = "127.0.0.1:1001"
PRINTER = "PYRO:printer@127.0.0.1:9"


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    it = RegistryServer()
    it.start()
    yield it
    it.close()


@pytest.fixture
def name_server(registry: RegistryServer) -> Iterator[Pyro5.api.Proxy]:
    host, port = names.split_address(registry.address)
    with Pyro5.api.locate_ns(host, port, broadcast=False) as proxy:
        yield proxy


@pytest.fixture
def client(registry: RegistryServer) -> Iterator[DirectoryClient]:
    it = DirectoryClient(registry.address, timeout_s=LIMIT_S)
    yield it
    it.close()


def test_the_directory_is_listed(registry: RegistryServer, name_server: Pyro5.api.Proxy) -> None:
    directory = f"PYRO:gcom.directory@{registry.address}"
    assert name_server.list() == {
        "Pyro.NameServer": f"PYRO:Pyro.NameServer@{registry.address}",
        "gcom.directory": directory,
        "gcom.sequencer": f"PYRO:gcom.sequencer@{registry.address}",
    }
    assert name_server.lookup("gcom.directory") == Pyro5.api.URI(directory)


def test_names_of_others_are_served(name_server: Pyro5.api.Proxy) -> None:
    name_server.register("printer", PRINTER, metadata=["room:7"])
    name_server.register("plotter", Pyro5.api.URI(PRINTER))
    assert str(name_server.lookup("printer")) == str(name_server.lookup("plotter")) == PRINTER
    assert name_server.yplookup(meta_any=["room:7"])["printer"][0] == PRINTER
    assert name_server.count() == 5
    assert set(name_server.list(prefix="p")) == {"printer", "plotter"}
    with pytest.raises(NamingError, match="already"):
        name_server.register("printer", PRINTER, safe=True)
    assert name_server.remove("printer") == 1
    with pytest.raises(NamingError, match="unknown name: printer"):
        name_server.lookup("printer")


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("register", ("gcom.directory", PRINTER)),
        ("register", ("gcom.other", PRINTER)),
        ("register", ("Pyro.NameServer", PRINTER)),
        ("register", ("", PRINTER)),
        ("register", ("x" * 201, PRINTER)),
        ("register", ("x", "no uri")),
        ("register", ("x", "PYRO:" + "x" * 500 + "@h:1")),
        ("register", ("x", 7)),
        ("register", (7, PRINTER)),
        ("register", ("x", PRINTER, False, ["t"] * 9)),
        ("register", ("x", PRINTER, False, "text")),
        ("register", ("x", PRINTER, False, [7])),
        ("set_metadata", ("gcom.directory", ["x"])),
        ("remove", ("gcom.directory",)),
        ("remove", (None, None, ".*")),
        ("list", (None, "(a+)+$")),
    ],
)
def test_what_callers_may_not_do(
    registry: RegistryServer, name_server: Pyro5.api.Proxy, method: str, arguments: tuple[object, ...]
) -> None:
    before = name_server.list()
    with pytest.raises(PyroError):
        getattr(name_server, method)(*arguments)
    assert name_server.list() == before
    assert registry.refused == {}


def test_removing_by_prefix_spares_the_system(name_server: Pyro5.api.Proxy) -> None:
    name_server.register("gcom-ish", PRINTER)
    name_server.register("go", PRINTER)
    assert name_server.remove(prefix="g") == 2
    assert name_server.remove(prefix="Pyro") == 0
    assert name_server.remove() == 0
    assert set(name_server.list()) == {"Pyro.NameServer", "gcom.directory", "gcom.sequencer"}


def test_the_name_server_is_bounded(name_server: Pyro5.api.Proxy, expect_log: Callable[[str], None]) -> None:
    expect_log("answer too large")
    for number in range(naming.ENTRIES_MAX - 3):
        name_server.register(
            f"{number:04}" + "x" * 196, "PYRO:" + "x" * 480 + "@h:1", False, [f"{tag}" + "t" * 99 for tag in range(8)]
        )
    with pytest.raises(NamingError, match="holds its 1000 names"):
        name_server.register("more", PRINTER)
    assert len(name_server.list()) == naming.ENTRIES_MAX
    with pytest.raises(PyroError, match="too large"):
        name_server.list(return_metadata=True)
    assert len(name_server.list(prefix="00", return_metadata=True)) == 100


def test_a_group_goes_from_creation_to_its_first_member(client: DirectoryClient) -> None:
    made = client.create(NEWS)
    assert (made.view, made.alive) == (0, False)
    claimed = client.ask(Claim("news", made.instance, 0, "alice#1", HOME))
    assert claimed == GroupInfo(NEWS, made.instance, 1, ("alice#1",), (HOME,), alive=True) == client.lookup("news")


def test_racing_claims_have_one_winner(registry: RegistryServer, client: DirectoryClient) -> None:
    made = client.create(NEWS)
    answers: list[object] = []
    gate = threading.Barrier(8, timeout=300)

    def claim(number: int) -> None:
        own = DirectoryClient(registry.address, timeout_s=LIMIT_S)
        gate.wait()
        answers.append(own.ask(Claim("news", made.instance, 0, f"m{number}#1", HOME)))
        own.close()

    threads = [threading.Thread(target=claim, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert sum(isinstance(answer, GroupInfo) for answer in answers) == 1
    assert sum(isinstance(answer, Refusal) and answer.code == "Stale" for answer in answers) == 7


def test_a_hundred_full_groups_are_listed_in_pages(client: DirectoryClient) -> None:
    members = tuple(f"member-with-a-longish-name-{number:02}#abcdefgh" for number in range(limits.MEMBERS_MAX))
    view = View(1, members, tuple(HOME for _ in members))
    for number in range(100):
        client.ask(Register(Definition.parse(f"g{number:03}"), "k2", view, members[0]))
    assert [entry.definition.group for entry in client.groups()] == [f"g{number:03}" for number in range(100)]


def test_instances_are_never_minted_twice(client: DirectoryClient) -> None:
    first = client.create(NEWS)
    client.remove("news")
    assert client.create(NEWS).instance != first.instance


def test_bytes_that_are_no_request_are_refused(registry: RegistryServer, expect_log: Callable[[str], None]) -> None:
    expect_log("MalformedFrame")
    caller = pyro.Caller(registry.address, pyro.DIRECTORY, pyro.UserSecret())
    with pytest.raises(PeerError, match="MalformedFrame"):
        caller.call(b"\xc1", 5)
    caller.close()
    assert registry.refused == {"MalformedFrame": 1}


def test_a_client_of_another_version_is_told_both(registry: RegistryServer, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = limits.PROTOCOL_VERSION
    monkeypatch.setattr(limits, "PROTOCOL_VERSION", ours + 1)
    from gcom.core.codec.registry import encode_request

    data = encode_request(Lookup("news"))
    monkeypatch.undo()
    caller = pyro.Caller(registry.address, pyro.DIRECTORY, pyro.UserSecret())
    answer = decode_answer(caller.call(data, 5))
    caller.close()
    assert isinstance(answer, Refusal)
    assert (answer.code, f"protocol {ours + 1}, this process {ours}" in answer.text) == ("VersionMismatch", True)
    with pytest.raises(VersionMismatch, match=f"protocol 1, this process {ours}"):
        decode_answer(b"\x95\x01\xa7refusal\xa1x\xa1y\xa1z")


def test_creating_again_gives_the_same_group(client: DirectoryClient) -> None:
    assert client.ask(Create(NEWS)) == client.create(NEWS) == client.lookup("news")


def test_a_group_that_nobody_registers_is_in_doubt_and_not_detached() -> None:
    directory = Directory(CountedIds())
    view = View(1, ("alice#1",), (HOME,))
    told = directory.ask(Register(NEWS, "k1", view, "alice#1", detached=True), 0)
    assert isinstance(told, GroupInfo)
    assert (told.alive, told.detached) == (False, True)
    for now_ms in range(0, limits.LEASE_MS + limits.TICK_MS, limits.TICK_MS):
        directory.tick(now_ms)
    later = directory.ask(Lookup("news"), limits.LEASE_MS + limits.TICK_MS)
    assert isinstance(later, GroupInfo)
    assert (later.alive, later.detached) == (False, False)


def test_a_registration_that_comes_again_is_judged_anew(client: DirectoryClient) -> None:
    """Its bytes are known, and spare the decoder; its answer is by what the table has now."""
    first = Register(Definition("news"), "i1", View(1, ("a#1",), ("127.0.0.1:1",)), "a#1")
    later = Register(Definition("news"), "i1", View(2, ("a#1", "b#1"), ("127.0.0.1:1", "127.0.0.1:2")), "b#1")
    assert [member_list(client.ask(it)) for it in (first, first)] == [("a#1",), ("a#1",)]
    client.ask(Note("news", "i1", 1, (("b#1", "127.0.0.1:2"),)))
    assert [member_list(client.ask(it)) for it in (first, first, later)] == [("a#1",), ("a#1",), ("a#1", "b#1")]
    again = client.ask(first)
    assert (member_list(again), isinstance(again, GroupInfo) and again.view) == (("a#1", "b#1"), 2)


def member_list(answer: object) -> tuple[str, ...]:
    assert isinstance(answer, GroupInfo), answer
    return answer.members


def test_registrations_that_are_known_by_their_bytes_are_bounded(
    registry: RegistryServer, client: DirectoryClient
) -> None:
    for number in range(RENEWALS_MAX + 5):
        client.ask(Register(Definition("news"), "i1", View(number + 1, ("a#1",), ("127.0.0.1:1",)), "a#1"))
    assert 0 < len(registry._renewals) <= RENEWALS_MAX
