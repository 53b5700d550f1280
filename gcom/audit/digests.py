"""INTEGRITY over the messages themselves: digests at delivery against digests at send."""

from __future__ import annotations

from collections.abc import Container
from itertools import chain
from typing import Any

import numpy as np

from gcom.audit.hashing import BUCKET
from gcom.audit.judging import Look
from gcom.audit.tally import Tally
from gcom.audit.ranges import expanded
from gcom.audit.records import DELIVER, SEND, Ints
from gcom.audit.tape import Tape

Digests = tuple[Ints, Ints, Any]  # numbers, their digests, and whether there is one


def judge_integrity(tapes: list[Tape], look: Look, closed: Container[str], tally: Tally) -> None:
    """Each digest at a delivery is that at the send; of a number that is sent twice the first counts.

    `closed` are those whose logs are complete: what they do not tell, they did not send.
    """
    sent: dict[str, list[Digests]] = {}
    for tape in tapes:
        line, step, digest, told = _digests(tape, SEND)
        sent.setdefault(tape.process, []).append((tape.columns()["number"][line] + step, digest, told))
    sends = {who: _first_of_each(parts) for who, parts in sent.items()}
    nothing = _first_of_each([])
    for tape in tapes:
        line, step, digest, told = _digests(tape, DELIVER)
        columns = tape.columns()
        number = columns["number"][line] + step
        for code, sender in enumerate(tape.names):
            mine = told & (columns["sender"][line] == code)
            if look.buckets is not None:
                mine &= np.isin(number // BUCKET, [bucket for who, bucket in look.buckets if who == sender])
            place, known = _find(sends.get(sender, nothing), number[mine])
            if not known.all() and sender not in closed:
                first = int(number[mine][~known][0])
                tally.doubt(int((~known).sum()), f"the log of {sender} does not tell what it sent as {first}")
            _, digests, is_told = sends.get(sender, nothing)
            judged = np.flatnonzero(mine)[known][is_told[place[known]]]
            expected = digests[place[known]][is_told[place[known]]]
            tally.evaluated += len(judged)
            for index in judged[digest[judged] != expected].tolist():
                tally.violate(1, **_where(tape, sender, int(line[index]), int(step[index])))


def _digests(tape: Tape, kind: int) -> tuple[Ints, Ints, Ints, Any]:
    """Of each message of the tape's rows of that kind: its row in the columns, its place in the run, its digest (or
    0), and whether there is one.
    """
    columns = tape.columns()
    rows = np.flatnonzero(columns["kind"] == kind)
    count = columns["count"][rows]
    lists = [
        tape.digests.get(row, [])[:n] for row, n in zip(columns["row"][rows].tolist(), count.tolist(), strict=True)
    ]
    lengths = np.array([len(each) for each in lists], np.int64)
    starts = np.cumsum(count) - count
    run, step = expanded(count)
    line = rows[run]
    places = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
    digest, told = np.zeros(len(line), np.int64), np.zeros(len(line), np.bool_)
    digest[places] = np.fromiter(chain.from_iterable(lists), np.int64)
    told[places] = True
    return line, step, digest, told


def _first_of_each(parts: list[Digests]) -> Digests:
    if not parts:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_)
    numbers, digests, told = (np.concatenate(each) for each in zip(*parts, strict=True))
    numbers, first = np.unique(numbers, return_index=True)
    return numbers, digests[first], told[first]


def _find(sends: Digests, number: Ints) -> tuple[Ints, Any]:
    """Where each number is, and whether it is there."""
    numbers = sends[0]
    if not len(numbers):
        return np.zeros(len(number), np.int64), np.zeros(len(number), np.bool_)
    place = np.minimum(np.searchsorted(numbers, number), len(numbers) - 1)
    return place, numbers[place] == number


def _where(tape: Tape, sender: str, row: int, step: int) -> dict[str, Any]:
    of = {name: int(column[row]) for name, column in tape.columns().items()}
    where = {"process": tape.process, "at": of["at"] + step, "view": of["view"], "line": of["line"]}
    return {**where, "sender": sender, "number": of["number"] + step, "file": tape.files[of["file"]]}
