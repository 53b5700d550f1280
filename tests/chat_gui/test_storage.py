"""Scrollback on disk: kept, bounded, and lost by no damage without a word."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest
from gcom_chat.model.rows import ChatRow, MessageTimes, RowKind
from gcom_chat.model.updates import HistoryCame, StorageTold, Update
from gcom_chat.storage.scrollback import Scrollback, talk_of
from gcom_chat.storage.storage import KEY_MAX, TRIM_EVERY, Storage

LIMIT_S = 120.0
Updates = SimpleQueue[Update]


@pytest.fixture
def told() -> Updates:
    """The updates that storages of the test told."""
    return SimpleQueue()


@pytest.fixture
def begun(tmp_path: Path, told: Updates) -> Iterator[Callable[[], Storage]]:
    """Begin a storage, which is closed when the test ends."""
    storages: list[Storage] = []

    def begin(keep_max: int = 10_000) -> Storage:
        storages.append(Storage(tmp_path / "data" / "history.db", told.put, keep_max))
        return storages[-1]

    yield begin
    for storage in storages:
        storage.close()


# The table of version 1.
OLD_TABLE = """
CREATE TABLE said (
    talk TEXT NOT NULL, key INTEGER NOT NULL, kind TEXT NOT NULL, at_ms INTEGER NOT NULL, name TEXT NOT NULL,
    text TEXT NOT NULL, process TEXT NOT NULL, number INTEGER NOT NULL, view INTEGER NOT NULL, id TEXT NOT NULL,
    sent_ms INTEGER NOT NULL, peer TEXT NOT NULL, own INTEGER NOT NULL, mention INTEGER NOT NULL,
    PRIMARY KEY (talk, key)
) WITHOUT ROWID
"""


def row(key: int, text: str = "") -> ChatRow:
    return ChatRow(key, RowKind.MESSAGE, 1_700_000_000_000 + key, "bob", text or f"message {key}")


def loaded(storage: Storage, told: Updates, before: int = KEY_MAX, count: int = 200) -> list[str]:
    """Return the texts that come from disk; anything else that is told is out of place."""
    storage.load("news", before, count)
    update = told.get(timeout=LIMIT_S)
    assert isinstance(update, HistoryCame)
    return [each.text for each in update.rows]


def test_rows_come_back_as_they_were(begun: Callable[[], Storage], told: Updates) -> None:
    full = ChatRow(7, RowKind.PRIVATE, 5, "bob", "a\n\u2603 \x00", "bob#1", 3, 2, "abc", 4, "alice", True, True)
    full.times = MessageTimes(4.25, 5.5, 1.0, 5.25, 9, {"bob#1": 3, "alice#1": 1})
    first = begun()
    first.add("news", [full])
    first.close()
    begun().load("news")
    update = told.get(timeout=LIMIT_S)
    full.earlier = True
    assert update == HistoryCame("news", (full,), False)


def test_a_file_that_knew_groups_alone_goes_to_the_last_registry(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    old = sqlite3.connect(path)
    old.execute(OLD_TABLE)
    old.execute("INSERT INTO said VALUES ('news', 1, 'message', 5, 'bob', 'hello', 'bob#1', 3, 2, 'abc', 4, '', 0, 0)")
    old.execute("PRAGMA user_version = 1")
    old.commit()
    old.close()
    for _ in range(2):  # once it is brought over, and once it is new
        history = Scrollback(path, "127.0.0.1:7411")
        found = history.before(talk_of("127.0.0.1:7411", "news"), KEY_MAX, 10)
        assert [(each.text, each.number, each.times) for each in found] == [("hello", 3, None)]
        assert history.before(talk_of("127.0.0.1:7500", "news"), KEY_MAX, 10) == []
        history.close()


@pytest.mark.parametrize("clock", ["", "{", "[1]", '{"bob#1": "x"}', "null", "[" * 100_000])
def test_a_clock_that_makes_no_sense_is_left_out(tmp_path: Path, clock: str) -> None:
    history = Scrollback(tmp_path / "history.db")
    full = row(1)
    full.times = MessageTimes(4.25, 5.5, None, None, 9, {"bob#1": 3})
    history.add([("news", full)])
    history._file.execute("UPDATE said SET clock = ?", (clock,))
    times = history.before("news", KEY_MAX, 1)[0].times
    history.close()
    assert times == MessageTimes(4.25, 5.5, None, None, 9, None)


def test_older_rows_are_read_in_pieces(begun: Callable[[], Storage], told: Updates) -> None:
    storage = begun()
    storage.add("news", [row(key) for key in range(1, 31)])
    storage.add("other", [row(99, "not of this group")])
    assert loaded(storage, told, count=2) == ["message 29", "message 30"]
    assert loaded(storage, told, before=29, count=2) == ["message 27", "message 28"]
    assert loaded(storage, told, before=1) == []


def test_a_group_keeps_its_bound(tmp_path: Path, told: Updates) -> None:
    storage = Storage(tmp_path / "history.db", told.put, keep_max=100)
    for start in range(1, 3 * TRIM_EVERY, TRIM_EVERY):
        storage.add("news", [row(key) for key in range(start, start + TRIM_EVERY)])
        loaded(storage, told)  # so that each is a batch of its own
    storage.close()
    history = Scrollback(tmp_path / "history.db")
    kept = history.before("news", KEY_MAX, 10_000)
    history.close()
    assert [kept[0].key, kept[-1].key, len(kept)] == [1401, 1500, 100]


def test_a_row_that_comes_again_is_replaced(begun: Callable[[], Storage], told: Updates) -> None:
    storage = begun()
    storage.add("news", [row(1)])
    storage.add("news", [row(1, "again"), row(2)])
    assert loaded(storage, told) == ["again", "message 2"]


@pytest.mark.parametrize(
    "junk", [b"this is no database, but a text that is long enough" * 100, b"SQLite format 3\0" * 600]
)
def test_a_damaged_file_is_kept_aside(tmp_path: Path, begun: Callable[[], Storage], told: Updates, junk: bytes) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "history.db").write_bytes(junk)
    storage = begun()
    storage.load("news")
    said = told.get(timeout=LIMIT_S)
    assert isinstance(said, StorageTold)
    assert "kept as" in said.text
    assert told.get(timeout=LIMIT_S) == HistoryCame("news", (), False)
    storage.add("news", [row(1)])
    assert loaded(storage, told) == ["message 1"]
    assert (tmp_path / "data" / "history.db.damaged").read_bytes() == junk


def test_damage_in_the_middle_of_a_chat_loses_what_was_damaged_alone(
    tmp_path: Path, begun: Callable[[], Storage], told: Updates
) -> None:
    first = begun()
    first.add("news", [row(key, "x" * 2_000) for key in range(1, 400)])
    first.close()
    path = tmp_path / "data" / "history.db"
    data = bytearray(path.read_bytes())
    data[4_096 * 3 :] = b"\xee" * (len(data) - 4_096 * 3)
    path.write_bytes(data)
    storage = begun()
    storage.load("news")
    assert isinstance(told.get(timeout=LIMIT_S), StorageTold)
    assert told.get(timeout=LIMIT_S) == HistoryCame("news", (), False)
    storage.add("news", [row(400)])
    assert loaded(storage, told) == ["message 400"]
    assert told.empty()


def test_a_place_that_cannot_be_written_is_said_once(tmp_path: Path, told: Updates) -> None:
    (tmp_path / "data").write_text("a file where the folder should be")
    storage = Storage(tmp_path / "data" / "history.db", told.put, 100)
    storage.load("news")
    said = told.get(timeout=LIMIT_S)
    assert isinstance(said, StorageTold)
    assert "cannot be read" in said.text
    assert told.get(timeout=LIMIT_S) == HistoryCame("news", (), False)  # the tab opens all the same
    storage.add("news", [row(1)])
    assert loaded(storage, told) == []
    storage.write(tmp_path / "data" / "session.toml", "")
    said = told.get(timeout=LIMIT_S)
    assert isinstance(said, StorageTold)
    assert "session.toml cannot be written" in said.text
    storage.write(tmp_path / "data" / "session.toml", "again")
    assert loaded(storage, told) == []
    storage.close()
    assert told.empty()


def test_a_full_disk_is_said_once_and_rows_wait_for_room(
    begun: Callable[[], Storage], told: Updates, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, full = Scrollback.add, [True]

    def add(self: Scrollback, batch: object) -> None:
        if full[0]:
            raise sqlite3.OperationalError("database or disk is full")
        real(self, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(Scrollback, "add", add)
    storage = begun()
    storage.add("news", [row(1)])
    said = told.get(timeout=LIMIT_S)
    assert isinstance(said, StorageTold)
    assert "disk is full" in said.text
    storage.add("news", [row(2)])
    assert loaded(storage, told) == []
    full[0] = False
    storage.close()  # writes what waits
    assert told.empty()
    assert loaded(begun(), told) == ["message 1", "message 2"]


def test_a_file_of_a_later_version_is_left_alone(tmp_path: Path, begun: Callable[[], Storage], told: Updates) -> None:
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "history.db"
    with sqlite3.connect(path) as later:
        later.execute("PRAGMA user_version = 9")
    later.close()
    before = path.read_bytes()
    storage = begun()
    storage.load("news")
    storage.add("news", [row(1)])
    said = told.get(timeout=LIMIT_S)
    assert isinstance(said, StorageTold)
    assert "version 9" in said.text
    storage.close()
    assert path.read_bytes() == before


def test_the_last_text_of_a_file_is_what_stays(tmp_path: Path, begun: Callable[[], Storage]) -> None:
    storage = begun()
    for text in ("one", "two", "three"):
        storage.write(tmp_path / "session.toml", text)
    storage.close()
    assert (tmp_path / "session.toml").read_text() == "three"


def test_a_file_that_could_not_be_written_waits_for_room(
    tmp_path: Path, begun: Callable[[], Storage], told: Updates
) -> None:
    place = tmp_path / "state"
    place.write_text("a file where the folder should be")
    storage = begun()
    storage.write(place / "session.toml", "old")
    assert isinstance(told.get(timeout=LIMIT_S), StorageTold)
    storage.write(place / "session.toml", "new")
    place.unlink()
    assert loaded(storage, told) == []  # the next look, for whatever reason
    storage.close()
    assert (place / "session.toml").read_text() == "new"


def test_a_text_where_a_number_is_to_be_spoils_no_other_row(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    scrollback = Scrollback(path)
    scrollback.add((talk_of("r", "news"), ChatRow(key, RowKind.MESSAGE, key, "bob", f"m{key}")) for key in (1, 2))
    scrollback.close()
    with sqlite3.connect(path) as file:
        file.execute("UPDATE said SET number = 'many' WHERE key = 1")
    file.close()
    scrollback = Scrollback(path)
    assert [(row.text, row.number) for row in scrollback.before(talk_of("r", "news"), KEY_MAX, 9)] == [
        ("m1", 0),
        ("m2", 0),
    ]
    scrollback.close()
