"""Logs of what stands on groups that break DELIVERY_LOG.md, each beside the words that it breaks."""

from __future__ import annotations

from pathlib import Path

from tests.audit import states
from tests.audit.contract_logs import breaks
from tests.oracle.build import A, write

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
    "another state was taken over: `of`, `index`, `last`: the last index that came with it, applied or not, and "
    "`callers` `{caller: number}`: the last command of each that it has",
    "`of`, `term`, `index`: so far this process's disk has synced; so far it is about to tell others that it has",
    "`of`, `index`, `digest` of the state there; every 1,000 commands, in a large state less often",
    "An `apply` with answers reaches the operating system before a caller has one; other lines within 100 ms. One "
    "`apply` has up to 64 commands.",
    *("DURABLE", "DETERMINISM", "VACUOUS without a case."),
)
_CLAUSES = {
    "applied another one there": "an index has one command, whoever applied or answered it;",
    "one of the two is gone": "A durable state has one *life*, restarts included.",
    "with a log that ends at 2": (
        "a `start` of a higher term has a `last` no lower than any index answered in a lower one"
    ),
    "does not know it": "of each caller that a `start` names it has what was answered up to its index;",
    "no majority": "at an answer a majority of `replicas` has synced it",
    "when its disk had synced 0": "nobody tells more than its disk has synced;",
    "which said 3 at most": "nobody counts more than a `closed` log has told",
    "another digest": "digests at one index are equal",
    "took over at index 2 does not know it": "All is compared within one life.",
}


def _add(words: str, quote: str) -> None:
    def make(folder: Path) -> None:
        write(folder, states.damaged(words))

    make.__name__ = words.replace(" ", "_")
    breaks(quote)(make)


for _words, _quote in _CLAUSES.items():
    _add(_words, _quote)


@breaks(
    "`of`, `index` of the first, `commands`: a CRC-32 of each, with its sender",
    "UNKNOWN where a process with such records has a gap,",
)
def _commands_that_are_no_numbers(folder: Path) -> None:
    logs = states.durable()
    next(it for it in logs[A] if it["type"] == "apply")["commands"] = ["x"]
    write(folder, logs)
