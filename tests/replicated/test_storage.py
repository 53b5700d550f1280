"""A replica's folder: what was synced is there again, or the log is known to be damaged, and kept aside."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loguru import logger

from gcom.errors import BadValue, VersionMismatch
from gcom.replicated.durable.agreement import AppendEntry, WriteLog, WritePromise, WriteSnapshot
from gcom.replicated.durable.log import DurableLog, DurableUser
from gcom.replicated.durable.rounds import Configuration, DiskFacts, LogEntry
from gcom.replicated.durable.storage import LOG_FILE, LogStorage
from gcom.replicated.machine import MachineKind
from gcom.replicated.replica import Replica
from tests.replicated.machines import Dice, Stock
from tests.running import Child, environment

NAMES = ("a", "b", "c")
PLAIN = Configuration(0, NAMES)


def opened(folder: Path, name: str = "a", state: str = "stock") -> LogStorage:
    return LogStorage(folder, state, name, NAMES)


def entry(index: int, term: int = 1) -> LogEntry:
    return LogEntry(term, index, "a#1", b"entry %d" % index)


def filled(folder: Path, count: int = 20) -> None:
    storage = opened(folder)
    storage.write([WritePromise(1, False), WriteLog(1, b"begin", 0, 0, (entry(1),), PLAIN)], 0)
    for index in range(2, count + 1):
        storage.write([AppendEntry(entry(index), PLAIN)], index - 1)
    storage.close()


def test_what_was_written_is_there_again(tmp_path: Path) -> None:
    filled(tmp_path)
    storage = opened(tmp_path)
    assert storage.log.entries == [entry(index) for index in range(1, 21)]
    assert (storage.log.snapshot, storage.log.index, storage.log.committed) == (b"begin", 0, 19)
    assert storage.facts == DiskFacts(1, 1, 20, PLAIN)
    storage.write([WriteSnapshot(b"more", 15, 1)], 20)
    other = Configuration(7, ("a", "b"))
    storage.write([WritePromise(3, False), AppendEntry(entry(21), other)], 20)
    storage.close()
    storage = opened(tmp_path)
    assert (storage.log.snapshot, [it.index for it in storage.log.entries]) == (b"more", list(range(16, 22)))
    assert storage.facts == DiskFacts(3, 1, 21, other)
    storage.write([WriteLog(4, b"others", 30, 4, (), PLAIN)], 0)
    storage.close()
    storage = opened(tmp_path)
    assert (storage.log.snapshot, storage.log.entries) == (b"others", [])
    assert storage.facts == DiskFacts(4, 4, 30, PLAIN)
    assert storage.give_up(["c"]) == ("a", "b")
    storage.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    filled(folder)
    storage = opened(folder)  # held open by a killed process, it would leave its WAL behind, as it does here
    storage.write([AppendEntry(entry(21), PLAIN)], 20)
    copy = folder.parent / "killed"
    shutil.copytree(folder, copy)
    storage.close()
    return copy


def test_a_log_that_was_killed_is_whole(written: Path, tmp_path: Path) -> None:
    shutil.copytree(written, tmp_path / "a")
    storage = opened(tmp_path / "a")
    assert storage.facts.index == 21
    storage.close()


@pytest.mark.parametrize("name", [LOG_FILE, f"{LOG_FILE}-wal"])
@given(data=st.data())
def test_a_log_that_is_cut_or_changed_anywhere_is_whole_or_kept_aside(
    name: str, written: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("damaged") / "a"
    shutil.copytree(written, folder)
    content = (folder / name).read_bytes()
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content = content[:at]
    else:
        content = content[:at] + bytes([content[at] ^ data.draw(st.integers(1, 255))]) + content[at + 1 :]
    (folder / name).write_bytes(content)
    logger.disable("gcom")
    try:
        storage = opened(folder)
    finally:
        logger.enable("gcom")
    whole = [entry(index) for index in range(1, 22)]
    if storage.log.entries != whole:
        assert storage.facts == DiskFacts(0, 0, 0, PLAIN)
        assert (folder / "damaged-0" / LOG_FILE).exists()
    storage.close()


def test_a_damaged_log_is_named(written: Path, tmp_path: Path, expect_log: Callable[[str], None]) -> None:
    shutil.copytree(written, tmp_path / "a")
    (tmp_path / "a" / f"{LOG_FILE}-wal").unlink()
    expect_log("is damaged (it is cut: it has promise, term and index (1, 1, 20), and had (1, 1, 21))")
    storage = opened(tmp_path / "a")
    assert storage.facts.promised == 0
    storage.close()


def test_a_folder_is_of_one_process_one_replica_and_one_format(tmp_path: Path) -> None:
    filled(tmp_path)
    first = opened(tmp_path)
    with pytest.raises(BadValue, match="another process uses the folder"):
        opened(tmp_path)
    first.close()
    with pytest.raises(BadValue, match="is of name 'a', not 'b': give each its own folder"):
        opened(tmp_path, name="b")
    with pytest.raises(BadValue, match="is of state 'stock', not 'other'"):
        opened(tmp_path, state="other")
    storage = opened(tmp_path)
    storage.write([WriteSnapshot(Replica(MachineKind.of(Dice)).dump(), 5, 1)], 5)
    storage.close()
    for _ in range(2):  # the folder is let go
        with pytest.raises(BadValue, match="of a machine 'Dice', not 'Stock'"):
            DurableLog.opened(MachineKind.of(Stock), cast(DurableUser, None), "stock", "a", tmp_path, NAMES)
    with pytest.raises(BadValue, match="data must be a folder that this process may write into"):
        opened(tmp_path / LOG_FILE)
    with sqlite3.connect(tmp_path / LOG_FILE) as database:
        database.execute("UPDATE meta SET value = x'02' WHERE key = 'format'")
    database.close()
    with pytest.raises(VersionMismatch, match="has format 2: this version of GCom reads format 1"):
        opened(tmp_path)


FULL = """
import resource, signal, sys
from gcom.replicated.errors import StorageFailed
from tests.replicated.test_storage import *
storage = opened(Path(sys.argv[1]))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
index = 1
storage.write([WritePromise(1, False), WriteLog(1, b"begin", 0, 0, (entry(1),), PLAIN)], 0)
try:
    while True:
        storage.write([AppendEntry(LogEntry(1, index + 1, "a#1", bytes(9000)), PLAIN)], index)
        index += 1
except StorageFailed as error:
    print(index, error, flush=True)
"""


def test_a_full_disk_is_an_error_and_changes_nothing(tmp_path: Path) -> None:
    with Child([sys.executable, "-c", FULL, str(tmp_path)], environment()) as child:
        assert child.end() == 0
        index, _, words = child.out[-1].partition(" ")
    assert "takes no more writes" in words
    storage = opened(tmp_path)
    assert storage.facts.index == int(index) > 10
    storage.close()
