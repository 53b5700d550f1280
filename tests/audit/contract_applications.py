"""Logs of what stands on groups that break DELIVERY_LOG.md, each beside the words that it breaks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.audit import states, topic_logs
from tests.audit.contract_logs import breaks
from tests.oracle.build import A, Logs, write

SAYS = (
    "What stands on groups writes records of its own into its process's log, of one position each and of no group. "
    "`of` names it. A log without them is whole: a user may turn them off. The rules below decide as those of groups "
    "do; a name without a case decides nothing.",
    "A *replicated state* places each record by `term`, where it is durable, else by `instance` and `view`.",
    "One in memory lives in an instance, until a `start` at index 0 in a later view: from that view on it is another "
    "life.",
    "with answers",
    "`answered`: `[index, caller, number]` of those that a caller is told of next; of a durable state also "
    "`synced` `{name: index}` as known here, and `replicas`: the number of configured names",
    *("also with answers", "`repeated`: the indexes of `answered` whose command had been applied before"),
    "another state was taken over: `of`, `index`, `last`: the last index that came with it, applied or not, and "
    "`callers` `{caller: number}`: the last command of each that it has",
    "`of`, `term`, `index`: so far this process's disk has synced; so far it is about to tell others that it has",
    "`of`, `index`, `digest` of the state there; every 1,000 commands, in a large state less often",
    "An `apply` with answers reaches the operating system before a caller has one, unless one did less than 1 ms "
    "before. Other lines follow within 100 ms. One `apply` has up to 64 commands. A `read` that repeats the session's "
    "last one is left out. A session's rules are those of its `guarantees`.",
    "a session is about to be answered: `of`, `session`, `written`: the number of its last write, `seen`: the index of "
    "the newest state that it had read, `index` of the state that it reads now, `guarantees`",
    "the same with `number`, and the `index` at which it was applied; `seen` is 0 if the write had been applied before",
    "`of`, `index`, `value`: what the machine's query `invariant` says",
    *("RYW, MR", "MW, WFR", "BANK"),
    "A *topic* is known by the id of its `store` and its name. Its clients are in no group; each open store writes a "
    "log of its own.",
    "`producer`, `seqs`, `digests` (of key, headers and body): the store is about to be asked; the producer is told "
    "that none of them is stored",
    "`producer`, `seqs`, `offsets`: the producer is about to be told; not of what was trimmed",
    "from the store: `offset` of the first, `slots`, `producer` with `seqs` and `digests`; of messages without a "
    'producer "" and none',
    "from the store: `first`, `next`: offsets from the one up to, and without, the other are kept",
    "from the application's database: `sub`, `shard`, `shards`, `first`, `last`: a batch, as committed; and the "
    "inbox's number, `last`",
    "A `put` reaches the operating system before the store is asked, a `receipt` before the caller has it. What comes "
    "from a store or a database is written once its clients have ended. Records have up to 256 messages. A message is "
    "of shard `slot` modulo `shards`.",
    "further fields: `store`, `topic`, and",
    *("DURABLE", "DETERMINISM", *(f"EO-{n}" for n in range(1, 7)), "VACUOUS without a case."),
)
_CLAUSES = {
    "applied another one there": "an index has one command, whoever applied or answered it;",
    "one of the two is gone": "A durable state has one *life*, restarts included.",
    "with a log that ends at 2": (
        "a `start` of a higher term has a `last` no lower than any index answered in a lower one"
    ),
    "does not know it": "of each caller that a `start` names it has what was answered up to its index;",
    "had at index 3 already": (
        "by records with `repeated`, a command is applied once: at one index, above that of a `start` that has it"
    ),
    "no majority": "at an answer a majority of `replicas` has synced it",
    "when its disk had synced 0": "nobody tells more than its disk has synced;",
    "which said 3 at most": "nobody counts more than a `closed` log has told",
    "without its own write at index 5": ("a session's `read` has no lower index than its own write number `written`;"),
    "after it had read one of index 8": "than `seen`, and than earlier reads in the same log",
    "not behind the one before it at index 5": (
        "a session's `write` number has one index, above that of the number before;"
    ),
    "though the session had read a state of index 9": "above `seen`",
    "At index 7 the invariant was -3": "all values of `invariant` are equal",
    "another digest": "digests at one index are equal",
    "took over at index 2 does not know it": "All is compared within one life.",
}
_OF_TOPICS = {
    "had no effect": (
        "a stored message from the first recorded effect of its shard up to the `floor` is in exactly one effect"
    ),
    "behind its sequence 9": "of each producer the sequences rise with the offsets",
    "it is not stored there; the topic ends at 3": "what has a receipt is stored at its offset",
    "another body is stored": "with a digest that was put, or lies before `first`",
    "was told that it is not stored": (
        "what is stored, from a producer's lowest recorded sequence on, was put oftener than aborted"
    ),
    "is at offset 2 and at offset 9": "a sequence of a producer has one offset, in the store and in receipts",
    "was committed after the one that ends with 4": "effects of a shard follow one another without overlap",
}


def _add(words: str, quote: str, damaged: Callable[[str], Logs]) -> None:
    def make(folder: Path) -> None:
        write(folder, damaged(words))

    make.__name__ = words.replace(" ", "_")
    breaks(quote)(make)


for _words, _quote in _CLAUSES.items():
    _add(_words, _quote, states.damaged)
for _words, _quote in _OF_TOPICS.items():
    _add(_words, _quote, topic_logs.damaged)


@breaks(
    "`of`, `index` of the first, `commands`: a CRC-32 of each, with its sender",
    "UNKNOWN where a process with such records has a gap,",
)
def _commands_that_are_no_numbers(folder: Path) -> None:
    logs = states.durable()
    next(it for it in logs[A] if it["type"] == "apply")["commands"] = ["x"]
    write(folder, logs)
