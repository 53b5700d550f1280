"""The audit from Python: the command's verdict as values and tables, and logs as tables with a row per message."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import gcom.audit
from gcom.audit.dataset.messages import deliveries_of, sends_of, views_of
from gcom.audit.input.catalogue import catalogue
from gcom.audit.input.reading import compact, list_segments
from gcom.audit.plan.chains import chains_of
from gcom.errors import BadValue, NotALog
from tests.audit import queries
from tests.audit.lives import WALL_NS, Group, broken, live, write_lives

MEMBERS = [["alice", "bob"], ["alice", "bob", "carol"]]


def _rows(folder: Path, of_chain: Any = deliveries_of, chain_bytes: int = 1 << 30) -> list[dict[str, Any]]:
    chains = chains_of(catalogue(list_segments([str(folder)])), chain_bytes)
    return [row for chain in chains for batch in of_chain(chain) for row in batch.to_pylist()]


def test_the_result_is_the_commands(tmp_path: Path) -> None:
    folder = broken(tmp_path / "logs", "FIFO")
    result = gcom.audit.audit(folder)
    done = subprocess.run(
        [sys.executable, "-m", "gcom.cli", "audit", folder, "--json", tmp_path / "audit.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == result.exit_status()
    assert json.loads((tmp_path / "audit.json").read_text()) == json.loads(json.dumps(result.as_json()))
    assert done.stdout.splitlines()[0] == result.headline()


def test_rules_say_the_worst_of_all_groups(tmp_path: Path) -> None:
    broken(tmp_path / "one", "FIFO")
    write_lives(tmp_path / "two", live(Group([["dora", "emil"]], group="quiet")))
    result = gcom.audit.audit([tmp_path / "one", str(tmp_path / "two")])
    assert result.verdict == result.rules["FIFO"] == "FAIL"
    assert result.rules["CAUSAL"] == "PASS"
    assert result.rules["CONTINUITY"] == "VACUOUS"
    assert "INTEGRITY" not in result.rules  # no log has a digest, so nobody promised anything about them


def test_violations_join_another_table(tmp_path: Path) -> None:
    result = gcom.audit.audit(broken(tmp_path, "FIFO"))
    incidents = result.to_pandas().incidents
    hosts = pd.DataFrame({"process": list(result.coverage), "host": [f"rack-{n}" for n in range(len(result.coverage))]})
    blamed = incidents.explode("processes").merge(hosts, left_on="processes", right_on="process", how="left")
    assert {*blamed["process"]} == {who for incident in result.incidents for who in incident.processes}
    assert blamed["host"].notna().all()
    assert str(incidents["view"].dtype) == "Int64"  # also where an incident is of no view


def test_tables_of_a_log_without_incidents_have_all_columns(tmp_path: Path) -> None:
    tables = gcom.audit.audit(write_lives(tmp_path, live(Group(MEMBERS)))).to_pandas()
    assert not len(tables.incidents)
    assert {"id", "rule", "processes", "sentence"} <= {*tables.incidents.columns}


def test_two_processes_say_the_same(tmp_path: Path) -> None:
    folder = broken(tmp_path, "FIFO")
    assert gcom.audit.audit(folder, processes=2).as_json() == gcom.audit.audit(folder).as_json()


def test_what_cannot_be_judged_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotALog, match="no delivery logs in"):
        gcom.audit.audit(tmp_path)
    with pytest.raises(BadValue, match="processes must be a number from 1 on; got 0"):
        gcom.audit.audit(tmp_path, processes=0)


def test_importing_it_loads_nothing_large() -> None:
    code = "import gcom.audit, sys; print(*{'numpy', 'pyarrow', 'pandas', 'pyspark'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_runs_are_taken_apart_and_clocks_are_whole(tmp_path: Path) -> None:
    """By hand: three messages in one record, and a clock of which only the changes are logged."""
    view = {"type": "view", "at": 1, "view": 1, "members": ["a#1", "b#1"], "leader": "a#1"}
    records = [
        {"type": "open", "at": 1, "version": 1, "process": "a#1", "segment": 0, "wall_ns": WALL_NS},
        {**view, "ordering": "TOTAL", "multicast": "RELIABLE"},
        {"type": "deliver", "at": 2, "view": 1, "sent_view": 1, "sender": "b#1", "number": 4, "count": 3, "serial": 9},
        {"type": "send", "at": 5, "view": 1, "number": 1, "clock": {"b#1": 6, "c#1": 2}, "t": 7},
        {"type": "send", "at": 6, "view": 1, "number": 2, "count": 2, "clock": {"b#1": 8}},
        {"type": "lost", "at": 8, "count": 1},
        {"type": "send", "at": 9, "view": 1, "number": 4, "clock": {"b#1": 9}},
    ]
    home = tmp_path / "a%20b" / "1"
    home.mkdir(parents=True)
    lines = [json.dumps({"group": "g", **record} if index else record) for index, record in enumerate(records)]
    (home / ".000000.jsonl").write_text("\n".join([*lines, '{"type":"del']))  # it is still written
    delivered = _rows(tmp_path)
    assert [(row["position"], row["number"], row["serial"]) for row in delivered] == [(2, 4, 9), (3, 5, 10), (4, 6, 11)]
    assert {(row["group"], row["process"], row["sender"], row["delivered"]) for row in delivered} == {
        ("g", "a#1", "b#1", None)
    }
    sent = _rows(tmp_path, sends_of)
    assert [(row["number"], dict(row["clock"])) for row in sent] == [
        (1, {"b#1": 6, "c#1": 2}),
        (2, {"b#1": 8, "c#1": 2}),
        (3, {"b#1": 8, "c#1": 2}),
        (4, {"b#1": 9}),
    ]
    begin = datetime.fromtimestamp(WALL_NS / 1e9, UTC)
    assert [row["sent"] for row in sent] == [begin + timedelta(microseconds=7), None, None, None]
    (installed,) = _rows(tmp_path, views_of)
    assert (installed["members"], installed["leader"], installed["ordering"]) == (["a#1", "b#1"], "a#1", "TOTAL")


@pytest.mark.parametrize("of_chain", [deliveries_of, sends_of, views_of], ids=lambda it: it.__name__)
def test_parquet_gives_the_same_rows(of_chain: Any, tmp_path: Path) -> None:
    write_lives(tmp_path / "logs", live(Group(MEMBERS)))
    compact(list_segments([str(tmp_path / "logs")]), tmp_path / "small", lambda _: None)
    assert _rows(tmp_path / "logs", of_chain) == _rows(tmp_path / "small", of_chain)


def test_a_damaged_line_costs_its_own_row_alone(tmp_path: Path) -> None:
    write_lives(tmp_path, live(Group(MEMBERS)))
    whole = _rows(tmp_path)
    path = tmp_path / "bob" / "1" / "000000.jsonl"
    lines = path.read_text().splitlines()
    place = next(n for n, line in enumerate(lines) if '"deliver"' in line)
    path.write_text("\n".join([*lines[:place], "garbage", *lines[place + 1 : -1], ""]))
    assert len(_rows(tmp_path)) == len(whole) - 1


def test_spark_warns_of_a_file_that_is_no_log(spark: Any, tmp_path: Path) -> None:
    write_lives(tmp_path, live(Group(MEMBERS)))
    (tmp_path / "bob" / "1" / "000001.jsonl").write_text("not a log\n")
    with pytest.warns(UserWarning, match="its first line is no `open` record"):
        assert gcom.audit.sends(spark, tmp_path).count() == 60


def test_spark_judges_and_is_left_as_it_was(spark: Any, tmp_path: Path) -> None:
    folder = broken(tmp_path, "FIFO")
    settings = dict(spark.conf.getAll)
    result = gcom.audit.audit(folder, spark)
    assert result.as_json() == gcom.audit.audit(folder).as_json()
    tables = result.to_spark(spark)
    assert [row.id for row in tables.incidents.collect()] == [incident.id for incident in result.incidents]
    assert tables.coverage.count() == len(result.coverage)
    assert dict(spark.conf.getAll) == settings
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0


def test_spark_gives_each_delivery_once_with_what_its_sender_says(spark: Any, tmp_path: Path) -> None:
    lives = live(Group(MEMBERS))
    # A damaged log: one number is sent twice. Who delivered it has still delivered it once.
    sends = [record for record in lives["alice"].records if record["type"] == "send"]
    lives["alice"].records.insert(-1, dict(sends[0]))
    write_lives(tmp_path, lives)
    rows = [row.asDict() for row in gcom.audit.deliveries(spark, tmp_path).collect()]
    key = ("process", "position")
    plain = {tuple(row[name] for name in key): row for row in _rows(tmp_path)}
    assert len(rows) == len(plain)
    for row in rows:
        mine = plain[tuple(row[name] for name in key)]
        assert {name: row[name] for name in ("sender", "number", "serial", "held_us")} == {
            name: mine[name] for name in ("sender", "number", "serial", "held_us")
        }
        assert row["sent"] < row["delivered"]
        assert row["sender"] not in row["clock"]


def test_spark_runs_the_page_of_the_library(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (queries.PAGE.parent / "audit-python.md").read_text("utf-8")
    queries.write_logs(tmp_path / "logs")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        Path("example.py").write_text(block, "utf-8")
        runpy.run_path("example.py", {"spark": spark})


def test_spark_answers_the_queries_of_the_page(spark: Any, tmp_path: Path) -> None:
    """If only what a query gives has changed: `python -m tests.audit.queries` writes it."""
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        queries.register(spark, queries.write_logs(tmp_path))
        found = [*queries.EXAMPLE.finditer(queries.PAGE.read_text("utf-8"))]
        assert len(found) == 10
        for each in found:
            assert queries.result_of(spark, each["query"]) == each["shown"], each["query"]
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
        spark.catalog.clearCache()
        for view in spark.catalog.listTables():
            spark.catalog.dropTempView(view.name)
