"""Import of Porcupine's histories of a key-value store: `gcom audit import porcupine c10-ok.txt`.

An operation is a map a line, as `{:process 3, :type :ok, :f :append, :key "0", :value "x 3 1 y"}`. A key's value is a
text: `put` replaces it, `append` adds to it, and `get` returns it. Each text that was put begins a list of its own, so
what a `get` returns is the read of a list, as in Jepsen's histories. Since a client has one operation after the other,
it is also a session that reads its own writes, where the store keeps what a linearizable one does.

Source: Anish Athalye, "Porcupine: A fast linearizability checker in Go" (2017), whose test data has this form.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gcom.audit.imports.edn import NoEdn, maps
from gcom.audit.imports.lists import LIST_RULES, ListAppends, ListReads, logs_of_lists, process_of
from gcom.audit.imports.writing import Imported, LogRecords, WrongLines, check_new, many_of, read_text, write_logs

SESSION_RULES = ["RYW", "MR", "MW", "WFR"]
_TYPES, _FUNCTIONS = ("invoke", "ok", "fail", "info"), ("get", "put", "append")
_EXPECTED = 'operations on keys, as {:process 0, :type :ok, :f :append, :key "4", :value "x 0 1 y"}'
_Operation = dict[str, Any]
_List = str  # the name of a key, and behind it the text that the last `put` gave it


def import_porcupine(file: Path, into: Path) -> Imported:
    """Write the history as delivery logs under `into`, which must be empty. Raises BadValue, NotALog, or OSError."""
    check_new(into)
    wrong = WrongLines(str(file), _EXPECTED)
    operations = [*_operations(read_text(file), wrong)]
    notes = wrong.notes(len(operations))
    _name_entries(operation for _, operation in operations)
    texts = _Texts(operations)
    appends, sessions = ListAppends(), _Sessions(texts)
    reads = ListReads(appends)
    for _, operation in operations:
        if operation["f"] != "get":
            steps = [("append", name, operation["entry"]) for name in texts.lists_of(operation)]
            appends.note({**operation, "value": steps})
    appends.number()
    unclear = 0
    for line, operation in operations:
        if operation["type"] == "ok" and operation["f"] == "get":
            name, entries = texts.read(operation)
            if texts.is_unclear(operation["key"], entries):
                unclear += 1
                continue
            reads.note(line, operation["process"], name, entries)
            sessions.note_read(operation["process"], name, entries)
        elif operation["type"] == "ok":
            sessions.note_write(operation)
    logs = logs_of_lists(appends, reads)
    for client, records in sessions.records.items():
        logs.setdefault(process_of(client), []).extend(records)
    write_logs(logs, into)
    if unclear:
        notes.append(f"{many_of(unclear, 'get')} that two puts of one text may have begun: left out")
    clients = len({operation["process"] for _, operation in operations})
    return Imported(clients, len(operations), [*LIST_RULES, *SESSION_RULES], wrong.count, notes)


def _operations(text: str, wrong: WrongLines) -> Iterator[tuple[int, _Operation]]:
    for line, shown, found in maps(text):
        if isinstance(found, NoEdn):
            wrong.add(line, shown, str(found))
        elif problem := _problem(found):
            wrong.add(line, shown, problem)
        else:
            yield line, found


def _problem(operation: _Operation) -> str:
    if operation.get("type") not in _TYPES or type(operation.get("process")) is not int:
        return "no operation with a :type and a :process"
    if operation.get("f") not in _FUNCTIONS or type(operation.get("key")) is not str:
        return "no get, put or append of a :key"
    value = operation.get("value")
    if type(value) is str or (value is None and operation["f"] == "get"):
        return ""
    return "its :value is no text"


def _name_entries(operations: Iterable[_Operation]) -> None:
    """Give each write the name of its entry: its text, and of a text that a key is given again, which time it is."""
    times: dict[tuple[str, str], int] = defaultdict(int)
    begun: dict[int, str] = {}  # by client: the entry of its write that has not ended
    for operation in operations:
        client, key = operation["process"], operation["key"]
        if operation["f"] == "get":
            continue
        entry = begun.pop(client, "") if operation["type"] != "invoke" else ""
        if not entry:
            times[key, operation["value"]] += 1
            entry = _entry(operation["value"], times[key, operation["value"]])
        if operation["type"] == "invoke":
            begun[client] = entry
        operation["entry"] = entry


def _entry(text: str, time: int) -> str:
    return text if time == 1 else f"{text} ({time})"


class _Texts:
    """The texts of all keys, taken apart into what was written to them."""

    def __init__(self, operations: list[tuple[int, _Operation]]) -> None:
        self._entries: dict[tuple[str, str], set[str]] = defaultdict(set)  # by key and text
        self._put: set[tuple[str, str]] = set()
        for _, operation in operations:
            where = operation["key"], operation["value"]
            if operation["f"] != "get" and operation["value"]:
                self._entries[where].add(operation["entry"])
            if operation["f"] == "put":
                self._put.add(where)
        lengths: dict[str, set[int]] = defaultdict(set)
        for key, text in self._entries:
            lengths[key].add(len(text))
        self._lengths = {key: sorted(found, reverse=True) for key, found in lengths.items()}
        self._lists: dict[tuple[str, str], dict[_List, None]] = defaultdict(dict)  # in which an entry was read
        self._longest: dict[_List, list[str]] = {}
        for _, operation in operations:
            if operation["f"] == "get" and operation["type"] == "ok":
                self._note(operation["key"], *self.read(operation))

    def _note(self, key: str, name: _List, entries: list[str]) -> None:
        for entry in entries:
            self._lists[key, entry][name] = None
        if len(entries) > len(self._longest.get(name, ())):
            self._longest[name] = entries

    def read(self, operation: _Operation) -> tuple[_List, list[str]]:
        """Return the list that a `get` has read, and its entries."""
        key = operation["key"]
        times: dict[str, int] = defaultdict(int)
        entries = []
        for text in self._texts(key, operation["value"] or ""):
            times[text] += 1
            entries.append(_entry(text, times[text]))
        return self._name(key, entries[0] if entries else ""), entries

    def _name(self, key: str, first: str) -> _List:
        return f"{key} from {first!r}" if (key, first) in self._put else key

    def _texts(self, key: str, text: str) -> Iterator[str]:
        """Yield what was written; between two of these, what nobody wrote."""
        at = unknown = 0
        while at < len(text):
            found = next((n for n in self._lengths.get(key, ()) if (key, text[at : at + n]) in self._entries), 0)
            if found and unknown < at:
                yield text[unknown:at]
            if found:
                yield text[at : at + found]
                unknown = at + found
            at += found or 1
        if unknown < at:
            yield text[unknown:]

    def is_unclear(self, key: str, entries: list[str]) -> bool:
        """Return whether a read may have been begun by one of several writes of a text that was put."""
        return bool(entries) and (key, entries[0]) in self._put and len(self._entries[key, entries[0]]) > 1

    def lists_of(self, operation: _Operation) -> list[_List]:
        """Return the lists to which a write belongs: where it was read, or where it would be."""
        key, entry = operation["key"], operation["entry"]
        return [*self._lists.get((key, entry), ())] or [self._name(key, entry)]

    def place(self, name: _List, operation: _Operation) -> int:
        """Return the place of a write in the longest read of a list, from 1 on; 0 if that is not known.

        A text that was written several times has no known place: a later list may show another time of it.
        """
        longest = self._longest.get(name, [])
        if len(self._entries[operation["key"], operation["value"]]) > 1 or operation["entry"] not in longest:
            return 0
        return longest.index(operation["entry"]) + 1

    def is_told(self, name: _List, entries: list[str]) -> bool:
        """Return whether a read is of a list's one history; of others the rules of lists tell."""
        return self._longest.get(name, [])[: len(entries)] == entries


class _Sessions:
    """The operations of each client as a session of a replicated state, whose index is a place in a list."""

    def __init__(self, texts: _Texts) -> None:
        self.records: dict[int, LogRecords] = defaultdict(list)
        self._texts = texts
        self._written: dict[tuple[int, _List], int] = defaultdict(int)
        self._seen: dict[tuple[int, _List], int] = defaultdict(int)

    def note_write(self, operation: _Operation) -> None:
        """Note a write that has ended, where somebody has read it; else nobody knows its place."""
        client = operation["process"]
        for name in self._texts.lists_of(operation):
            index = self._texts.place(name, operation)
            if index:
                self._written[client, name] += 1
                self._add("write", client, name, index, {"number": self._written[client, name]})

    def note_read(self, client: int, name: _List, entries: list[str]) -> None:
        """Note a read that has ended."""
        if self._texts.is_told(name, entries):
            self._add("read", client, name, len(entries), {"written": self._written[client, name]})
            self._seen[client, name] = max(self._seen[client, name], len(entries))

    def _add(self, kind: str, client: int, name: _List, index: int, more: dict[str, int]) -> None:
        about = {"of": f"key {name}", "session": client, "seen": self._seen[client, name], "index": index, "term": 1}
        self.records[client].append({"type": kind, **about, **more, "guarantees": SESSION_RULES})
