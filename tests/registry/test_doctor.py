"""`gcom-registry doctor`: set-ups of a registry that are broken in one way each, and whether it names that way."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from gcom_registry import rights_file
from gcom_registry.operation.doctor import examine
from gcom_registry.secure import secure_server
from gcom_registry.server import RegistryServer
from gcom_registry.storage import FILE, Disk

from gcom.certificates import identity_files, keys, private_files
from gcom.certificates.authority import KEY, Authority, make_authority, now_utc
from gcom.cli.findings import Finding
from gcom.core.directory.rows import Row
from gcom.errors import Unavailable
from gcom.runtime import pyro
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.values import identity
from gcom.values.definition import Definition
from gcom.values.identity import Identity
from tests.core.making import A, view
from tests.running import LIMIT_S, ROOT

Flags = dict[str, str | None]
LOCAL = ["settings", "data", "database", "port", "clock"]
SECURE = [*LOCAL, "authority", "certificate", "rights", "advertised"]


@pytest.fixture
def flags(tmp_path: Path) -> Flags:
    """Settings of a registry on loopback that has not run yet."""
    return {"data": str(tmp_path / "data"), "port": "0", "config": "none"}


@pytest.fixture
def folder(flags: Flags) -> Path:
    """The data folder of a registry that has run."""
    folder = Path(str(flags["data"]))
    with closing(Disk(folder)) as disk:
        disk.save(Row(Definition("news"), "k1", view(A)))
    return folder


@pytest.fixture
def secure(flags: Flags, folder: Path) -> Flags:
    """Settings of a registry for other machines that has run."""
    server = secure_server(pyro.place("127.0.0.1"), None, folder / "authority", (None, None, None), lambda _: None)
    server.close()
    return {**flags, "listen": "127.0.0.1"}


@pytest.fixture
def stranger() -> Iterator[int]:
    """A port that something has which is no GCom."""
    with socket.create_server(("127.0.0.1", 0)) as web:
        threading.Thread(target=_serve_web, args=(web,), daemon=True).start()
        yield web.getsockname()[1]


def _serve_web(web: socket.socket) -> None:
    while True:
        try:
            sock, _ = web.accept()
        except OSError:
            return
        with sock:
            sock.recv(4096)
            sock.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def codes(flags: Flags) -> list[str]:
    found = list(examine(flags))
    assert all(it.good and not it.warning for it in found), found
    return [it.code for it in found]


def wrong(flags: Flags) -> Finding:
    """Return the only finding that is wrong; all other looks are made all the same."""
    (found,) = [it for it in examine(flags) if not it.good]
    return found


def warning(flags: Flags) -> Finding:
    found = list(examine(flags))
    assert all(it.good for it in found), found
    (only,) = [it for it in found if it.warning]
    return only


def test_before_its_first_start_all_is_well(flags: Flags) -> None:
    assert codes(flags) == ["settings", "data", "port", "clock"]
    assert codes({**flags, "listen": "127.0.0.1"}) == [
        "settings", "data", "port", "clock", "authority", "rights", "advertised",
    ]  # fmt: skip
    assert not Path(str(flags["data"])).exists()


@pytest.mark.usefixtures("folder")
def test_after_it_has_run_all_is_looked_at(flags: Flags, secure: Flags) -> None:
    assert codes(flags) == LOCAL
    assert codes(secure) == SECURE


@pytest.mark.parametrize("others", [False, True])
def test_while_it_runs_it_is_told_who_has_the_port(flags: Flags, folder: Path, secure: Flags, others: bool) -> None:
    if others:
        server = secure_server(
            pyro.place("127.0.0.1"), folder, folder / "authority", (None, None, None), lambda _: None
        )
    else:
        server = RegistryServer(data=folder)
    server.start()
    with closing(server):
        port = server.address.rpartition(":")[2]
        found = {it.code: it for it in examine({**(secure if others else flags), "port": port})}
    assert all(it.good for it in found.values())
    # It waits for the group of before.
    assert f"the registry of these settings runs at 127.0.0.1:{port}: starting" in found["runs"].text
    assert "the registry of these settings uses it" in found["database"].text.replace(repr(str(folder / FILE)), "it")


def test_a_database_that_cannot_be_opened_is_named(flags: Flags) -> None:
    path = Path(str(flags["data"])) / FILE
    path.mkdir(parents=True)
    for each in (path, path.parent):
        each.chmod(0o700)
    found = wrong(flags)
    assert found.code == "database"
    assert "cannot be used now: unable to open database file" in found.text


def test_a_database_that_another_process_has_locked(flags: Flags, folder: Path) -> None:
    """No registry of these settings runs, and none could: the process is named."""
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as base:
        base.execute("BEGIN EXCLUSIVE")
        found = wrong(flags)
        (folder / "authority").mkdir(mode=0o700)
        (folder / "authority" / "address").write_text("10.0.0.5:7411\n")
        assert "ran last at 10.0.0.5:7411: repeat its --listen" in wrong(flags).text
    assert found.code == "database"
    assert f"is locked by another process, such as a registry that runs already: process {os.getpid()} (" in found.text


def test_a_registry_whose_disk_is_full_is_ill(flags: Flags, tmp_path: Path) -> None:
    """It says so of itself."""
    server = RegistryServer(data=tmp_path / "other")
    server.start()
    with closing(server):
        assert server._disk is not None
        server._disk._failure = "the registry's disk does not take what it must keep: full"
        found = wrong({**flags, "port": server.address.rpartition(":")[2]})
    assert (found.code, "does not take what it must keep" in found.text) == ("runs", True)


def test_a_registry_whose_folder_was_removed_is_ill(flags: Flags, tmp_path: Path) -> None:
    """The system lets it write on, into a file that is no more."""
    server = RegistryServer(data=tmp_path / "other")
    server.start()
    with closing(server), closing(DirectoryClient(server.address, LIMIT_S)) as client:
        client.create(Definition.parse("before"))
        shutil.rmtree(tmp_path / "other")
        with pytest.raises(Unavailable, match=r"registry\.db' was removed or replaced while this registry has it"):
            client.create(Definition.parse("after"))
        found = wrong({**flags, "port": server.address.rpartition(":")[2]})
        assert [entry.definition.group for entry in client.groups()] == ["before"]
    assert (found.code, "start the registry again" in found.text) == ("runs", True)


def test_wrong_settings_are_named_with_a_suggestion(tmp_path: Path, flags: Flags) -> None:
    file = tmp_path / "registry.toml"
    file.write_text("prot = 1\n")
    found = list(examine({**flags, "config": str(file)}))
    assert [(it.code, it.good, "do you mean 'port'" in it.text) for it in found] == [("settings", False, True)]
    (only,) = examine({**flags, "advertise": "registry.example"})
    assert (only.code, "--advertise is for --listen" in only.text) == ("settings", True)


def test_a_data_folder_that_cannot_be_one(flags: Flags, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = wrong({**flags, "data": str(tmp_path / "file" / "data")})
    assert (found.code, "is a file" in found.text) == ("data", True)
    found = wrong({**flags, "data": "/proc/nobody/writes/here"})
    assert (found.code, "cannot write in '/proc', which is of" in found.text) == ("data", True)


def test_a_data_folder_that_is_open_to_others(flags: Flags, folder: Path) -> None:
    folder.chmod(0o750)
    found = wrong(flags)
    assert (found.code, "is open to other users (mode 750): chmod -R go= " in found.text) == ("data", True)


def test_a_registry_that_keeps_nothing_is_warned(flags: Flags) -> None:
    assert "nobody can tell who has a name" in warning({**flags, "data": "none"}).text


@pytest.mark.parametrize("how", ["garbage", "a page", "a row"])
def test_a_database_that_is_damaged(flags: Flags, folder: Path, how: str) -> None:
    path = folder / FILE
    if how == "garbage":
        path.write_bytes(b"garbage" * 1000)
    elif how == "a page":
        data = path.read_bytes()
        path.write_bytes(data[:4096] + bytes(len(data) - 4096))
    else:
        with closing(sqlite3.connect(path)) as base, base:
            base.execute("UPDATE groups SET entry = x'00'")
    found = wrong(flags)
    assert (found.code, str(path) in found.text) == ("database", True)


def test_a_port_that_something_else_has(flags: Flags, secure: Flags, stranger: int) -> None:
    for each in (flags, secure):
        found = wrong({**each, "port": str(stranger)})
        assert (found.code, f"127.0.0.1:{stranger} cannot be used" in found.text) == ("port", True)
        assert "ss -ltnp" in found.text


def test_a_port_that_another_users_registry_has(flags: Flags) -> None:
    server = RegistryServer(credentials=pyro.UserSecret(b"o" * 32))
    server.start()
    with closing(server):
        found = wrong({**flags, "port": server.address.rpartition(":")[2]})
    assert (found.code, "another user's registry" in found.text) == ("port", True)


def test_an_address_of_another_machine(secure: Flags) -> None:
    found = wrong({**secure, "listen": "203.0.113.77:7411", "advertise": "127.0.0.1"})
    assert (found.code, "is none of this machine's" in found.text) == ("port", True)


def test_an_authority_that_is_over_or_open_to_others(secure: Flags, folder: Path, tmp_path: Path) -> None:
    (folder / "authority" / KEY).chmod(0o644)
    found = wrong(secure)
    assert (found.code, "may be read by others: chmod 600" in found.text) == ("certificate", True)
    make_authority(tmp_path / "old" / "authority", now_utc() - timedelta(days=4000))
    found = wrong({**secure, "data": str(tmp_path / "old")})
    assert (found.code, "is expired" in found.text) == ("certificate", True)


def test_authority_records_that_are_damaged(secure: Flags, folder: Path) -> None:
    path = folder / "authority" / "authority.db"
    path.write_bytes(b"garbage" * 1000)
    found = wrong(secure)
    assert (found.code, str(path) in found.text) == ("certificate", True)


@pytest.mark.parametrize(("days_ago", "words"), [(25, "ends in 5 days"), (40, "is expired")])
def test_its_own_certificate_near_its_end(secure: Flags, folder: Path, days_ago: int, words: str) -> None:
    authority = Authority(folder / "authority")
    written(authority, identity.registry(), folder / "authority" / "registry", days_ago)
    found = warning(secure)
    assert (found.code, words in found.text) == ("certificate", True)


def test_a_certificate_of_ones_own(secure: Flags, tmp_path: Path) -> None:
    authority = make_authority(tmp_path / "own", now_utc() - timedelta(days=50))
    written(authority, identity.registry(), tmp_path / "near", 25)
    written(authority, identity.member("bob"), tmp_path / "member", 1)
    found = warning(secure | own(tmp_path / "near"))
    assert ("nobody renews" in found.text, "ends in 5 days" in found.text) == (True, True)
    found = wrong(secure | own(tmp_path / "member"))
    assert (found.code, "is of member/bob, and not of a registry" in found.text) == ("certificate", True)
    found = wrong(secure | {**own(tmp_path / "near"), "ca": None})
    assert (found.code, "give all three" in found.text) == ("certificate", True)


def written(authority: Authority, who: Identity, folder: Path, days_ago: int) -> None:
    """Write a certificate of 30 days that was issued so many days ago."""
    key = keys.new_key()
    certificate = authority.issue(key.public_key(), who, now_utc() - timedelta(days=days_ago))
    identity_files.save(folder, keys.key_pem(key), certificate, authority.pem)


def own(folder: Path) -> Flags:
    files = identity_files.files_in(folder)
    return {"cert": files.cert, "key": files.key, "ca": files.ca}


def test_rules_that_are_wrong(secure: Flags, folder: Path) -> None:
    private_files.write(folder / "authority" / rights_file.FILE, b'[[rule]]\nalow = ["join"]\n')
    found = wrong(secure)
    assert (found.code, "rights.toml" in found.text) == ("rights", True)


def test_an_address_for_others_that_no_machine_has(secure: Flags) -> None:
    found = wrong({**secure, "advertise": "a..b"})  # not asked of any name server
    assert (found.code, "'a..b', which this machine does not know" in found.text) == ("advertised", True)


def test_a_clock_that_went_back(flags: Flags, folder: Path) -> None:
    later = time.time() + 3600
    os.utime(folder / FILE, (later, later))
    found = wrong(flags)
    assert (found.code, "this clock is slow, or was fast" in found.text) == ("clock", True)


@pytest.mark.slow
def test_the_command_prints_findings_and_a_status(tmp_path: Path) -> None:
    for data, status, good in ((str(tmp_path), 0, True), ("/proc/nobody", 1, False)):
        done = subprocess.run(
            [sys.executable, "-m", "gcom_registry", "doctor", "--port", "0", "--data", data, "--json"],
            cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S,
        )  # fmt: skip
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        assert (done.returncode, done.stderr, all(row["good"] for row in rows)) == (status, "", good)
        assert set(rows[0]) == {"code", "good", "text", "warning"}
