"""`gcom topics create`, `trim`, `check`, `backup`, `export`, `import`, `record`, `metrics`: what a store keeps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from time import monotonic, time
from typing import TYPE_CHECKING, Annotated

import typer

from gcom.cli.output import Output, notice
from gcom.cli.wording import many
from gcom.errors import BadValue

if TYPE_CHECKING:  # commands import what they need
    from gcom.topics import SubscriptionInfo, TopicInfo, TopicStore

TELL_S = 2.0  # between lines of progress
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_BYTES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}

Place = Annotated[str, typer.Option("--store", metavar="FILE", help="The store.", envvar="GCOM_STORE")]
TopicName = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name.", show_default=False)]


def duration(text: str) -> float:
    """Return the seconds of a duration such as 90s, 12h or 7d; raise BadValue."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", text.strip())
    if found is None:
        raise BadValue(f"{text!r} is not a time: expected a number with s, m, h, d or w, as 7d")
    return float(found[1]) * _SECONDS[found[2]]


def spoken(seconds: float) -> str:
    """Return a duration as `duration` reads it, in the largest unit in which it is a whole number."""
    word = next((it for it in "dhm" if seconds >= 1 and seconds % _SECONDS[it] == 0), "s")
    return f"{seconds / _SECONDS[word]:,g}{word}"


def size(text: str) -> int:
    """Return the bytes of a size such as 1GB or 512MiB; raise BadValue."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text.strip())
    if found is None or found[2].upper() not in _BYTES:
        raise BadValue(f"{text!r} is not a size: expected a number with B, KB, MB, GB, KiB, MiB or GiB, as 1GB")
    return int(float(found[1]) * _BYTES[found[2].upper()])


def row_of(info: TopicInfo) -> dict[str, object]:
    """Return a topic as a row of JSON."""
    keep = {name: value for name, value in asdict(info.keep).items() if value not in (None, False)}
    counts = {"first": info.first, "next": info.next, "messages": info.count, "bytes": info.bytes}
    limits = {"bytes_most": info.bytes_most, "rate_most": info.rate_most}
    return {"type": "topic", "topic": info.name, **counts, "keep": keep, **limits}


def kept(info: TopicInfo) -> str:
    """Return in words what a topic keeps and takes."""
    keep = info.keep
    words = [
        f"{keep.count:,} messages" if keep.count is not None else "",
        spoken(keep.age_ms / 1000) if keep.age_ms is not None else "",
        f"{keep.size_bytes:,} bytes" if keep.size_bytes is not None else "",
        f"takes {info.bytes_most:,} bytes" if info.bytes_most is not None else "",
        f"takes {info.rate_most:,} a second" if info.rate_most is not None else "",
    ]
    return ", ".join(filter(None, words)) or "all"


def waiting_s(info: SubscriptionInfo) -> float | None:
    """Return the age of the oldest message that is not done; None if all are."""
    return None if info.waiting_since_ms is None else round(max(0.0, time() - info.waiting_since_ms / 1000), 3)


class Telling:
    """Tells how far something is, on standard error, every few seconds."""

    def __init__(self, what: str) -> None:
        self._what, self._told = what, monotonic()

    def __call__(self, topic: str, count: int) -> None:
        if self._is_due():
            notice(f"{self._what} topic {topic!r}: {many(count, 'message')} so far")

    def of_bytes(self, done: int, every: int) -> None:
        """Tell of a copy."""
        if self._is_due():
            notice(f"{self._what}: {done / 1e6:,.0f} of {every / 1e6:,.0f} MB")

    def _is_due(self) -> bool:
        due = monotonic() - self._told >= TELL_S
        if due:
            self._told = monotonic()
        return due


def create(
    topic: TopicName,
    store: Place,
    keep_for: Annotated[str | None, typer.Option(metavar="TIME", help="Older messages go: 12h, 7d.")] = None,
    keep_count: Annotated[int | None, typer.Option(min=0, metavar="N", help="The newest N stay.")] = None,
    keep_size: Annotated[str | None, typer.Option(metavar="SIZE", help="So much of the newest stays: 1GB.")] = None,
    unread_too: Annotated[
        bool, typer.Option("--unread-too", help="Also what subscriptions have not done goes.")
    ] = False,
    most_size: Annotated[str | None, typer.Option(metavar="SIZE", help="Refuse messages beyond it: 2GB.")] = None,
    most_rate: Annotated[int | None, typer.Option(min=1, metavar="N", help="Refuse more than N a second.")] = None,
) -> None:
    """Create a topic, and the store if there is none; or give a topic that is there other bounds.

    Messages beyond --keep-… are deleted by those that append, some with each 256 messages. What a subscription has not
    acknowledged stays, unless --unread-too. Beyond --most-… messages are refused. Without such options a topic that is
    there stays as it is.

    \b
    Examples:
      gcom topics create orders --store app.db
      gcom topics create orders --keep-for 7d --keep-size 1GB --store app.db
      gcom topics create orders --keep-count 100000 --most-rate 500 --store app.db
    """
    bounds = (keep_for, keep_count, keep_size, most_size, most_rate)
    with opened_store(store, make=True) as opened:
        found = opened.topic(topic)
        if any(it is not None for it in bounds):
            found.bound(
                count=keep_count,
                age_s=None if keep_for is None else duration(keep_for),
                size_bytes=None if keep_size is None else size(keep_size),
                unread_too=unread_too,
                bytes_most=None if most_size is None else size(most_size),
                rate_most=most_rate,
            )
        info = found.info
        notice(f"topic {topic!r} is there, with {many(info.count, 'message')}")
        if info.count and info.keep.is_bounded:
            notice("what is beyond its bounds goes as messages are sent; gcom topics trim deletes it at once")


def trim(
    topic: TopicName,
    store: Place,
    before: Annotated[int | None, typer.Option(min=0, metavar="OFFSET", help="Messages below it go.")] = None,
    count: Annotated[int | None, typer.Option(min=0, metavar="N", help="The newest N stay.")] = None,
    age: Annotated[float | None, typer.Option(min=0, metavar="SECONDS", help="Older ones go.")] = None,
    size: Annotated[int | None, typer.Option(min=0, metavar="BYTES", help="So much of the newest stays.")] = None,
    unread_too: Annotated[bool, typer.Option("--unread-too", help="Also what subscriptions have not done.")] = False,
) -> None:
    """Delete the oldest messages of a topic. What was sent stays known: duplicates are refused as before.

    \b
    Examples:
      gcom topics trim orders --count 100000 --store app.db
      gcom topics trim orders --age 604800 --size 1000000000 --store app.db
    """
    with opened_store(store) as opened:
        found = opened.existing(topic)
        bounds = {"before": before, "count": count, "size_bytes": size}
        gone = found.trim(**bounds, age_s=age, unread_too=unread_too, tell=Telling("trimming"))
        notice(f"{many(gone, 'message')} deleted; topic {topic!r} keeps {many(found.info.count, 'message')}")


def check(store: Place) -> int:
    """Read every message of a store, and name those that are damaged or missing; exit status 1 if there are any.

    \b
    Example:
      gcom topics check --store app.db
    """
    with opened_store(store) as opened:
        faults, count = opened.check(Telling("checking")), sum(it.count for it in opened.topics())
    output = Output()
    for fault in faults:
        output.text(fault)
    output.flush()
    notice(f"{many(count, 'message')} read, {many(len(faults), 'fault')}")
    return 1 if faults else 0


def backup(
    copy: Annotated[Path, typer.Argument(metavar="COPY", help="The new file.", show_default=False)], store: Place
) -> None:
    """Copy a store into a new file, as it is at one moment, while programs use it.

    \b
    Example:
      gcom topics backup copy.db --store app.db
    """
    with opened_store(store) as opened:
        opened.backup(copy, Telling("copying").of_bytes)
    notice(f"the store {store!r} is copied into {str(copy)!r}")


def export(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A new folder in it for each topic.", show_default=False)
    ],
    store: Place,
    topic: Annotated[
        list[str] | None, typer.Option("--topic", metavar="TOPIC", help="May be repeated. [default: all]")
    ] = None,
) -> None:
    """Write topics into folders, one file for each message, with producers and subscriptions.

    \b
    Examples:
      gcom topics export kept/ --store app.db
      gcom topics export kept/ --topic orders --store app.db
    """
    from gcom.topics.folders import export_topics

    with opened_store(store) as opened:
        count = export_topics(opened, folder, topic or [], Telling("exporting"))
    notice(f"{many(count, 'message')} exported into {str(folder)!r}")


def import_folder(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Has a folder for each topic.", show_default=False)],
    store: Place,
) -> None:
    """Bring topics from folders into a store, in which they are not yet: of `export`, or of a server of protocol Z.

    Messages, offsets, producers' last sequences and subscriptions are as they were.

    \b
    Example:
      gcom topics import kept/ --store new.db
    """
    from gcom.topics.folders import import_topics

    with opened_store(store, make=True) as opened:
        count = import_topics(opened, folder, Telling("importing"))
    notice(f"{many(count, 'message')} imported into {store!r}")


def metrics(
    store: Place,
    listen: Annotated[str, typer.Option(metavar="PORT", help="PORT on 127.0.0.1, or HOST:PORT.")] = "9102",
) -> None:
    """Serve figures of a store for Prometheus, until Ctrl-C: lag, oldest unacknowledged, sizes, last sequences.

    \b
    Example:
      gcom topics metrics --store app.db --listen 9102
    """
    from threading import Event

    from gcom.metrics.topics import serve_topics

    with opened_store(store) as opened, serve_topics(opened, listen) as server:
        notice(f"figures of {store!r} at {server.url}")
        Event().wait()


def record(
    store: Place,
    into: Annotated[Path, typer.Option("--into", metavar="LOGDIR", help="The folder of the producers' logs.")],
    effects: Annotated[
        list[str] | None, typer.Option("--effects", metavar="PLACE", help="The db that run() got; may be repeated.")
    ] = None,
) -> None:
    """Write down what a store holds, and what was done with it, for `gcom audit LOGDIR`.

    Do it once producers and consumers have ended: a receipt that is younger would look like a loss. Producers write
    their own part, if they open the store with log_dir.

    \b
    Examples:
      gcom topics record --store app.db --into logs/
      gcom topics record --store app.db --into logs/ --effects ledger.db
    """
    from gcom.topics.dump import record_store

    with opened_store(store) as opened:
        count = record_store(opened, into, effects or [], Telling("recording"))
    notice(f"{many(count, 'message')} recorded: gcom audit {into}")


@contextmanager
def opened_store(place: str, make: bool = False) -> Iterator[TopicStore]:
    """Open a store that is there; only `create` makes one, lest a slip of the pen leave an empty file."""
    from gcom import topics

    if not make and "://" not in place and not Path(place).is_file():
        raise BadValue(
            f"there is no store {place!r}: name its file, or make one with: gcom topics create TOPIC --store {place}"
        )
    with topics.open(place) as store:
        yield store
