"""The audit trail: each change and refusal is a line with its author and place; the files are bounded."""

from __future__ import annotations

import json
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any, get_args

import pytest
from gcom_registry.rights_file import RightsFile
from gcom_registry.secure import secure_server
from gcom_registry.server import RegistryServer
from gcom_registry.trail.file import FILE, FILES_MAX, REFUSALS_MAX, Trail

import gcom
from gcom.certificates.authority import Authority, now_utc
from gcom.certificates.identity_files import CertificateFiles, files_in
from gcom.certificates.invitation import Invitation
from gcom.core.codec.sequencer import decode_answer, encode_request
from gcom.core.messages.registry import GroupInfo, ListGroups, Lookup, Refusal, Register, Request
from gcom.core.messages.sequencer import SequencerRequest, Unknown
from gcom.errors import BadValue, GComError, NotPermitted, PeerError
from gcom.runtime import pyro
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.runtime.security import enrolment
from gcom.values import identity
from tests.hosts import stranger

LIMIT_S = 60.0
ExpectLog = Callable[[str], None]
Line = dict[str, Any]


class World:
    """A registry with an authority and a trail, and members that it invited."""

    def __init__(self, folder: Path) -> None:
        self.data = folder
        self.rules = folder / "rights.toml"
        place, authority = pyro.place("127.0.0.1"), folder / "authority"
        rights = RightsFile(self.rules)
        self.registry = secure_server(place, folder, authority, (None, None, None), lambda text: None, rights)
        self.registry.start()
        self.authority = Authority(authority)

    def invitation(self, name: str) -> Invitation:
        secret = self.authority.invite(identity.member(name), now_utc(), timedelta(hours=1))
        return Invitation(self.registry.address, name, bytes.fromhex(self.authority.fingerprint), secret)

    def member(self, name: str) -> CertificateFiles:
        return files_in(enrolment.accept(self.invitation(name)))

    def client(self, files: CertificateFiles) -> DirectoryClient:
        return DirectoryClient(self.registry.address, LIMIT_S, credentials=pyro.Credentials(files))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    it = World(tmp_path / "data")
    with closing(it.registry):
        yield it


def lines(folder: Path) -> list[Line]:
    return [json.loads(line) for line in (folder / FILE).read_text("utf-8").splitlines()]


def found(world: World, event: str, **wanted: object) -> list[Line]:
    told = [line for line in lines(world.data) if line["event"] == event]
    return [line for line in told if wanted.items() <= line.items()]


def until(condition: Callable[[], object]) -> None:
    deadline, pause = monotonic() + LIMIT_S, threading.Event()
    while not condition():
        assert monotonic() < deadline, "it never happened"
        pause.wait(0.01)


def test_enrolments_and_refused_ones_are_told(world: World, expect_log: ExpectLog) -> None:
    expect_log("an enrolment was refused")
    one = world.invitation("bob")
    enrolment.accept(one)
    with pytest.raises(BadValue, match="used before"):
        enrolment.accept(one)
    (line,) = found(world, "enrol")
    assert (line["member"], line["by"]) == ("member/bob", "nobody")
    assert line["from"].startswith("127.0.0.1:")
    (line,) = found(world, "refused", request="enrol")
    assert "the invitation was used before" in line["reason"]
    assert line["from"].startswith("127.0.0.1:")


def test_the_life_of_a_group_is_told(world: World) -> None:
    alice, bob = world.member("alice"), world.member("bob")
    with gcom.connect("alice", world.registry.address, certificates=alice) as one:
        one.join("news", create=gcom.Definition("news"))
        with gcom.connect("bob", world.registry.address, certificates=bob) as other:
            other.join("news").wait_for_members(2)
            until(lambda: found(world, "join", member="bob"))
        until(lambda: found(world, "leave", member="bob"))
    told = [(it["event"], it.get("member"), it["by"]) for it in lines(world.data) if it.get("group") == "news"]
    assert told == [
        ("create", None, "member/alice"),
        ("join", "alice", "member/alice"),
        ("join", "bob", "member/alice"),
        ("leave", "bob", "member/alice"),
        ("end", None, "member/alice"),
        ("leave", "alice", "member/alice"),
    ]
    (last,) = found(world, "leave", member="alice")
    assert last["process"].startswith("alice#")


def test_what_a_leaver_had_asked_for_before_is_no_strangers_word(world: World) -> None:
    """1. B registers its view. 2. It leaves, and the leader registers the next one. 3. What B said in 1 comes."""
    alice, bob = world.member("alice"), world.member("bob")
    with (
        gcom.connect("alice", world.registry.address, certificates=alice) as one,
        closing(world.client(bob)) as directory,
    ):
        news = one.join("news", create=gcom.Definition("news", "TOTAL"))
        with gcom.connect("bob", world.registry.address, certificates=bob) as other:
            gone = other.join("news")
            view = gone.wait_for_members(2)
        until(lambda: found(world, "leave", member="bob"))
        late = Register(news.definition, news.instance, view, gone.process)
        assert isinstance(directory.ask(late), GroupInfo)
        assert not found(world, "refused")
        ahead = replace(late, view=replace(view, number=view.number + 5))
        assert isinstance(directory.ask(ahead), GroupInfo | Refusal)
        assert [line["request"] for line in found(world, "refused", by="member/bob")] == ["register"]


def test_what_operators_look_for_is_told_with_name_and_address(world: World) -> None:
    with closing(world.client(world.member("alice"))) as alice, closing(world.client(world.member("bob"))) as bob:
        entry = alice.create(gcom.Definition("news"))
        with pytest.raises(NotPermitted):
            bob.remove("news")
        with pytest.raises(GComError):
            bob.fork(entry)
        alice.remove("news")
        world.rules.write_text('[[rule]]\ndeny = ["create"]\nmembers = ["bob"]\ngroups = ["*"]\n')
        assert world.registry.rights.reread() == ""
        with pytest.raises(NotPermitted):
            bob.create(gcom.Definition("other"))
    for request, group in (("remove", "news"), ("fork", "news"), ("create", "other")):
        (line,) = found(world, "refused", request=request, group=group, by="member/bob")
        assert line["from"].startswith("127.0.0.1:")
    assert [line["by"] for line in found(world, "remove")] == ["member/alice"]
    assert [line["rules"] for line in found(world, "rights")] == [["deny create to bob in *"]]


def test_each_lie_of_a_stranger_is_refused_and_told(world: World, expect_log: ExpectLog) -> None:
    """A signed static group: all that would take its name, end it, or spoil and read its order."""
    expect_log("NotPermitted")
    files = {name: world.member(name) for name in ("alice", "bob", "mallory")}
    with (
        gcom.connect("alice", world.registry.address, certificates=files["alice"]) as one,
        gcom.connect("bob", world.registry.address, certificates=files["bob"]) as other,
        closing(world.client(files["mallory"])) as directory,
        closing(pyro.Caller(world.registry.address, pyro.SEQUENCER, pyro.Credentials(files["mallory"]))) as sequencer,
    ):
        alice = one.join("votes", create=gcom.Definition("votes", "TOTAL", safe=True, signed=True))
        bob = other.join("votes")
        bob.wait_for_members(2)
        until(lambda: len(directory.lookup("votes").members) == 2)
        entry = directory.lookup("votes")
        wrong, orders = stranger.lies(entry, "mallory#1"), stranger.serial_lies(entry, "mallory#1")
        asked = {type(request) for request in (*wrong, *orders)}
        assert asked == {*get_args(Request), *get_args(SequencerRequest)} - {Lookup, ListGroups}
        for request in wrong:
            said = stranger.outcome(directory.ask(request))
            assert said in stranger.REFUSED or (isinstance(request, Register) and said == "GroupInfo"), request
        for order in orders:
            with suppress(PeerError):
                assert decode_answer(sequencer.call(encode_request(order), LIMIT_S)) == Unknown()
        assert directory.lookup("votes") == entry
        alice.send("still here", held_by="all")
        assert next(iter(bob)).text == "still here"
    told = found(world, "refused", by="member/mallory")
    assert {line["request"] for line in told} == {kind.__name__.lower() for kind in asked}


def test_a_revoked_certificate_and_its_next_call_are_told(world: World, expect_log: ExpectLog) -> None:
    expect_log("revoked")
    files = world.member("mallory")
    world.authority.revoke("mallory", now_utc())
    until(lambda: found(world, "revoke", member="member/mallory"))
    with closing(world.client(files)) as client, pytest.raises(GComError):
        client.groups()
    (line,) = found(world, "refused", request="connect", reason="revoked")
    assert line["by"] == "member/mallory"
    assert line["from"].startswith("127.0.0.1:")


def test_a_registry_of_one_user_has_a_trail_of_its_own(tmp_path: Path) -> None:
    with closing(RegistryServer(data=tmp_path / "data")) as registry:
        registry.start()
        with closing(DirectoryClient(registry.address, LIMIT_S)) as client:
            client.create(gcom.Definition("news"))
            client.remove("news")
    told = lines(tmp_path / "data")
    assert [line["event"] for line in told] == ["start", "create", "remove", "stop"]
    assert stat.S_IMODE((tmp_path / "data" / FILE).stat().st_mode) == 0o600


def test_a_registry_that_cannot_start_writes_nothing(tmp_path: Path) -> None:
    with closing(RegistryServer(data=tmp_path)):
        with pytest.raises(GComError, match="locked by another process"):
            RegistryServer(data=tmp_path)
        assert not (tmp_path / FILE).exists()


def test_the_files_are_bounded_and_the_newest_lines_stay(tmp_path: Path) -> None:
    trail = Trail(tmp_path, bytes_max=1000)
    for number in range(1000):
        trail.note("create", group=f"g{number}")
    trail.close()
    kept = sorted(tmp_path.iterdir(), key=lambda path: path.name)
    assert [path.name for path in kept] == [FILE, *(f"{FILE}.{number}" for number in range(1, FILES_MAX))]
    assert all(path.stat().st_size <= 1000 for path in kept)
    told = [
        json.loads(line)["group"] for path in (*reversed(kept[1:]), kept[0]) for line in path.read_text().splitlines()
    ]
    assert told == [f"g{number}" for number in range(1000 - len(told), 1000)]


def test_what_a_full_disk_did_not_take_is_counted_and_told_later(tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / FILE).symlink_to("/dev/full")
    with closing(Trail(full)) as trail:
        trail.note("create", group="a")
        assert "cannot be written: No space left" in trail.trouble
    with closing(Trail(tmp_path / "later")) as trail:
        trail.note("create", group="a")
        trail.note("create", group="b")
        assert "cannot be written: No such file" in trail.trouble
        (tmp_path / "later").mkdir()
        trail.retry()
        assert trail.trouble == ""
    assert [(line["event"], line["count"]) for line in lines(tmp_path / "later")] == [("missed", 2)]


def test_a_flood_of_refusals_is_counted_and_leaves_room_for_the_rest(tmp_path: Path) -> None:
    trail = Trail(tmp_path)
    for number in range(3 * REFUSALS_MAX):
        trail.refuse("connect", "no certificate", **{"by": "", "from": f"10.0.0.9:{number}"})
    assert len(lines(tmp_path)) == 1  # the like has a line
    for number in range(3 * REFUSALS_MAX):
        trail.refuse("register", "no seat", group=f"g{number}")
    trail.note("create", group="news")
    trail.close()
    told = lines(tmp_path)
    assert len(told) == REFUSALS_MAX + 1
    assert told[-1]["event"] == "create"
