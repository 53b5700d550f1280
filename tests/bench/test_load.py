"""The benchmark's judge: it must see every way in which a delivery can be wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gcom.bench.settings import SIZE_MIN
from gcom.bench.throughput.load import CHUNK, Pool, StreamJudge, percentile

SIZE = 40
Messages = list[tuple[int, bytes]]


def messages(count: int) -> Messages:
    """The first messages of sender 0."""
    pool = Pool(0, SIZE)
    chunks = [pool.chunk(first) for first in range(1, count + 1, CHUNK)]
    return list(enumerate([payload for chunk in chunks for payload in chunk][:count], 1))


def judged(delivered: Messages, ordered: bool = True) -> StreamJudge:
    tally = StreamJudge(0, SIZE, ordered)
    for number, payload in delivered:
        tally.take(number, payload)
    return tally


def test_what_was_sent_is_right_and_timed() -> None:
    tally = judged(messages(2 * CHUNK + 1))
    assert tally.wrong == []
    assert tally.count == 2 * CHUNK + 1
    assert len(tally.latencies_ns) == 3
    assert all(latency >= 0 for latency in tally.latencies_ns)


def swapped(sent: Messages) -> Messages:
    return [*sent[:10], sent[11], sent[10], *sent[12:]]


def repeated(sent: Messages) -> Messages:
    return [*sent[:10], sent[9], *sent[10:]]


def without_one(sent: Messages) -> Messages:
    return [*sent[:10], *sent[11:]]


def changed(sent: Messages) -> Messages:
    number, payload = sent[10]
    return [*sent[:10], (number, payload[:-1] + b"\0"), *sent[11:]]


def stamp_changed(sent: Messages) -> Messages:
    number, payload = sent[0]
    return [(number, payload[:-1] + b"\0"), *sent[1:]]


def of_another_place(sent: Messages) -> Messages:
    return [*sent[:10], (sent[10][0], sent[11][1]), *sent[11:]]


def of_another_sender(sent: Messages) -> Messages:
    return [*sent[:10], (sent[10][0], Pool(1, SIZE).plain[10]), *sent[11:]]


@pytest.mark.parametrize(
    "spoil", [swapped, repeated, without_one, changed, stamp_changed, of_another_place, of_another_sender]
)
def test_a_wrong_delivery_is_seen(spoil: Callable[[Messages], Messages]) -> None:
    assert judged(spoil(messages(CHUNK))).wrong


def test_without_a_promised_order_only_the_set_counts() -> None:
    sent = messages(CHUNK)
    tally = judged(list(reversed(sent)), ordered=False)
    assert (tally.wrong, tally.count) == ([], CHUNK)
    assert judged(swapped(sent), ordered=False).wrong == []
    assert judged(repeated(sent), ordered=False).wrong
    assert judged(without_one(sent), ordered=False).count == CHUNK - 1


def test_what_is_told_as_lost_counts_as_passed() -> None:
    sent = messages(CHUNK)
    tally = judged(sent[:10])
    tally.lose(11, 5)
    for number, payload in sent[15:]:
        tally.take(number, payload)
    assert (tally.wrong, tally.count, tally.lost) == ([], CHUNK, 5)


@pytest.mark.parametrize("size", [SIZE_MIN, SIZE_MIN + 1, 100])
def test_payloads_have_the_size_and_tell_each_other_apart(size: int) -> None:
    pools = [Pool(sender, size) for sender in range(3)]
    assert {len(payload) for pool in pools for payload in pool.chunk(1)} == {size}
    assert len({payload for pool in pools for payload in pool.plain}) == 3 * CHUNK


def test_percentiles() -> None:
    assert percentile([], 0.5) == 0.0
    assert percentile([1.0], 0.99) == 1.0
    assert percentile(list(map(float, range(100))), 0.99) == 99.0
