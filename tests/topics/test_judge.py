"""The judge, case by case: what is new, what is a duplicate, and what is refused (docs/topics.md, Producers)."""

from __future__ import annotations

import pytest

from gcom.errors import LocalError
from gcom.topics.errors import Fenced, SequenceGap, SequenceReused
from gcom.topics.judge import EntryAnswer, Known, ProducerStanding, judge
from gcom.topics.values import Entry


def entries(*given: tuple[int, str]) -> list[Entry]:
    return [Entry(seq, body.encode()) for seq, body in given]


def past(*given: tuple[int, str, int]) -> dict[int, Known]:
    return {seq: Known(offset, Entry(seq, body.encode()).digest) for seq, body, offset in given}


NEW = ProducerStanding(1, -1)
AT_10 = ProducerStanding(1, 10, trimmed=3)
STORED = past((8, "h", 80), (10, "j", 81))


@pytest.mark.parametrize(
    ("standing", "previous", "given", "stored", "fresh", "answers"),
    [
        (NEW, -1, [(0, "a")], {}, [0], [EntryAnswer(0, None, False)]),
        (NEW, -1, [(5, "a"), (9, "b")], {}, [5, 9], [EntryAnswer(0, None, False), EntryAnswer(1, None, False)]),
        (AT_10, 10, [(11, "k")], {}, [11], [EntryAnswer(0, None, False)]),
        (AT_10, 10, [(40, "k")], {}, [40], [EntryAnswer(0, None, False)]),
        (AT_10, 8, [(10, "j")], STORED, [], [EntryAnswer(None, 81, True)]),
        (AT_10, 7, [(8, "h"), (10, "j"), (11, "k")], STORED, [11], None),
        (AT_10, 10, [(8, "h"), (11, "k")], STORED, [11], None),
        (AT_10, 10, [(11, "k"), (11, "k")], {}, [11], [EntryAnswer(0, None, False), EntryAnswer(0, None, True)]),
        (AT_10, 1, [(2, "b")], STORED, [], [EntryAnswer(None, None, True)]),
        (AT_10, 1, [(2, "b")], {}, [], [EntryAnswer(None, None, True)]),
    ],
    ids=str,
)
def test_what_is_accepted(
    standing: ProducerStanding,
    previous: int,
    given: list[tuple[int, str]],
    stored: dict[int, Known],
    fresh: list[int],
    answers: list[EntryAnswer] | None,
) -> None:
    judged = judge(standing, 1, previous, entries(*given), stored)
    assert [entry.seq for entry in judged.fresh] == fresh
    assert answers is None or judged.answers == answers
    assert len(judged.answers) == len(given)


@pytest.mark.parametrize(
    ("epoch", "previous", "given", "error"),
    [
        (0, 10, [(11, "k")], Fenced),
        (2, 10, [(11, "k")], Fenced),
        (1, 11, [(12, "l")], SequenceGap),
        (1, 9, [(11, "k")], SequenceGap),
        (1, 8, [(9, "i")], SequenceGap),
        (1, 3, [(4, "d")], SequenceGap),
        (1, 10, [(12, "l"), (11, "k")], SequenceGap),
        (1, 8, [(10, "other")], SequenceReused),
        (1, 10, [(11, "k"), (11, "other")], SequenceReused),
    ],
    ids=str,
)
def test_what_is_refused(epoch: int, previous: int, given: list[tuple[int, str]], error: type[LocalError]) -> None:
    with pytest.raises(error):
        judge(AT_10, epoch, previous, entries(*given), STORED)


def test_key_and_headers_belong_to_the_body() -> None:
    stored = {10: Known(3, Entry(10, b"j", b"key", b"head").digest)}
    assert judge(AT_10, 1, 9, [Entry(10, b"j", b"key", b"head")], stored).answers == [EntryAnswer(None, 3, True)]
    for other in (Entry(10, b"j"), Entry(10, b"j", b"key"), Entry(10, b"j", b"kez", b"head")):
        with pytest.raises(SequenceReused):
            judge(AT_10, 1, 9, [other], stored)
