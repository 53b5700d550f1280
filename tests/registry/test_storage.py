"""A witness's votes on the disk: kept, locked, and refused when they are not its own."""

from __future__ import annotations

from pathlib import Path

import pytest

import gcom
from gcom.core.witness import Record
from gcom.errors import BadValue, Unavailable
from registry.storage import FILE, Votes
from tests.core.making import A, B, decision, view

RECORDS = [Record("i1", 3, (2, 1)), Record("i2", 7, (1, 0), decision(view(A, B, number=7), A))]


def test_what_was_saved_is_there_again_the_latest_of_each_instance(tmp_path: Path) -> None:
    votes = Votes(tmp_path / "data")
    for record in [Record("i2", 1, (1, 1)), *RECORDS]:
        votes.save(record)
    votes.close()
    again = Votes(tmp_path / "data")
    assert list(again) == RECORDS
    again.close()


def test_two_registries_do_not_vote_out_of_one_folder(tmp_path: Path) -> None:
    with gcom.embedded(data=tmp_path), pytest.raises(BadValue, match="another registry"):
        gcom.embedded(data=tmp_path)
    gcom.embedded(data=tmp_path).close()


@pytest.mark.parametrize("content", [b"not a database, but long enough to look at" * 50, b""])
def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    if content:
        with pytest.raises(BadValue, match=FILE):
            Votes(tmp_path)
        assert (tmp_path / FILE).read_bytes() == content
    else:
        Votes(tmp_path).close()


def test_a_damaged_record_is_refused_with_its_instance(tmp_path: Path) -> None:
    votes = Votes(tmp_path)
    votes._base.execute("INSERT INTO votes VALUES ('i1', 1, 1, 0, x'00')")
    votes.close()
    with pytest.raises(BadValue, match="'i1'"):
        gcom.embedded(data=tmp_path)


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadValue, match="cannot be used"):
        Votes(tmp_path / "file" / "data")


def test_a_disk_that_takes_nothing_is_said(tmp_path: Path) -> None:
    votes = Votes(tmp_path)
    votes._base.execute("PRAGMA query_only = ON")
    with pytest.raises(Unavailable, match="disk"):
        votes.save(RECORDS[0])
    votes.close()
