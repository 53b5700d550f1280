"""Import of Jepsen's list-append histories: `gcom audit import jepsen history.edn`.

A transaction appends values to lists, and reads whole lists. Each list becomes a group: an append is a message of its
client, and a client that reads a list delivers what it had not read before, with the place in the list as serial. So
two reads that show two values at one place break SERIAL_UNIQUE, as they break Elle's `incompatible-order`; a value that
a list has twice breaks NO_DUPLICATION; one that nobody appended, or whose transaction failed, NO_CREATION.

Source: Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations" (VLDB 2020).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gcom.audit.imports.edn import NoEdn, maps
from gcom.audit.imports.lists import LIST_RULES, ListAppends, ListReads, is_plain, logs_of_lists
from gcom.audit.imports.writing import Imported, WrongLines, check_new, many_of, read_text, write_logs

_TYPES = ("invoke", "ok", "fail", "info")
_EXPECTED = "operations of a list-append test, as {:type :ok, :process 0, :f :txn, :value [[:append 1 2] [:r 1 [2]]]}"


def import_jepsen(file: Path, into: Path) -> Imported:
    """Write the history as delivery logs under `into`, which must be empty. Raises BadValue, NotALog, or OSError."""
    check_new(into)
    wrong = WrongLines(str(file), _EXPECTED)
    appends = ListAppends()
    reads = ListReads(appends)
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
    write_logs(logs_of_lists(appends, reads), into)
    if appends.twice:
        notes.append(f"{many_of(appends.twice, 'append')} of a value that its list was given before: the first counts")
    if reads.stale:
        notes.append(f"{many_of(reads.stale, 'read')} of less than the client had read before: no rule is about that")
    clients = len({operation["process"] for _, operation in operations})
    return Imported(clients, len(operations), LIST_RULES, wrong.count, notes)


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
    return plain and (isinstance(step[2], list) or step[2] is None if step[0] == "r" else is_plain(step[2]))
