"""The tables of a result: verdicts, incidents and coverage, with the fields of `--json`.

Parquet, pandas and Spark all take them from here, so a query over one of these forms works over the others.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pyarrow as pa

_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML 1.0 cannot hold

_TEXT, _COUNT = pa.string(), pa.int64()
_MESSAGE = pa.struct([("sender", _TEXT), ("number", _COUNT)])
_POSITION = pa.struct([("process", _TEXT), ("at", _COUNT)])
_FILE = pa.struct([("file", _TEXT), ("line", _COUNT)])
_EFFECT = pa.struct([("rule", _TEXT), ("processes", pa.list_(_TEXT)), ("sentence", _TEXT)])
VERDICTS = pa.schema(
    [(name, _TEXT) for name in ("group", "instance", "ordering", "multicast", "rule")]
    + [("expected", pa.bool_()), ("verdict", _TEXT), ("evaluated", _COUNT), ("violations", _COUNT), ("reason", _TEXT)]
    + [("about", _TEXT)]
)
INCIDENTS = pa.schema(
    [(name, _TEXT) for name in ("id", "rule", "group", "instance")]
    + [("expected", pa.bool_()), ("view", _COUNT), ("processes", pa.list_(_TEXT)), ("messages", pa.list_(_MESSAGE))]
    + [("positions", pa.list_(_POSITION)), ("files", pa.list_(_FILE)), ("sentence", _TEXT), ("more", _COUNT)]
    + [("caused", pa.list_(_TEXT)), ("effects", pa.list_(_EFFECT)), ("about", _TEXT)]
)
COVERAGE = pa.schema([("process", _TEXT), ("positions", _COUNT), ("state", _TEXT)])


class AuditTables(NamedTuple):
    """The tables of a result, as pandas or Spark DataFrames or as Arrow tables: docs/audit-python.md lists the columns.

    `verdicts` has a row per rule and group, `incidents` one per incident, `coverage` one per process with a log.
    """

    verdicts: Any
    incidents: Any
    coverage: Any


def tables_of(plain: dict[str, Any]) -> AuditTables:
    """Return Arrow tables of a result, given as the object that `--json` prints."""
    # Before Arrow: lone surrogates, which a damaged log may hold, are texts that it refuses.
    plain = _fit_all(plain)
    of_group = ("group", "instance", "ordering", "multicast")
    verdicts = [
        {**{name: group[name] for name in of_group}, **rule, "about": "group"}
        for group in plain["groups"]
        for rule in group["rules"]
    ]
    # What stands on groups: its name is in the column of groups' names, and `about` says what it is.
    verdicts += [
        {**dict.fromkeys(of_group, ""), "group": each["name"], "expected": True, **rule, "about": each["about"]}
        for each in plain["applications"]
        for rule in each["rules"]
    ]
    for incident in plain["incidents"]:
        incident["messages"] = [{"sender": sender, "number": number} for sender, number in incident["messages"]]
        incident["positions"] = [{"process": process, "at": at} for process, at in incident["positions"]]
    # With a schema of its own: of an empty list Arrow would not know the types, and readers rely on them.
    return AuditTables(
        pa.Table.from_pylist(verdicts, schema=VERDICTS),
        pa.Table.from_pylist(plain["incidents"], schema=INCIDENTS),
        pa.Table.from_pylist(plain["coverage"], schema=COVERAGE),
    )


def fit(text: str) -> str:
    """Return the text with what XML and Arrow cannot hold replaced."""
    return _UNFIT.sub("\ufffd", text)


def _fit_all(thing: Any) -> Any:
    """Return the same thing with texts that every reader accepts."""
    match thing:
        case str():
            return fit(thing)
        case list():
            return [_fit_all(each) for each in thing]
        case dict():
            return {name: _fit_all(each) for name, each in thing.items()}
        case _:
            return thing
