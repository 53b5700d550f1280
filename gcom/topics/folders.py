"""Topics as folders, one file for each message: to look at, to keep, and to bring into another store.

The layout is that of the publish/subscribe document, §5.1: FOLDER/TOPIC/messages/ID has the bodies, `publishers` a line
NAME COUNTER for each producer, and `subscribers` a line NAME ID… with what each has yet to receive. Beside them
`gcom.jsonl` has what that layout has no place for: so what is exported and imported again is the same topic. A folder
without it is one of the document's own servers.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from gcom.errors import BadValue
from gcom.topics import headers
from gcom.topics.storage import appends, subscriptions, topics
from gcom.topics.storage.subscriptions import SubscriptionPlace
from gcom.topics.storage.transaction import Transaction, job
from gcom.topics.store import Topic, TopicStore
from gcom.topics.values import NONE_SENT, Entry, Keep, TopicMessage, slot_of

BATCH = 256
NAME_BYTES = 200  # of a folder; a longer name is cut, and gcom.jsonl has all of it
INDEX, ID_HEADER = "gcom.jsonl", "z-id"

FolderTell = Callable[[str, int], object]  # the topic, and how many messages are done


class FolderRow(NamedTuple):
    """A message of a folder."""

    entry: Entry
    producer: str | None
    at_ms: int | None


class FolderTopic(NamedTuple):
    """A topic as its folder says: where it begins, its producers' trimmed sequences, and its subscriptions."""

    name: str
    first: int
    producers: dict[str, int]
    subscriptions: list[SubscriptionPlace]
    keep: Keep
    limits: tuple[int | None, int | None]


def export_topics(store: TopicStore, folder: Path, names: Sequence[str] = (), tell: FolderTell | None = None) -> int:
    """Write topics, or all of them, into a new folder each; return how many messages that were.

    What is appended meanwhile is not exported. Raises BadValue where a folder is there already, UnknownTopic.
    """
    chosen = [store.existing(name) for name in names] or [store.existing(it.name) for it in store.topics()]
    return sum(_export(topic, folder, tell) for topic in chosen)


def folder_name(topic: str) -> str:
    """Return the name of a topic's folder."""
    name = quote(topic, safe=" !#$&'()+,;=@[]{}")
    name = f"%2E{name[1:]}" if name.startswith(".") else name
    return name if len(name) <= NAME_BYTES else f"{name[:NAME_BYTES]}~{Entry(0, topic.encode()).digest:x}"


def _export(topic: Topic, folder: Path, tell: FolderTell | None) -> int:
    info = topic.info
    places, trimmed = topic.access.ask(job(_places, info.id, topic.name))
    there = folder / folder_name(topic.name)
    if there.exists():
        raise BadValue(f"{str(there)!r} is there already: name a new folder")
    part = there.with_name(f"{there.name}.part")
    try:
        (part / "messages").mkdir(parents=True)
        last, slots = dict[str, int](trimmed), dict[int, int]()
        with (part / INDEX).open("w", encoding="utf-8") as index:
            head = {"topic": topic.name, "first": info.first, "producers": trimmed, "keep": asdict(info.keep)}
            limits = [info.bytes_most, info.rate_most]
            index.write(json.dumps({**head, "limits": limits, "subscriptions": places}) + "\n")
            for message in _messages(topic, info.first, info.next):
                (part / "messages" / str(message.offset)).write_bytes(message.body)
                index.write(json.dumps(_details(message)) + "\n")
                slots[message.offset] = slot_of(message.key, message.offset)
                if message.producer is not None and message.seq is not None:
                    last[message.producer] = message.seq
                if tell is not None and len(slots) % BATCH == 0:
                    tell(topic.name, len(slots))
        lines = [f"{quote(name)} {seq}" for name, seq in sorted(last.items()) if seq != NONE_SENT]
        (part / "publishers").write_text("".join(f"{line}\n" for line in lines))
        waiting = [" ".join([quote(it.name), *map(str, it.pending(slots))]) for it in places]
        (part / "subscribers").write_text("".join(f"{line}\n" for line in waiting))
        part.rename(there)
    except OSError as error:
        raise BadValue(
            f"cannot write {str(there)!r}: {error.strerror}; remove {str(part)!r}, if it is there"
        ) from error
    return len(slots)


def _places(tx: Transaction, topic: int, name: str) -> tuple[list[SubscriptionPlace], dict[str, int]]:
    return subscriptions.places(tx, topic, name), topics.trimmed(tx, topic)


def _messages(topic: Topic, first: int, following: int) -> Iterator[TopicMessage]:
    for message in topic.read(first - 1, batch=BATCH):
        if message.offset >= following:
            return
        yield message


def _details(message: TopicMessage) -> dict[str, object]:
    key = None if message.key is None else base64.b64encode(message.key).decode()
    told = {"id": message.offset, "producer": message.producer, "seq": message.seq, "at_ms": message.at_ms}
    return {**told, "key": key, "headers": dict(message.headers)}


def import_topics(store: TopicStore, folder: Path, tell: FolderTell | None = None) -> int:
    """Bring every topic of a folder into a store, in which it is not yet; return how many messages that were.

    Raises BadValue for a folder that has no topics, or a topic that has messages already.
    """
    found = [it for it in sorted(folder.iterdir()) if (it / "messages").is_dir()] if folder.is_dir() else []
    found = [it for it in found if it.suffix != ".part"]
    if not found:
        raise BadValue(f"{str(folder)!r} has no topics: expected folders with messages/, publishers and subscribers")
    return sum(_import(store, it, tell) for it in found)


def _import(store: TopicStore, folder: Path, tell: FolderTell | None) -> int:
    try:
        about, rows = _with_index(folder) if (folder / INDEX).is_file() else _of_document(folder)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadValue(f"{str(folder)!r} is not a topic's folder: {type(error).__name__}: {error}") from error
    topic = store.topic(about.name)
    if topic.info.next or topic.subscriptions() or topic.producers():
        raise BadValue(f"topic {about.name!r} is in use: import into another store, or delete it first")
    done, count = False, 0
    try:
        topic.access.call(job(topics.begin_at, topic.info.id, about.first, about.producers))
        for chunk in _chunks(rows):
            topic.access.call(job(_restore, topic.target, chunk))
            count += len(chunk)
            if tell is not None:
                tell(about.name, count)
        topic.access.call(job(subscriptions.restore, topic.info.id, about.name, about.subscriptions))
        topic.access.call(job(topics.bound, topic.info.id, about.name, about.keep, *about.limits))
        done = True
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadValue(
            f"{str(folder)!r} is not whole, and was not imported: {type(error).__name__}: {error}"
        ) from error
    finally:
        if not done:  # half a topic would look like one
            store.delete(about.name)
    return count


def _chunks(rows: Iterator[FolderRow]) -> Iterator[list[FolderRow]]:
    chunk = list[FolderRow]()
    for row in rows:
        chunk.append(row)
        if len(chunk) >= BATCH:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _restore(tx: Transaction, target: appends.Target, rows: Sequence[FolderRow]) -> None:
    first = topics.bounds(tx, target.topic, target.name)[1]
    for producer, run in groupby(rows, lambda it: it.producer):
        entries = [it.entry for it in run]
        if producer is None:
            appends.add(tx, target, entries)
        else:
            appends.append_next(tx, target, appends.claim(tx, target.topic, producer), entries)
    topics.set_times(tx, target.topic, first, [it.at_ms for it in rows])


def _with_index(folder: Path) -> tuple[FolderTopic, Iterator[FolderRow]]:
    with (folder / INDEX).open(encoding="utf-8") as lines:
        head = json.loads(next(lines, ""))
    places = [SubscriptionPlace(*it) for it in head["subscriptions"]]
    limits = tuple(head["limits"])
    about = FolderTopic(head["topic"], head["first"], head["producers"], places, Keep(**head["keep"]), limits)
    return about, _rows(folder)


def _rows(folder: Path) -> Iterator[FolderRow]:
    with (folder / INDEX).open(encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            it: dict[str, Any] = json.loads(line)
            body = (folder / "messages" / str(it["id"])).read_bytes()
            key = None if it["key"] is None else base64.b64decode(it["key"])
            entry = Entry(it["seq"] or 0, body, key, headers.encode(it["headers"]))
            yield FolderRow(entry, it["producer"], it["at_ms"])


def _of_document(folder: Path) -> tuple[FolderTopic, Iterator[FolderRow]]:
    """Return a topic of one of the document's servers. Its messages say nothing of their publishers."""
    files = [it for it in (folder / "messages").iterdir() if it.is_file()]
    numbered = all(it.name.isdigit() for it in files)
    files.sort(key=lambda it: (int(it.name), "") if numbered else (it.stat().st_mtime_ns, it.name))
    offsets = {it.name: offset for offset, it in enumerate(files)}
    counters = [line.rsplit(" ", 1) for line in _lines(folder / "publishers")]
    places = []
    for line in _lines(folder / "subscribers"):
        name, *ids = line.split(" ")
        pending = sorted(offsets[it] for it in ids if it in offsets)
        places.append(SubscriptionPlace(unquote(name), 1, 0, [len(files) - 1], pending))
    producers = {unquote(name): int(counter) for name, counter in counters}
    about = FolderTopic(unquote(folder.name), 0, producers, places, Keep(), (None, None))
    rows = (
        FolderRow(Entry(0, it.read_bytes(), None, headers.encode({ID_HEADER: it.name})), None, None) for it in files
    )
    return about, rows


def _lines(path: Path) -> list[str]:
    return [it for it in path.read_text("utf-8").splitlines() if it.strip()] if path.is_file() else []
