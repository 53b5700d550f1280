"""Logs of a topic, made by hand: a sound one, and each damage that a rule is there to find."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from tests.oracle.build import Logs, Record

P, Q, DUMP = "p#1", "q#1", "dump#1"


def of(kind: str, **fields: Any) -> Record:
    return {"type": kind, "store": "st", "topic": "orders", **fields}


def of_producer(kind: str, *seqs: int, **more: Any) -> Record:
    digests = {} if kind == "receipt" else {"digests": [100 + seq for seq in seqs]}
    return of(kind, producer="p", seqs=list(seqs), **digests, **more)


def sound() -> Logs:
    """A producer in two processes; offsets 0 and 1 are trimmed; sequence 7 was refused, and 8 has no receipt."""
    effect = {"sub": "bill", "shard": 0, "shards": 1}
    return {
        P: [
            of_producer("put", 1, 2, 3),
            of_producer("receipt", 1, 2, 3, offsets=[0, 1, 2]),
            of_producer("put", 7),
            of_producer("abort", 7),
            of_producer("put", 4),
        ],
        Q: [of_producer("put", 4), of_producer("receipt", 4, offsets=[3]), of_producer("put", 8)],
        DUMP: [
            of_producer("stored", 3, 4, offset=2, slots=[2, 3]),
            of("stored", producer="", offset=4, slots=[4], seqs=[], digests=[]),
            of_producer("stored", 8, offset=5, slots=[5]),
            of("bounds", first=2, next=6),
            of("effect", **effect, first=0, last=3),
            of("effect", **effect, first=4, last=4),
            of("floor", **effect, last=4),
        ],
    }


def _change(who: str, nth: int, **fields: Any) -> Callable[[Logs], None]:
    return lambda logs: logs[who][nth].update(fields)


# By the rule that finds it, and the words of its sentence.
DAMAGES: dict[str, tuple[str, Callable[[Logs], None]]] = {
    "had no effect": ("EO-1", _change(DUMP, 4, last=2)),
    "had 2 effects": ("EO-1", _change(DUMP, 5, first=3)),
    "behind its sequence 9": ("EO-2", _change(DUMP, 0, seqs=[9, 4])),
    "it is not stored there; the topic ends at 3": ("EO-3", lambda logs: _cut(logs)),
    "another body is stored": ("EO-3", _change(DUMP, 0, digests=[103, 999])),
    "was told that it is not stored": ("EO-4", _change(DUMP, 2, seqs=[7], digests=[107])),
    "which no producer sent with that body": ("EO-4", lambda logs: logs[Q].pop()),  # type: ignore[dict-item]
    "is at offset 2 and at offset 9": ("EO-5", _change(P, 1, offsets=[0, 1, 9])),
    "was committed after the one that ends with 4": ("EO-6", lambda logs: logs[DUMP].insert(4, logs[DUMP].pop(5))),
}


def _cut(logs: Logs) -> None:
    """A store from an old copy: it ends before what was answered."""
    logs[DUMP][0] |= {"seqs": [3], "digests": [103], "slots": [2]}
    del logs[DUMP][1:3]
    logs[DUMP][1] |= {"next": 3}


def damaged(words: str) -> Logs:
    logs = copy.deepcopy(sound())
    DAMAGES[words][1](logs)
    return logs
