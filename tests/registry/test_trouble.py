"""Trouble that passes: a disk that takes nothing, records that are locked, lost or cannot be read. Real processes."""

from __future__ import annotations

import os
import resource
import sqlite3
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from time import monotonic

import pytest
from gcom_registry.enrolment import noted_address
from gcom_registry.secure import secure_server
from gcom_registry.server import RegistryServer
from gcom_registry.storage import FILE, Disk

from gcom.certificates import private_files
from gcom.certificates.authority import RECORDS, Authority, now_utc
from gcom.certificates.identity_files import files_in
from gcom.cli import app
from gcom.errors import BadValue, LocalError, StorageUnavailable, Unavailable
from gcom.runtime import pyro
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.values import identity
from gcom.values.definition import Definition
from tests.running import LIMIT_S, Child, environment

ExpectLog = Callable[[str], None]
NOTHING = (0, resource.RLIM_INFINITY)  # no byte more into any file, as on a disk that is full
ALL = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


@contextmanager
def registry(folder: Path, *words: str, before: Callable[[], object] | None = None) -> Iterator[Child]:
    command = [sys.executable, "-m", "gcom_registry", "--port", "0", "--data", str(folder), "--config", "none", *words]
    with Child(command, environment(), before=before) as child:
        yield child


def fill(process: int = 0) -> None:
    resource.prlimit(process, resource.RLIMIT_FSIZE, NOTHING)


def until(condition: Callable[[], object]) -> None:
    deadline, pause = monotonic() + LIMIT_S, Event()
    while not condition():
        assert monotonic() < deadline, "it never happened"
        pause.wait(0.05)


def test_a_full_disk_at_the_start_is_no_wrong_setting(tmp_path: Path) -> None:
    with registry(tmp_path, before=fill) as child:
        assert child.end() == 1
    assert "Nothing was lost: start it again once that is mended" in child.errors[-1]
    for before in (None, fill):  # once all is there, a start writes nothing
        with registry(tmp_path, before=before) as child:
            child.until(lambda: child.out, "ready line")


def test_a_locked_database_at_the_start_is_no_wrong_setting(tmp_path: Path) -> None:
    Disk(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as base:
        base.execute("BEGIN EXCLUSIVE")
        with registry(tmp_path) as child:
            assert child.end() == 1
    assert "is locked by another process" in child.errors[-1]


def test_a_folder_that_nobody_may_write_now_may_be_written_later() -> None:
    with pytest.raises(StorageUnavailable, match="cannot be made"):
        private_files.make_folder(Path("/sys/gcom"))
    with pytest.raises(BadValue, match="cannot be made"):
        private_files.make_folder(Path("/dev/null/gcom"))


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=LIMIT_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.slow
def test_a_disk_that_takes_nothing_is_told_before_and_after_somebody_needs_it(tmp_path: Path) -> None:
    with registry(tmp_path, "--metrics", "0") as child:
        line = child.until(lambda: next((it for it in child.errors if "metrics at" in it), None), "metrics")
        url = line.rpartition(" ")[2].removesuffix("/metrics")
        address = str(child.until(lambda: child.out, "ready line")[0]).split()[2]
        with closing(DirectoryClient(address, LIMIT_S)) as client:
            client.create(Definition.parse("before"))
            assert get(f"{url}/healthz") == (200, "ok\n")
            fill(child.process.pid)
            # Nobody asks for anything: it finds out by itself.
            until(lambda: get(f"{url}/healthz")[0] == 503)
            with pytest.raises(Unavailable, match="disk"):
                client.create(Definition.parse("after"))
            status, said = get(f"{url}/healthz")
            assert (status, "do not start it again before" in said) == (503, True), said
            assert get(f"{url}/livez") == (200, "ok\n")  # a start would mend nothing
            assert [it.definition.group for it in client.groups()] == ["before"]
            resource.prlimit(child.process.pid, resource.RLIMIT_FSIZE, ALL)
            until(lambda: get(f"{url}/healthz") == (200, "ok\n"))
            client.create(Definition.parse("after"))


# the authority's records


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The data folder of a registry with an authority, which has run."""
    with closing(secure(tmp_path / "data")):
        return tmp_path / "data"


def secure(folder: Path) -> RegistryServer:
    return secure_server(pyro.place("127.0.0.1"), folder, folder / "authority", (None, None, None), lambda _: None)


@pytest.mark.parametrize("how", ["removed", "emptied", "damaged"])
def test_where_the_records_are_lost_nobody_is_served_until_an_operator_says_so(
    folder: Path, how: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """A member that was revoked would be believed again, and nobody would notice."""
    path = folder / "authority" / RECORDS
    path.unlink() if how == "removed" else path.write_bytes(b"" if how == "emptied" else b"garbage" * 1000)
    with pytest.raises(LocalError, match=r"are lost, and its key is there|is damaged") as refused:
        secure(folder)
    assert not isinstance(refused.value, BadValue)  # no wrong setting: its exit status is 1
    with registry(folder, "--listen", "127.0.0.1:0") as child:
        assert child.end() == 1
    words = ["certs", "begin-records", "--authority", str(folder / "authority")]
    assert app.run([*words, "--yes"]) == 0
    assert "gcom-registry deny all NAME" in capfd.readouterr().err
    secure(folder).close()
    assert app.run([*words, "--yes"]) == 2
    assert "are whole: nothing was changed" in capfd.readouterr().err


def test_a_registry_whose_records_go_is_ill_and_goes_on_with_the_last_list(folder: Path, expect_log: ExpectLog) -> None:
    expect_log("are lost, and its key is there")
    authority = Authority(folder / "authority")
    authority.issue(Authority(folder / "authority")._key.public_key(), identity.member("mallory"), now_utc())
    authority.revoke("mallory", now_utc())
    with closing(secure(folder)) as server:
        server.start()
        until(lambda: server._upkeep is not None and len(server._upkeep._credentials.revoked) == 1)
        path = folder / "authority" / RECORDS
        os.replace(path, folder / "aside")
        until(lambda: "are lost" in server.look().ill)
        assert server._upkeep is not None
        assert len(server._upkeep._credentials.revoked) == 1
        assert server.look().stuck == ""
        os.replace(folder / "aside", path)
        until(lambda: not server.look().ill)


def test_each_start_uses_the_certificate_that_is_there(folder: Path) -> None:
    """Instance ids are sealed by its key (decision 0025), and each certificate is a row of the records."""
    authority = Authority(folder / "authority")
    before, rows = _own(folder), authority.records.issued()
    secure(folder).close()
    assert (_own(folder), authority.records.issued()) == (before, rows)
    authority.records.revoke(rows[0].serial, int(now_utc().timestamp()))
    secure(folder).close()
    after = _own(folder)
    assert (after[0], after[1] != before[1], len(authority.records.issued())) == (before[0], True, 2)
    assert noted_address(authority)


def _own(folder: Path) -> tuple[bytes, bytes]:
    """Return the key and the certificate of a registry."""
    files = files_in(folder / "authority" / "registry")
    return Path(files.key).read_bytes(), Path(files.cert).read_bytes()
