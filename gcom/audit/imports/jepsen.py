"""Import of Jepsen's list-append histories: `gcom audit import jepsen history.edn`.

A transaction appends values to lists, and reads whole lists. Each list becomes a group: an append is a message of its
client, and a client that reads a list delivers what it had not read before, with the place in the list as serial. So
two reads that show two values at one place break SERIAL_UNIQUE, as they break Elle's `incompatible-order`; a value that
a list has twice breaks NO_DUPLICATION; one that nobody appended, or whose transaction failed, NO_CREATION.

Source: Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations" (VLDB 2020).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gcom.audit.imports.edn import NoEdn, maps
from gcom.audit.imports.writing import (
    Imported,
    LogRecords,
    WrongLines,
    check_new,
    in_order,
    many_of,
    read_text,
    view_of,
    write_logs,
)

# An append of unknown outcome (:info) may have no effect at all, so no rule about what is missing can be carried.
JEPSEN_RULES = in_order(("NO_CREATION", "NO_DUPLICATION", "TOTAL", "SERIAL_UNIQUE"))
# The senders of appends whose transaction failed, and of values that nobody appended.
FAILED, NOBODY = "a-failed-transaction#1", "nobody#1"
_TYPES = ("invoke", "ok", "fail", "info")
_EXPECTED = "operations of a list-append test, as {:type :ok, :process 0, :f :txn, :value [[:append 1 2] [:r 1 [2]]]}"
_Appended = tuple[str, int]


def import_jepsen(file: Path, into: Path) -> Imported:
    """Write the history as delivery logs under `into`, which must be empty. Raises BadValue, NotALog, or OSError."""
    check_new(into)
    wrong = WrongLines(str(file), _EXPECTED)
    appends = _Appends()
    reads = _Reads(appends)
    operations = [*_operations(read_text(file), wrong)]
    notes = wrong.notes(len(operations))
    # All appends before any read: a value may be read before anything says how its append ended.
    for _, operation in operations:
        appends.note(operation)
    appends.number()
    for line, operation in operations:
        for name, key, value in operation["value"]:
            if name == "r" and operation["type"] == "ok":
                reads.note(line, operation["process"], key, value or [])
    write_logs(_logs(appends, reads), into)
    if appends.twice:
        notes.append(f"{many_of(appends.twice, 'append')} of a value that its list was given before: the first counts")
    if reads.stale:
        notes.append(f"{many_of(reads.stale, 'read')} of less than the client had read before: no rule is about that")
    clients = len({operation["process"] for _, operation in operations})
    return Imported(clients, len(operations), JEPSEN_RULES, wrong.count, notes)


def _operations(text: str, wrong: WrongLines) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the operations of clients with their lines; those of the nemesis are nobody's transactions."""
    for line, shown, found in maps(text):
        if isinstance(found, NoEdn):
            wrong.add(line, shown, str(found))
        elif found.get("process") == "nemesis" or type(found.get("process")) is str:
            continue
        elif problem := _problem(found):
            wrong.add(line, shown, problem)
        else:
            yield line, found


def _problem(operation: dict[Any, Any]) -> str:
    if operation.get("type") not in _TYPES or type(operation.get("process")) is not int:
        return "no operation with a :type and a :process"
    steps = operation.get("value")
    if not isinstance(steps, list) or not all(map(_is_step, steps)):
        return "its :value is no list of [:append k v] and [:r k [...]]"
    return ""


def _is_step(step: Any) -> bool:
    if not isinstance(step, list) or len(step) != 3 or step[0] not in ("append", "r"):
        return False
    plain = not isinstance(step[1], list | dict)
    return plain and (isinstance(step[2], list) or step[2] is None if step[0] == "r" else _is_plain(step[2]))


def _is_plain(value: Any) -> bool:
    return value is not None and not isinstance(value, list | dict)


class _Appends:
    """The message of each value of each list. Those of transactions that failed are nobody's."""

    def __init__(self) -> None:
        self.sent: dict[tuple[Any, str], int] = defaultdict(int)  # by list and sender
        self.twice = 0
        self._owners: dict[tuple[Any, Any], str] = {}
        self._messages: dict[tuple[Any, Any], _Appended] = {}
        self._invoked: set[int] = set()  # clients with an operation that has not ended

    def note(self, operation: dict[str, Any]) -> None:
        """Note what an operation appends: it counts until something says that it failed."""
        client, kind = int(operation["process"]), operation["type"]
        again = client in self._invoked and kind != "invoke"
        for name, key, value in operation["value"]:
            if name == "append" and (key, value) not in self._owners:
                self._owners[key, value] = _process(client)
            elif name == "append" and not again:
                self.twice += 1
            if name == "append" and kind == "fail" and self._owners[key, value] == _process(client):
                self._owners[key, value] = FAILED
        (self._invoked.add if kind == "invoke" else self._invoked.discard)(client)

    def number(self) -> None:
        """Number the messages of each client and list, in the order of the history."""
        for (key, value), owner in self._owners.items():
            self._messages[key, value] = self._next(key, owner)

    def message(self, key: Any, value: Any) -> _Appended:
        """Return the message that a value stands for."""
        value = value if _is_plain(value) else str(value)
        if (key, value) not in self._messages:
            self._messages[key, value] = self._next(key, NOBODY)
        return self._messages[key, value]

    def _next(self, key: Any, sender: str) -> _Appended:
        self.sent[key, sender] += 1
        return sender, self.sent[key, sender]


class _Reads:
    """The reads of each client and list, as deliveries."""

    def __init__(self, appends: _Appends) -> None:
        self.delivered: dict[tuple[Any, str], LogRecords] = defaultdict(list)  # by list and process
        self.stale = 0
        self._appends = appends
        self._longest: dict[tuple[int, Any], list[Any]] = defaultdict(list)  # that a client read of a list
        self._lives: dict[tuple[int, Any], int] = defaultdict(lambda: 1)

    def note(self, line: int, client: int, key: Any, values: list[Any]) -> None:
        """Note that a client read a list; what it had read before is delivered already."""
        known = self._longest[client, key]
        if values == known[: len(values)]:
            self.stale += len(values) < len(known)
            return
        # 1. A client read [1 2], and now reads [1 3 2]. 2. Within one log 3 would only be late. 3. So the client goes
        # on as another process, which has read all of the new list, and what contradicts shows between the two.
        if values[: len(known)] != known:
            self._lives[client, key] += 1
            known = []
        records = self.delivered[key, _process(client, self._lives[client, key])]
        for place, value in enumerate(values[len(known) :], len(known) + 1):
            sender, number = self._appends.message(key, value)
            more = {"sender": sender, "number": number, "serial": place, "value": str(value), "line": line}
            records.append({"type": "deliver", "sent_view": 1, **more})
        self._longest[client, key] = values


def _process(client: int, life: int = 1) -> str:
    return f"client-{client}#{life}"


def _logs(appends: _Appends, reads: _Reads) -> dict[str, LogRecords]:
    """Return the records of each process: of each list a view of all that have to do with it, sends, deliveries."""
    members: dict[Any, set[str]] = defaultdict(set)
    for key, process in (*appends.sent, *reads.delivered):
        members[key].add(process)
    logs: dict[str, LogRecords] = defaultdict(list)
    for key, processes in members.items():
        where = {"group": f"list {key}", "view": 1}
        view = view_of(sorted(processes), JEPSEN_RULES)
        for process in sorted(processes):
            count = 0 if process in (FAILED, NOBODY) else appends.sent.get((key, process), 0)
            sends: LogRecords = [{"type": "send", "number": 1, "count": count, "clock": {}}] if count else []
            records = [view, *sends, *reads.delivered.get((key, process), ())]
            logs[process] += [{**record, **where} for record in records]
    return logs
