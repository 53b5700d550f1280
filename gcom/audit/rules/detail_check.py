"""A closer look: rules judged over the messages themselves, for one (group, instance) at a time.

Everything here is exact, and works on columns of messages. What comes in is bounded by judging.MOST messages a group.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from gcom.audit.input.records import DELIVER, SEND, Ints
from gcom.audit.rules.causal import judge_causality
from gcom.audit.rules.groups import InstanceLogs
from gcom.audit.rules.integrity import judge_integrity
from gcom.audit.rules.judging import Look
from gcom.audit.summary.dependencies import Placed
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.messages import RunTable
from gcom.audit.summary.runs import expanded
from gcom.audit.summary.tally import Tally


@dataclass(slots=True)
class MessageTable:
    """All messages of a group's run tables, one row each, by process and position; `message` identifies the message."""

    processes: list[str]
    names: list[str]
    process: Ints
    kind: Ints
    at: Ints
    view: Ints
    sender: Ints  # index of names, -1: a skipped serial of nobody
    number: Ints
    serial: Ints
    section: Ints
    place: Ints  # of a delivery (Tape)
    line: Ints
    file: _Paths
    message: Ints

    def where(self, index: int) -> dict[str, Any]:
        return {
            "process": self.processes[self.process[index]],
            "at": int(self.at[index]),
            "view": int(self.view[index]),
            "sender": self.names[self.sender[index]],
            "number": int(self.number[index]),
            "file": self.file[index],
            "line": int(self.line[index]),
        }

    def name(self, index: int) -> list[Any]:
        return [self.names[self.sender[index]], int(self.number[index])]


def messages_of(run_tables: list[RunTable]) -> MessageTable:
    """Of tables by process, each process's in its log's order."""
    processes = list(dict.fromkeys(run_table.process for run_table in run_tables))
    names = sorted({name for run_table in run_tables for name in run_table.names})
    parts: dict[str, list[Ints]] = {}
    files: list[str] = []
    file_base = 0
    for run_table in run_tables:
        columns = run_table.columns()
        into, step = expanded(columns["count"])
        codes = np.array([*(names.index(name) for name in run_table.names), -1], np.int64)
        sender = codes[columns["sender"][into]]
        serial = columns["serial"][into]
        taken_apart = {
            "process": np.full(len(into), processes.index(run_table.process)),
            "sender": sender,
            "number": np.where(sender >= 0, columns["number"][into] + step, -1),
            "serial": np.where(serial >= 0, serial + step, -1),
            "at": columns["at"][into] + step,
            "place": columns["place"][into] + step,
            "file": columns["file"][into] + file_base,
            **{name: columns[name][into] for name in ("kind", "view", "section", "line")},
        }
        file_base += len(run_table.files)
        files += run_table.files
        for name, column in taken_apart.items():
            parts.setdefault(name, []).append(column)
    joined = {name: np.concatenate(each) for name, each in parts.items()}
    _, code = np.unique(joined["number"], return_inverse=True)  # numbers may be as large as a lie
    _, message = np.unique(joined["sender"] * (len(code) + 1) + code, return_inverse=True)
    paths = _Paths(files, joined.pop("file"))
    return MessageTable(processes, names, message=message.astype(np.int64), file=paths, **joined)


class _Paths:
    """The path of each message's line, looked up when asked for."""

    def __init__(self, files: list[str], index: Ints) -> None:
        self._files, self._index = files, index

    def __getitem__(self, place: int) -> str:
        return self._files[int(self._index[place])]


def look(group: InstanceLogs, run_tables: list[RunTable], blocks: list[Placed], looks: list[Look]) -> dict[str, Tally]:
    """The tallies that `looks` ask for, gaps apart; `blocks` are all that CAUSAL compares (causal.py)."""
    if not run_tables:  # a state alone told of the group
        return {each.rule: Tally() for each in looks}
    found: dict[str, Tally] = {}
    messages = messages_of(run_tables)
    for each in looks:
        tally = found[each.rule] = Tally()
        match each.rule:
            case "INTEGRITY":
                judge_integrity(run_tables, each, {who for who in group.coverage if group.closed(who)}, tally)
            case "SERIAL_UNIQUE":
                judge_serials(messages, tally)
            case "TOTAL_GAP_FREE":
                _orders(group, messages, tally)
            case "TOTAL":
                judge_total(messages, tally)
            case "CAUSAL":
                _judge_causality(group, blocks, tally)
    return found


def judge_serials(messages: MessageTable, tally: Tally) -> None:
    """One message a serial, one serial a message."""
    placed = np.flatnonzero((messages.serial >= 0) & (messages.sender >= 0) & (messages.kind != SEND))
    for key, other, kind in (
        (messages.serial, messages.message, "serial"),
        (messages.message, messages.serial, "message"),
    ):
        order = placed[np.lexsort((other[placed], key[placed]))]
        clash = np.flatnonzero((key[order][1:] == key[order][:-1]) & (other[order][1:] != other[order][:-1]))
        for index in clash.tolist():
            one, two = sorted((int(order[index]), int(order[index + 1])))
            more = {"serial": int(messages.serial[two]), "other_serial": int(messages.serial[one])}
            tally.violate(1, kind=kind, **messages.where(two), **more, other=messages.where(one))


def _orders(group: InstanceLogs, messages: MessageTable, tally: Tally) -> None:
    """Of each class, the sequences delivered in the view are equal."""
    section_of = {
        (who, id(section)): index
        for who, summary in group.summaries.items()
        for index, section in enumerate(summary.sections)
    }
    for (view, _), members in sorted(group.classes().items(), key=str):
        covered = [(who, section) for who, section in members if section.covered]
        if len(covered) < 2:
            continue
        sequences = [_sequence(messages, who, section_of[who, id(section)]) for who, section in covered]
        first = messages.message[sequences[0]]
        for (who, _), sequence in zip(covered[1:], sequences[1:], strict=True):
            mine = messages.message[sequence]
            if len(mine) == len(first) and (mine == first).all():
                continue
            shorter = min(len(mine), len(first))
            unlike = np.flatnonzero(mine[:shorter] != first[:shorter])
            place = int(unlike[0]) if len(unlike) else shorter
            one = messages.where(int(sequences[0][place])) if place < len(first) else None
            two = messages.where(int(sequence[place])) if place < len(mine) else None
            known = two or one or {}
            more = {"process": who, "view": view, "other_process": covered[0][0], "place": place + 1}
            tally.violate(1, **{**known, **more, "mine": two, "theirs": one})


def _sequence(messages: MessageTable, who: str, section: int) -> Ints:
    process = messages.processes.index(who)
    return np.flatnonzero((messages.process == process) & (messages.section == section) & (messages.kind == DELIVER))


def judge_total(messages: MessageTable, tally: Tally) -> None:
    """The union of all orders of delivery is acyclic: take away what nothing comes before, again and again."""
    delivered = np.flatnonzero(messages.kind == DELIVER)
    _, first = np.unique(messages.process[delivered] * (1 << 40) + messages.message[delivered], return_index=True)
    once = delivered[np.sort(first)]  # a second delivery is NO_DUPLICATION's
    same = messages.process[once][1:] == messages.process[once][:-1]
    edges = np.stack([messages.message[once][:-1][same], messages.message[once][1:][same]])
    edges = np.unique(edges, axis=1)
    cycle = _cycle(edges)
    if cycle:
        _violate_total(messages, once, cycle, tally)


def _cycle(edges: Ints) -> list[int]:
    """A cycle of the graph, as short as the first search finds; empty if there is none."""
    after: dict[int, list[int]] = {}
    waiting: dict[int, int] = {}
    for a, b in edges.T.tolist():
        after.setdefault(a, []).append(b)
        waiting[b] = waiting.get(b, 0) + 1
        waiting.setdefault(a, 0)
    free = [each for each, n in waiting.items() if not n]
    while free:
        for each in after.get(free.pop(), ()):
            waiting[each] -= 1
            if not waiting[each]:
                free.append(each)
    left = {each for each, n in waiting.items() if n}
    return _shortest_cycle(left, after) if left else []


def _shortest_cycle(left: set[int], after: dict[int, list[int]]) -> list[int]:
    """Each of `left` has one of `left` before it: going back meets itself. Then the shortest way round from there."""
    before = {b: a for a in sorted(left) for b in after.get(a, ()) if b in left}
    path: dict[int, int] = {}
    step = min(left)
    while step not in path:
        path[step] = len(path)
        step = before[step]
    found = [each for each, place in path.items() if place >= path[step]][::-1]
    for start in found[:64]:
        shorter = _way_round(start, left, after)
        found = shorter if len(shorter) < len(found) else found
    return found


def _way_round(start: int, left: set[int], after: dict[int, list[int]]) -> list[int]:
    """The shortest cycle through `start`, breadth first; there is one."""
    came_from: dict[int, int] = {}
    ring = [start]
    while start not in came_from:
        reached = []
        for a in ring:
            for b in after.get(a, ()):
                if b in left and b not in came_from:
                    came_from[b] = a
                    reached.append(b)
        ring = reached
    cycle = [start]
    while came_from[cycle[-1]] != start:
        cycle.append(came_from[cycle[-1]])
    return cycle[::-1]


def _violate_total(messages: MessageTable, once: Ints, cycle: list[int], tally: Tally) -> None:
    """Two processes that contradict each other, if there are; else for each step of the cycle one that went it."""
    orders = [once[messages.process[once] == process] for process in range(len(messages.processes))]
    contradictions = (contradiction(messages, one, other) for one, other in combinations(orders, 2))
    found = next((each for each in contradictions if each), None) or _steps(messages, orders, cycle)
    steps = [{"before": messages.where(a), "after": messages.where(b)} for a, b in found]
    tally.violate(1, **steps[0]["after"], steps=steps)


def contradiction(messages: MessageTable, one: Ints, other: Ints) -> list[tuple[int, int]]:
    """Rows of two messages, before and after, of two processes that delivered them in unlike order; the earliest.

    `one` and `other` are rows of deliveries in order; of a message that is there twice the first counts.
    """
    both = np.intersect1d(messages.message[one], messages.message[other])
    first, second = (rows[np.unique(messages.message[rows], return_index=True)[1]] for rows in (one, other))
    first, second = (rows[np.isin(messages.message[rows], both)] for rows in (first, second))  # by message, each once
    by_first, by_second = np.argsort(first), np.argsort(second)
    unlike = np.flatnonzero(by_first != by_second)
    if not len(unlike):
        return []
    a, b = int(by_first[unlike[0]]), int(by_second[unlike[0]])
    return [(int(second[b]), int(second[a])), (int(first[a]), int(first[b]))]


def _steps(messages: MessageTable, orders: list[Ints], cycle: list[int]) -> list[tuple[int, int]]:
    """The cycle in few steps: who delivered a message before the next delivered many others after it, too."""
    at = [dict(zip(messages.message[rows].tolist(), rows.tolist(), strict=True)) for rows in orders]
    steps: list[tuple[int, int]] = []
    place = 0
    while place < len(cycle):
        best = (place, 0, 0)
        for rows in at:
            end = place
            while end < len(cycle) and _follows(rows, cycle[end], cycle[(end + 1) % len(cycle)]):
                end += 1
            if end > best[0]:
                best = (end, rows[cycle[place]], rows[cycle[end % len(cycle)]])
        steps.append(best[1:])
        place = best[0]
    return steps


def _follows(rows: dict[int, int], a: int, b: int) -> bool:
    return a in rows and b in rows and rows[a] < rows[b]


def _judge_causality(group: InstanceLogs, blocks: list[Placed], tally: Tally) -> None:
    tally.add(judge_causality(blocks, group.members(), group.coverage))
    for example in tally.examples:
        example["later"] = _how(group, example["process"], example["other"], example["needed"])


def _how(group: InstanceLogs, process: str, other: str, number: int) -> str:
    """What a process did with that number of `other`: "delivered" or "skipped", "settled" if a gap hides it, or ""."""
    sections = group.summaries[process].sections
    if any(number in section.delivered.get(other, Intervals()) for section in sections):
        return "delivered"
    if number not in sections[-1].settled.get(other, Intervals()):
        return ""
    return "skipped" if group.coverage[process] in ("closed", "open") else "settled"
