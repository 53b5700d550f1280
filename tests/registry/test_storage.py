"""The files of a registry: there again after a restart, locked, and refused when it is not its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from gcom_registry.server import RegistryServer
from gcom_registry.storage import FILE, Disk

import gcom
from gcom.certificates import private_files
from gcom.core.directory.rows import DissolvedInstance, Row
from gcom.core.directory.witness import WitnessRecord
from gcom.core.messages.registry import Claim, Create, GroupInfo, Lookup, Refusal, Register, Request, Unregister
from gcom.errors import BadValue, LocalError, StorageUnavailable, Unavailable
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.values.definition import Definition
from tests.core.making import A, B, C, address, decision, view

RECORDS = [WitnessRecord("i1", 3, (2, 1)), WitnessRecord("i2", 7, (1, 0), decision(view(A, B, number=7), A))]
NEWS = Definition.parse("news")
ROW = Row(
    NEWS,
    "k2",
    view(A, B, number=4),
    after=("k1", 9),
    noted=((C, address(C)),),
    noted_view=5,
    older=(("dave#1", address("dave#1")),),
)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with closing(Disk(tmp_path / "data")) as found:
        yield found


def again(disk: Disk, tmp_path: Path) -> Disk:
    """The next one of the folder."""
    disk.close()
    return Disk(tmp_path / "data")


def test_votes_are_there_again_the_latest_of_each_instance(disk: Disk, tmp_path: Path) -> None:
    for record in [WitnessRecord("i2", 1, (1, 1)), *RECORDS]:
        disk.save_vote(record)
    with closing(again(disk, tmp_path)) as found:
        assert list(found.votes()) == RECORDS


def test_each_commit_is_whole_in_the_one_file(disk: Disk, tmp_path: Path) -> None:
    """Decision 0012: a copy of registry.db alone, also of a registry that was killed, has forgotten no vote."""
    (tmp_path / "copy").mkdir(mode=0o700)
    for record in RECORDS:
        disk.save_vote(record)
        shutil.copy(tmp_path / "data" / FILE, tmp_path / "copy")
        with closing(Disk(tmp_path / "copy")) as found:
            assert record in list(found.votes())
    assert disk._base.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA


def test_rows_are_there_again_but_for_what_time_has_made_of_them(disk: Disk, tmp_path: Path) -> None:
    empty = Row(Definition.parse("abc", static=("bob",), tie_breaker="registry"), "k7")
    disk.save(replace(ROW, view=None))
    disk.save(replace(ROW, renewed_ms=17, forked_ms=18))
    disk.save(empty)
    with closing(again(disk, tmp_path)) as found:
        assert list(found.rows()) == [empty, ROW]
        found.drop("abc")
        assert list(found.rows()) == [ROW]


def test_which_groups_all_have_left_is_there_again_in_order(disk: Disk, tmp_path: Path) -> None:
    for gone in (DissolvedInstance("b", "k1", 1), DissolvedInstance("a", "k2", 2), DissolvedInstance("b", "k3", 3)):
        disk.bury(gone)
    with closing(again(disk, tmp_path)) as found:
        assert list(found.dissolved()) == [DissolvedInstance("a", "k2", 2), DissolvedInstance("b", "k3", 3)]
        found.forget("a")
        assert list(found.dissolved()) == [DissolvedInstance("b", "k3", 3)]


def test_two_registries_do_not_share_a_folder(tmp_path: Path) -> None:
    with gcom.embedded(data=tmp_path), pytest.raises(StorageUnavailable, match="such as a registry that runs already"):
        gcom.embedded(data=tmp_path)
    gcom.embedded(data=tmp_path).close()


def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path: Path) -> None:
    content = b"not a database, but long enough to look at" * 50
    (tmp_path / FILE).write_bytes(content)
    (tmp_path / FILE).chmod(0o600)
    with pytest.raises(LocalError, match=rf"{FILE}' is damaged"):
        Disk(tmp_path)
    assert (tmp_path / FILE).read_bytes() == content


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("INSERT INTO votes VALUES ('i1', 1, 1, 0, x'00')", "'i1'"),
        ("INSERT INTO groups VALUES ('news', x'00')", "'news'"),
        ("INSERT INTO groups VALUES ('news', x'9563')", "'news'"),
    ],
)
def test_what_is_damaged_is_refused_with_the_file_and_its_name(tmp_path: Path, statement: str, named: str) -> None:
    with closing(Disk(tmp_path)) as disk:
        disk._base.execute(statement)
    with pytest.raises(LocalError, match=rf"{FILE}' is damaged at (group|instance) {named}"):
        gcom.embedded(data=tmp_path)
    with pytest.raises(LocalError, match=named):  # and not that it is in use: the first one let go of it
        gcom.embedded(data=tmp_path)


def test_an_empty_file_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    with closing(Disk(tmp_path)):
        pass
    os.truncate(tmp_path / FILE, 0)
    with pytest.raises(LocalError, match=rf"{FILE}' is empty, .* restore a copy, or remove it"):
        Disk(tmp_path)


def test_a_user_without_a_home_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home(*_: object, **__: object) -> Path:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.setattr(private_files, "user_data_path", no_home)
    with pytest.raises(BadValue, match="no home folder: set HOME"):
        private_files.data_folder()


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadValue, match="cannot be made: Not a directory"):
        Disk(tmp_path / "file" / "data")


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o777])
def test_a_folder_and_its_files_are_this_users_alone_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with closing(Disk(tmp_path / "above" / "data")) as disk:
            disk.save(ROW)
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "above").rglob("*")}
    assert modes == {"data": 0o700, FILE: 0o600}
    assert (tmp_path / "above").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("loose", ["", FILE])
def test_what_other_users_may_open_is_refused_with_the_command_that_mends_it(tmp_path: Path, loose: str) -> None:
    """As a folder was made before: 755, and its file 644, which any user of the machine could lock."""
    Disk(tmp_path / "data").close()
    path = tmp_path / "data" / loose
    path.chmod(0o755 if path.is_dir() else 0o644)
    with pytest.raises(BadValue, match=r"is open to other users \(mode (755|644)\): chmod -R go= ") as refused:
        Disk(tmp_path / "data")
    subprocess.run(str(refused.value).rpartition(": ")[2].split(), check=True, timeout=60)
    Disk(tmp_path / "data").close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file away")
@pytest.mark.parametrize("foreign", ["", FILE])
def test_what_another_user_owns_is_refused(tmp_path: Path, foreign: str) -> None:
    Disk(tmp_path / "data").close()
    os.chown(tmp_path / "data" / foreign, 65534, -1)
    with pytest.raises(BadValue, match="is of user nobody, and not of root: run this as that user"):
        Disk(tmp_path / "data")


@pytest.mark.parametrize(
    "write",
    [
        lambda disk: disk.save_vote(RECORDS[0]),
        lambda disk: disk.save(ROW),
        lambda disk: disk.drop("news"),
        lambda disk: disk.bury(DissolvedInstance("news", "k1", 1)),
        lambda disk: disk.forget("news"),
    ],
    ids=["vote", "save", "drop", "bury", "forget"],
)
def test_a_disk_that_takes_nothing_is_said(disk: Disk, write: Callable[[Disk], None]) -> None:
    disk._base.execute("PRAGMA query_only = ON")
    with pytest.raises(Unavailable, match="disk"):
        write(disk)


# a registry that starts again


class _Registries:
    """One registry after the other out of one folder, and a client of the present one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.start()

    def start(self) -> None:
        self.server = RegistryServer(data=self._folder)
        self.server.start()
        self.client = DirectoryClient(self.server.address, 120.0)

    def end(self) -> None:
        self.client.close()
        self.server.close()

    def restart(self) -> None:
        self.end()
        self.start()


@pytest.fixture
def registries(tmp_path: Path) -> Iterator[_Registries]:
    found = _Registries(tmp_path)
    yield found
    found.end()


def test_a_registry_that_starts_again_knows_its_groups_and_gives_no_name_away(registries: _Registries) -> None:
    assert registries.server.grace_s == 0
    made = registries.client.create(NEWS)
    claimed = registries.client.ask(Claim("news", made.instance, 0, A, address(A)))
    assert isinstance(claimed, GroupInfo)
    registries.client.create(Definition.parse("abc"))
    registries.restart()
    assert registries.server.grace_s > 0
    news = registries.client.lookup("news")
    assert (news.instance, news.view, news.members, news.alive) == (made.instance, 1, (A,), False)
    empty = registries.client.lookup("abc")
    others: list[Request] = [
        Create(Definition.parse("other")),
        Claim("abc", empty.instance, 0, B, address(B)),
        Claim("news", made.instance, 1, B, address(B), gone=(A,)),
    ]
    for request in others:
        answer = registries.client.ask(request)
        assert isinstance(answer, Refusal)
        assert (answer.code, "members of group" in answer.text) == ("RegistryStarting", True)
    alive = registries.client.ask(Register(NEWS, made.instance, view(A, number=1), A))
    assert isinstance(alive, GroupInfo)
    assert alive.alive


def test_a_group_that_all_have_left_stays_dissolved_when_the_registry_starts_again(registries: _Registries) -> None:
    made = registries.client.create(NEWS)
    registries.client.ask(Claim("news", made.instance, 0, A, address(A)))
    registries.client.ask(Unregister("news", made.instance, 1, A))
    registries.restart()
    asked: list[Request] = [Lookup("news", former=made.instance), Register(NEWS, made.instance, view(A, number=1), A)]
    for request in asked:
        answer = registries.client.ask(request)
        assert isinstance(answer, Refusal)
        assert answer.code == "Dissolved"
    newer = registries.client.create(NEWS)
    assert newer.after == (made.instance, 1)
