"""The file: power cuts, full disks, damage, newer versions, and places where no store can be."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from gcom import topics
from gcom.errors import BadValue
from gcom.topics import NewerSchema, ReceiptUnknown, StoreDamaged, StoreFull, StoreStopped, UnknownTopic
from gcom.topics.storage import sqlite
from tests.cases import daily_and_rest


@pytest.mark.parametrize("cuts", daily_and_rest([97, 2**40], 1))
def test_the_wal_cut_anywhere_behind_the_last_receipt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuts: int
) -> None:
    """A power cut: what was not fsynced may be there in part. What has a receipt is there whole, nothing twice."""
    monkeypatch.setattr(sqlite, "CHECKPOINT_BYTES", 2**40)
    place, wal = tmp_path / "app.db", tmp_path / "app.db-wal"
    with topics.open(place) as store:
        producer = store.topic("orders").producer("import")
        for seq in range(3):
            producer.send(str(seq), seq=seq)
        answered = wal.stat().st_size
        producer.send("unanswered", seq=3)
        whole = wal.stat().st_size
        shutil.copy(place, tmp_path / "cut.db")
        shutil.copy(wal, tmp_path / "whole-wal")
    data = (tmp_path / "whole-wal").read_bytes()
    step = max(1, (whole - answered) // cuts)  # or at every byte
    for end in sorted({*range(answered, whole, step), answered, answered + 1, whole - 1, whole}):
        for name in ("cut.db-wal", "cut.db-shm"):
            (tmp_path / name).unlink(missing_ok=True)
        shutil.copy(place, tmp_path / "unused")
        case = tmp_path / f"case-{end}.db"
        shutil.copy(tmp_path / "cut.db", case)
        (tmp_path / f"{case.name}-wal").write_bytes(data[:end])
        with topics.open(case) as store:
            orders = store.topic("orders")
            found = [message.text for message in orders.read()]
            assert found[:3] == ["0", "1", "2"]
            assert found[3:] in ([], ["unanswered"])
            again = orders.producer("import").send("unanswered", seq=3)
            assert (again.offset, again.duplicate) == (3, found[3:] == ["unanswered"])
        case.unlink()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a megabyte, where this process may mount one."""
    folder = tmp_path / "small"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True)
    if done.returncode:
        pytest.skip("no right to mount a small disk: what a full one does is not tested")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(producer: topics.Producer) -> None:
    for seq in range(1, 100):
        producer.send(bytes(8000), seq=seq)


def test_a_full_disk_is_an_error_and_changes_nothing(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    with topics.open(small_disk / "app.db") as store:
        producer = store.topic("orders").producer("import")
        producer.send("0", seq=0)
        room = os.statvfs(small_disk)
        ballast.write_bytes(bytes(room.f_bavail * room.f_frsize))
        with pytest.raises(StoreFull, match="no room on the disk"):
            fill(producer)
        stored = producer.last_seq
        assert stored is not None
        assert len(list(store.topic("orders").read())) == stored + 1
        ballast.unlink()
        assert not producer.send(bytes(8000), seq=stored + 1).duplicate
    with topics.open(small_disk / "app.db") as store:
        assert len(list(store.topic("orders").read())) == stored + 2


class BrokenDisk(sqlite.SqliteDatabase):
    """A disk whose fsync fails from a commit on: the row may have got there all the same."""

    broken = False

    def commit(self) -> None:
        super().commit()
        if self.broken:
            raise ReceiptUnknown("the disk of this test failed at a commit")


def test_an_error_of_the_disk_stops_the_store(file_place: str) -> None:
    database = BrokenDisk(Path(file_place))
    store = topics.TopicStore.of(database, sqlite.WORDS)
    producer = store.topic("orders").producer("import")
    producer.send("a", seq=1)
    database.broken = True
    with pytest.raises(ReceiptUnknown):
        producer.send("b", seq=2)
    with pytest.raises(StoreStopped, match="failed at a commit"):
        producer.send("b", seq=2)
    store.close()
    with topics.open(file_place) as again:
        assert again.topic("orders").producer("import").send("b", seq=2).duplicate


class FailingUpkeep(sqlite.SqliteDatabase):
    """A disk that fails in a way that nobody foresaw."""

    def upkeep(self) -> None:
        raise OSError(5, "Input/output error")


def test_a_failure_that_nobody_foresaw_leaves_nobody_waiting(file_place: str) -> None:
    store = topics.TopicStore.of(FailingUpkeep(Path(file_place)), sqlite.WORDS)
    with pytest.raises(StoreStopped, match="Input/output error"):
        fill(store.topic("orders").producer("import"))
    store.close()


def test_a_reader_that_is_stopped_does_not_slow_each_commit(file_place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """1. A reader is in its query. 2. The WAL cannot be emptied. 3. That is tried again once it has grown."""
    monkeypatch.setattr(sqlite, "CHECKPOINT_BYTES", 100_000)
    database = sqlite.SqliteDatabase(Path(file_place))
    with topics.TopicStore.of(database, sqlite.WORDS) as store, closing(sqlite3.connect(file_place)) as reader:
        orders = store.topic("orders")
        orders.send("a")
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM gcom_message").fetchone()
        while database._checkpoint_at == 100_000:
            orders.send(bytes(5000))
        first = database._checkpoint_at
        assert first > 200_000
        reader.execute("COMMIT")
        while database._checkpoint_at == first:
            orders.send(bytes(5000))
        assert database._checkpoint_at == 100_000


def test_a_message_that_was_altered_is_named(file_place: str) -> None:
    with topics.open(file_place) as store:
        store.topic("orders").send_many(["a", "b", "c"])
    with closing(sqlite3.connect(file_place)) as file, file:
        file.execute("UPDATE gcom_message SET body = x'00' WHERE place % 1099511627776 = 1")
    with topics.open(file_place) as store:
        assert store.check() == ["message 1 of topic 'orders' does not match its checksum"]
        with pytest.raises(StoreDamaged, match="message 1 of topic 'orders'"):
            list(store.topic("orders").read())


FLIPS = [(place, bit) for place in range(7, 110, 5) for bit in (0, 7)]


@pytest.mark.parametrize("flip", daily_and_rest(FLIPS, 12))
def test_a_bit_that_flipped_anywhere_is_found_or_does_no_harm(tmp_path: Path, flip: tuple[int, int]) -> None:
    """Each hundredth of a file in its turn: the messages are as they were, or it is said what is damaged."""
    place, bit = flip
    path, texts = tmp_path / "app.db", [f"message {number} " + "x" * 100 for number in range(300)]
    with topics.open(path) as store:
        store.topic("orders").send_many(texts)
    data = bytearray(path.read_bytes())
    data[(len(data) * place + place * 37) // 110 % len(data)] ^= 1 << bit
    path.write_bytes(data)
    damaged = path.with_name("app.db.damaged")
    with suppress(StoreDamaged, UnknownTopic, BadValue), topics.open(path) as store:
        faults = store.check()
        assert faults or [it.text for it in store.existing("orders").read()] == texts
        assert not damaged.exists() or damaged.read_bytes() == data
        if not faults:
            store.topic("orders").send("more")


def test_a_damaged_file_is_named_kept_aside_and_not_written_any_more(tmp_path: Path) -> None:
    """1. A page of the messages' tree is not one. 2. Reading says so, and keeps a copy. 3. Writing stops the store."""
    path = tmp_path / "app.db"
    with topics.open(path) as store:
        store.topic("orders").send_many([bytes(500)] * 400)
    with closing(sqlite3.connect(path)) as file:
        (root,) = file.execute("SELECT rootpage FROM sqlite_master WHERE name = 'gcom_message'").fetchone()
        (size,) = file.execute("PRAGMA page_size").fetchone()
    data = bytearray(path.read_bytes())
    data[(root - 1) * size] = 0x7F  # no kind of page
    path.write_bytes(data)
    with topics.open(path) as store:
        orders = store.topic("orders")
        with pytest.raises(StoreDamaged, match=r"damaged.*a copy is kept in .*app\.db\.damaged"):
            list(orders.read())
        with pytest.raises(StoreDamaged):
            orders.send("more")
        with pytest.raises(StoreStopped, match="is damaged"):
            orders.send("more")
        assert len(store.check()) >= 2
    assert (tmp_path / "app.db.damaged").read_bytes() == data


def test_a_file_that_may_not_grow_is_an_error_and_changes_nothing(file_place: str) -> None:
    """A file that may not grow is a full disk to SQLite, where no small disk can be mounted."""
    database = sqlite.SqliteDatabase(Path(file_place))
    with topics.TopicStore.of(database, sqlite.WORDS) as store:
        producer = store.topic("orders").producer("import")
        producer.send("0", seq=0)
        pages = database._connection.execute("PRAGMA page_count").fetchone()[0]
        database._connection.execute(f"PRAGMA max_page_count={pages + 4}")
        with pytest.raises(StoreFull, match="no room on the disk"):
            fill(producer)
        stored = producer.last_seq
        assert stored is not None
        assert len(list(store.topic("orders").read())) == stored + 1
        database._connection.execute("PRAGMA max_page_count=1073741823")
        assert not producer.send(bytes(8000), seq=stored + 1).duplicate
        assert store.check() == []


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ("UPDATE gcom_store SET value = '99' WHERE name = 'version'", NewerSchema, "update GCom"),
        ("UPDATE gcom_store SET value = 'x' WHERE name = 'checksum'", StoreDamaged, "not those of version 1"),
    ],
)
def test_tables_of_another_version(file_place: str, change: str, error: type[Exception], words: str) -> None:
    topics.open(file_place).close()
    with closing(sqlite3.connect(file_place)) as file, file:
        file.execute(change)
    with pytest.raises(error, match=words):
        topics.open(file_place)


def test_places_that_hold_no_store(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("no database, but a text that is long enough to be read as a page\n" * 100)
    with pytest.raises(StoreDamaged, match="no SQLite file"):
        topics.open(text)
    assert text.read_text().startswith("no database")
    for place in (tmp_path, tmp_path / "nowhere" / "app.db", "http://somewhere"):
        with pytest.raises(BadValue, match=r"cannot (open|write)"):
            topics.open(place)


def test_beside_an_applications_own_tables(file_place: str) -> None:
    with closing(sqlite3.connect(file_place)) as file, file:
        file.execute("CREATE TABLE message (text TEXT)")
        file.execute("INSERT INTO message VALUES ('mine')")
    with topics.open(file_place) as store:
        store.topic("orders").send("a")
    with closing(sqlite3.connect(file_place)) as file:
        assert file.execute("SELECT text FROM message").fetchall() == [("mine",)]
