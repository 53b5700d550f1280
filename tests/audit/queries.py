"""The queries of docs/audit-queries.md and what they give; `python -m tests.audit.queries` writes the latter.

The logs are made here: carol is slow, and misses a message of view 2 that both others deliver.
"""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gcom.audit
from gcom.audit.spark.session import open_session
from tests.audit.lives import Group, live, write_lives

PAGE = Path(__file__).resolve().parents[2] / "docs" / "audit-queries.md"
EXAMPLE = re.compile(r"(?P<head>```sql\n(?P<query>.*?)```\n\n```text\n)(?P<shown>.*?)```", re.DOTALL)
SLOW_US = 25_000


def write_logs(folder: Path) -> Path:
    """Write the logs that the page's queries are shown over."""
    lives = live(Group([["alice", "bob", "carol"], ["alice", "bob", "carol", "dave"]], messages=40))
    mine = lives["carol"].records
    for record in mine:
        if record["type"] == "deliver":
            record["t"] += SLOW_US
    missed = [record for record in mine if record["type"] == "deliver" and record["view"] == 2][20]
    mine.remove(missed)
    return write_lives(folder, lives)


def register(spark: Any, folder: Path) -> None:
    """Make the tables that the page's queries name."""
    for name in ("deliveries", "sends", "views"):
        getattr(gcom.audit, name)(spark, folder).cache().createOrReplaceTempView(name)
    gcom.audit.audit(folder).to_spark(spark).incidents.createOrReplaceTempView("incidents")


def result_of(spark: Any, query: str) -> str:
    """Return what a query gives, as a table of text."""
    found = spark.sql(query)
    rows = [found.columns, *([_text(value) for value in row] for row in found.collect())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(f"{value:<{width}}" for value, width in zip(row, widths, strict=True)) for row in rows)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float | Decimal) else str(value)


def main() -> None:
    """Write what each query gives into the page."""
    spark = open_session("local[2]", None)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    with TemporaryDirectory() as folder:
        register(spark, write_logs(Path(folder)))
        text = PAGE.read_text("utf-8")
        PAGE.write_text(EXAMPLE.sub(lambda it: f"{it['head']}{result_of(spark, it['query'])}```", text), "utf-8")
    spark.stop()


if __name__ == "__main__":
    main()
