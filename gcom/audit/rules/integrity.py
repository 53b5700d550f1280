"""INTEGRITY over the messages themselves: digests at delivery against digests at send."""

from __future__ import annotations

from collections.abc import Container
from itertools import chain
from typing import Any

import numpy as np

from gcom.audit.input.records import DELIVER, SEND, Ints
from gcom.audit.rules.judging import Look
from gcom.audit.summary.fingerprints import BUCKET
from gcom.audit.summary.messages import RunTable
from gcom.audit.summary.runs import expanded
from gcom.audit.summary.tally import Tally

Digests = tuple[Ints, Ints, Any]  # numbers, their digests, and whether there is one


def judge_integrity(run_tables: list[RunTable], look: Look, closed: Container[str], tally: Tally) -> None:
    """Each digest at a delivery is that at the send; of a number that is sent twice the first counts.

    `closed` are those whose logs are complete: what they do not tell, they did not send.
    """
    sent: dict[str, list[Digests]] = {}
    for run_table in run_tables:
        line, step, digest, told = _digests(run_table, SEND)
        sent.setdefault(run_table.process, []).append((run_table.columns()["number"][line] + step, digest, told))
    sends = {who: _first_of_each(parts) for who, parts in sent.items()}
    nothing = _first_of_each([])
    for run_table in run_tables:
        line, step, digest, told = _digests(run_table, DELIVER)
        columns = run_table.columns()
        number = columns["number"][line] + step
        for code, sender in enumerate(run_table.names):
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
                tally.violate(1, **_where(run_table, sender, int(line[index]), int(step[index])))


def _digests(run_table: RunTable, kind: int) -> tuple[Ints, Ints, Ints, Any]:
    """Of each message of the table's rows of that kind: its row in the columns, its place in the run, its digest (or
    0), and whether there is one.
    """
    columns = run_table.columns()
    rows = np.flatnonzero(columns["kind"] == kind)
    count = columns["count"][rows]
    lists = [
        run_table.digests.get(row, [])[:n] for row, n in zip(columns["row"][rows].tolist(), count.tolist(), strict=True)
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


def _where(run_table: RunTable, sender: str, row: int, step: int) -> dict[str, Any]:
    of = {name: int(column[row]) for name, column in run_table.columns().items()}
    where = {"process": run_table.process, "at": of["at"] + step, "view": of["view"], "line": of["line"]}
    return {**where, "sender": sender, "number": of["number"] + step, "file": run_table.files[of["file"]]}
