"""Delivery logs as Spark DataFrames with a row per message; docs/audit-python.md has their columns.

Tasks read segments by their paths, as the audit's do: Spark's own readers hide files that begin with a dot, which hold
what was written last, and know neither runs nor the opening that tells whose a line is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from gcom.audit.dataset.messages import DELIVERIES, SENDS, VIEWS, OfChain, deliveries_of, sends_of, views_of
from gcom.audit.input.catalogue import Catalogue
from gcom.audit.plan.chains import chains_of
from gcom.audit.spark.job import CHAIN_BYTES, TASKS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MESSAGE = ["group", "instance", "sender", "number"]
_SENT = {"process": "sender"}
_MINE = ("group", "instance", "view", "process", "position", "sender", "number", "serial", "sent_view")
_COLUMNS = (*_MINE, "sent", "delivered", "held_us", "clock")


class LogFrames:
    """The DataFrames of the logs in a catalogue. They are lazy, and read what there was when they were made."""

    def __init__(self, spark: SparkSession, catalogue: Catalogue) -> None:
        self._spark = spark
        self._chains = chains_of(catalogue, CHAIN_BYTES)

    def deliveries(self) -> DataFrame:
        """Return the deliveries, each with what its sender's log says of the message; null where none does."""
        sent = self.sends().withColumnsRenamed(_SENT).select(*_MESSAGE, "sent", "clock")
        # A damaged log may have one number twice: that must not make two deliveries of one.
        once = sent.dropDuplicates(_MESSAGE)
        return self._read(DELIVERIES, deliveries_of).join(once, _MESSAGE, "left").select(*_COLUMNS)

    def sends(self) -> DataFrame:
        """Return the messages that were sent."""
        return self._read(SENDS, sends_of)

    def views(self) -> DataFrame:
        """Return the views that were installed."""
        return self._read(VIEWS, views_of)

    def _read(self, schema: pa.Schema, of_chain: OfChain) -> DataFrame:
        chains = self._chains

        def of_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for place in batch.column(0).to_pylist():
                    yield from of_chain(chains[place])

        places = self._spark.range(0, len(chains), 1, max(1, min(len(chains), TASKS)))
        return places.mapInArrow(of_task, _ddl(schema))


def _ddl(schema: pa.Schema) -> str:
    """Return a schema as Spark writes one."""
    return ", ".join(f"`{field.name}` {_spark(field.type)}" for field in schema)


def _spark(kind: pa.DataType) -> str:
    if pa.types.is_map(kind):
        return f"map<{_spark(kind.key_type)}, {_spark(kind.item_type)}>"
    if pa.types.is_list(kind):
        return f"array<{_spark(kind.value_type)}>"
    return {pa.string(): "string", pa.int64(): "bigint", pa.timestamp("us", "UTC"): "timestamp"}[kind]
