"""Lists that clients append to, and read as a whole, as messages of groups: the histories of Jepsen and Porcupine."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from gcom.audit.imports.writing import LogRecords, in_order, view_of

# An append of unknown outcome (:info) may have no effect at all, so no rule about what is missing can be carried.
LIST_RULES = in_order(("NO_CREATION", "NO_DUPLICATION", "TOTAL", "SERIAL_UNIQUE"))
# The senders of appends whose transaction failed, and of values that nobody appended.
FAILED, NOBODY = "a-failed-transaction#1", "nobody#1"
_Appended = tuple[str, int]


def is_plain(value: Any) -> bool:
    """Return whether a value may be an entry of a list."""
    return value is not None and not isinstance(value, list | dict)


class ListAppends:
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
                self._owners[key, value] = process_of(client)
            elif name == "append" and not again:
                self.twice += 1
            if name == "append" and kind == "fail" and self._owners[key, value] == process_of(client):
                self._owners[key, value] = FAILED
        (self._invoked.add if kind == "invoke" else self._invoked.discard)(client)

    def number(self) -> None:
        """Number the messages of each client and list, in the order of the history."""
        for (key, value), owner in self._owners.items():
            self._messages[key, value] = self._next(key, owner)

    def message(self, key: Any, value: Any) -> _Appended:
        """Return the message that a value stands for."""
        value = value if is_plain(value) else str(value)
        if (key, value) not in self._messages:
            self._messages[key, value] = self._next(key, NOBODY)
        return self._messages[key, value]

    def _next(self, key: Any, sender: str) -> _Appended:
        self.sent[key, sender] += 1
        return sender, self.sent[key, sender]


class ListReads:
    """The reads of each client and list, as deliveries."""

    def __init__(self, appends: ListAppends) -> None:
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
        records = self.delivered[key, process_of(client, self._lives[client, key])]
        for place, value in enumerate(values[len(known) :], len(known) + 1):
            sender, number = self._appends.message(key, value)
            more = {"sender": sender, "number": number, "serial": place, "value": str(value), "line": line}
            records.append({"type": "deliver", "sent_view": 1, **more})
        self._longest[client, key] = values


def process_of(client: int, life: int = 1) -> str:
    """Return the process that a client's log is of."""
    return f"client-{client}#{life}"


def logs_of_lists(appends: ListAppends, reads: ListReads) -> dict[str, LogRecords]:
    """Return the records of each process: of each list a view of all that have to do with it, sends, deliveries."""
    members: dict[Any, set[str]] = defaultdict(set)
    for key, process in (*appends.sent, *reads.delivered):
        members[key].add(process)
    logs: dict[str, LogRecords] = defaultdict(list)
    for key, processes in members.items():
        where = {"group": f"list {key}", "view": 1}
        view = view_of(sorted(processes), LIST_RULES)
        for process in sorted(processes):
            count = 0 if process in (FAILED, NOBODY) else appends.sent.get((key, process), 0)
            sends: LogRecords = [{"type": "send", "number": 1, "count": count, "clock": {}}] if count else []
            records = [view, *sends, *reads.delivered.get((key, process), ())]
            logs[process] += [{**record, **where} for record in records]
    return logs
