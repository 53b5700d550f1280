"""The recording of messages that rules request, in a pass over a log, and their table for comparison."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcom.audit.input.contract import DELIVER, SEND
from gcom.audit.input.rows import Ints, Rows
from gcom.audit.summary.dependencies import Dependencies
from gcom.audit.summary.excerpts import Excerpt, MessageRequest, Placed, cut
from gcom.audit.summary.runs import expanded

SENT, HEARD = "sent", "heard"


class MessageRecorder:
    """The recorder of the requested messages of one process in one (group, instance), into `placed`."""

    def __init__(self, process: str, requests: list[MessageRequest], start: tuple[int, int] = (0, 0)) -> None:
        """Begin a pass at `start`: the section's index, and the number of deliveries in it that came before."""
        self.process = process
        self.placed: list[Placed] = []
        self.dependencies: Dependencies | None = None
        self._section, self._in_section = start[0], {0: start[1]}
        self._record = {request.rule: request for request in requests}
        self._classes: dict[int, int] = {}  # of each section that is compared, the index of its class
        for request in requests:
            if request.rule == "CAUSAL":
                self.dependencies = Dependencies(process, self.placed)
            for index, (_, sections) in enumerate(request.classes):
                self._classes.update({section: index for who, section in sections if who == process})

    def record(self, rows: Rows, mine: Ints, places: Ints, view: int | None, section: int | None, path: str) -> None:
        """Record the rows `mine`, all of one view and section; `places` are those of its deliveries and skips.

        `section` is its index among those that this pass has seen, None outside of one.
        """
        about = {"process": self.process, "view": -1 if view is None else view, "file": path}
        kind = rows.kind[mine]
        # Skips, too: a no-op must have the same serial everywhere, and no message may have it.
        if "SERIAL_UNIQUE" in self._record:
            chosen = mine[(kind != SEND) & (rows.serial[mine] >= 0) & (rows.sender[mine] >= 0)]
            self._record_serials(rows, chosen, about)
        if "INTEGRITY" in self._record:
            self._record_digests(rows, mine, about)
        delivered = kind == DELIVER
        delivers = mine[delivered]
        if "TOTAL" in self._record:
            self._record_runs("TOTAL", "", rows, delivers, places[delivered], about)
        if "TOTAL_GAP_FREE" in self._record and section is not None:
            self._record_order(rows, delivers, section, about)

    def _record_serials(self, rows: Rows, chosen: Ints, about: dict[str, Any]) -> None:
        """Record buckets that differ by serial, and all by number, as a message may have its two serials anywhere."""
        unlike = self._record["SERIAL_UNIQUE"].buckets
        self._record_runs("SERIAL_UNIQUE", "", rows, chosen, rows.serial[chosen], about, only=set(unlike))
        for code in np.unique(rows.sender[chosen]).tolist():
            of = chosen[rows.sender[chosen] == code]
            self._record_runs("SERIAL_UNIQUE", rows.senders[code], rows, of, rows.number[of], about)

    def _record_order(self, rows: Rows, delivers: Ints, section: int, about: dict[str, Any]) -> None:
        # A run is one row, so the index goes up by the counts of the rows before it.
        begin = self._in_section.get(section, 0)
        index = begin + np.cumsum(rows.count[delivers]) - rows.count[delivers]
        self._in_section[section] = begin + int(rows.count[delivers].sum())
        # A pass that begins inside a log counts sections from its own first; the driver knows how many come before.
        number = self._section + section
        if number in self._classes:
            of = {**about, "section": number}
            self._record_runs("TOTAL_GAP_FREE", str(self._classes[number]), rows, delivers, index, of)

    def _record_runs(
        self,
        rule: str,
        of: str,
        rows: Rows,
        chosen: Ints,
        start: Ints,
        about: dict[str, Any],
        only: set[int] | None = None,
    ) -> None:
        """Record the rows `chosen` in buckets of `start`, which goes up by one with each message of a run."""
        for bucket, row, into, count in cut(start, rows.count[chosen]):
            # A run may begin in a bucket that is asked for and end in one that is not.
            if only is not None and bucket not in only:
                continue
            part = chosen[row]
            # The codes of a file's senders mean nothing outside of it: an excerpt has the few names that it uses.
            codes, sender = np.unique(rows.sender[part], return_inverse=True)
            serial = rows.serial[part]
            columns = {
                "at": rows.at[part] + into,
                "count": count,
                "sender": sender.astype(np.int64),
                "number": rows.number[part] + into,
                "serial": np.where(serial >= 0, serial + into, -1),
                "start": start[row] + into,
                "line": part + 2,
            }
            names = [rows.senders[code] for code in codes.tolist()]
            self.placed.append((rule, of, bucket, {**about, "names": names, **columns}))

    def _record_digests(self, rows: Rows, mine: Ints, about: dict[str, Any]) -> None:
        """Record sends and deliveries message by message, with their digests; all sends, with or without one."""
        # Digests are one per message, so runs are taken apart here: only in the buckets asked for.
        wanted: dict[str, set[int]] = {}
        for who, bucket in self._record["INTEGRITY"].buckets:
            wanted.setdefault(who, set()).add(bucket)
        # Deliveries without a digest have nothing to compare. A send without one is kept: it shows that the number
        # was sent, and that the delivery's digest has no counterpart.
        for kind, way in ((SEND, SENT), (DELIVER, HEARD)):
            of_kind = mine[rows.kind[mine] == kind]
            # Sends have no sender in their record: it is the process itself.
            codes = [-1] if kind == SEND else np.unique(rows.sender[of_kind]).tolist()
            for code in codes:
                who = self.process if kind == SEND else rows.senders[code]
                chosen = of_kind if kind == SEND else of_kind[rows.sender[of_kind] == code]
                for bucket, row, into, count in cut(rows.number[chosen], rows.count[chosen]) if who in wanted else ():
                    if bucket in wanted[who]:
                        columns = _digests(rows, chosen[row], into, count)
                        if way == SENT or len(columns["number"]):
                            self.placed.append(("INTEGRITY", who, bucket, {**about, "way": way, **columns}))


def _digests(rows: Rows, part: Ints, into: Ints, count: Ints) -> dict[str, Ints]:
    """Return of each message: its place, its digest, and whether it has one; deliveries without one are left out."""
    run, step = expanded(count)
    step = step + into[run]
    row = part[run]
    lists = [rows.digests.get(each, ()) for each in part.tolist()]
    found = [lists[r][s] if s < len(lists[r]) else None for r, s in zip(run.tolist(), step.tolist(), strict=True)]
    told = np.array([each is not None for each in found], np.bool_)
    keep = told | (rows.kind[row] == SEND)
    columns = {
        "at": rows.at[row] + step,
        "number": rows.number[row] + step,
        "line": row + 2,
        # Zero where there is none; `told` tells that from a digest of zero.
        "digest": np.array([each or 0 for each in found], np.int64),
        "told": told.astype(np.int64),
    }
    return {name: column[keep] for name, column in columns.items()}


@dataclass(slots=True)
class MessageTable:
    """The messages of excerpts that `MessageRecorder` made of runs, one row per delivery or skip.

    Rows are by process and position. `message` is equal for the same message, and `start` is the number that buckets
    are cut by.
    """

    excerpts: list[Excerpt]
    names: list[str]
    excerpt: Ints  # index of excerpts
    sender: Ints  # index of names
    message: Ints
    at: Ints
    number: Ints
    serial: Ints
    start: Ints
    line: Ints

    def where(self, index: int) -> dict[str, Any]:
        """Return the message of a row, and its place in the log, as an example has them."""
        excerpt = self.excerpts[self.excerpt[index]]
        return {
            "process": excerpt["process"],
            "at": int(self.at[index]),
            "view": excerpt["view"],
            "sender": self.names[self.sender[index]],
            "number": int(self.number[index]),
            "file": excerpt["file"],
            "line": int(self.line[index]),
        }

    def of(self, process: str, section: int) -> Ints:
        """Return the rows of one section, in order."""
        which = [excerpt["process"] == process and excerpt["section"] == section for excerpt in self.excerpts]
        chosen: NDArray[np.bool_] = np.array(which, np.bool_)[self.excerpt]
        return np.flatnonzero(chosen)


def table_of(excerpts: Iterable[Excerpt]) -> MessageTable:
    """Take the runs of excerpts apart; there is at least one excerpt."""
    # By process and position, wherever the engine put them: which of two rows is named as the first must
    # not depend on it.
    ordered = sorted(excerpts, key=lambda excerpt: (excerpt["process"], int(excerpt["at"][0])))
    names = sorted({name for excerpt in ordered for name in excerpt["names"]})
    parts: dict[str, list[Ints]] = {}
    for index, excerpt in enumerate(ordered):
        run, step = expanded(excerpt["count"])
        codes = np.array([names.index(name) for name in excerpt["names"]], np.int64)
        serial = excerpt["serial"][run]
        taken_apart = {
            "excerpt": np.full(len(run), index),
            "sender": codes[excerpt["sender"][run]],
            "serial": np.where(serial >= 0, serial + step, -1),
            "line": excerpt["line"][run],
            **{name: excerpt[name][run] + step for name in ("at", "number", "start")},
        }
        for name, column in taken_apart.items():
            parts.setdefault(name, []).append(column)
    joined = {name: np.concatenate(each) for name, each in parts.items()}
    # Numbers are replaced by their rank, so that sender and number fit into one integer, which is compared faster
    # than a pair.
    _, code = np.unique(joined["number"], return_inverse=True)  # numbers may be as large as a lie
    _, message = np.unique(joined["sender"] * (len(code) + 1) + code, return_inverse=True)
    return MessageTable(ordered, names, message=message.astype(np.int64), **joined)
