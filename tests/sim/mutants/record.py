"""Record the seed that catches each mutant, for tests that replay it: `make seeds`.

A recorded seed that still catches its mutant stays; for any other the mutant is hunted. With names as arguments only
these are hunted, anew, and of the others the record stays as it is. Status 1: one escapes.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import process_time

from tests.sim.mutants import MUTANTS, Catch, replay
from tests.sim.mutants.lost import is_told_apart
from tests.sim.mutants.table import RECORD, recorded

CATCHES = 5  # a broken group may talk for ever: of one mutant the first catch took 14 s, and the second one 1 s


def cheapest(name: str) -> Catch:
    """Hunt a mutant, and return the one of its first catches that takes the least processor time."""
    found = MUTANTS[name]
    caught: list[tuple[float, Catch]] = []
    tried = 0
    for tried, seed in enumerate(found.seeds(), 1):
        began = process_time()
        # Where the table of lost.py speaks of it, by the words that the table expects.
        if (said := found.caught_by(seed)) and is_told_apart(name, said):
            caught.append((process_time() - began, Catch(name, tried, seed, said)))
        if len(caught) == CATCHES:
            break
    return min(caught, key=lambda each: each[0])[1] if caught else Catch(name, tried)


def renew(name: str) -> Catch:
    """Replay the recorded seed of a mutant, or hunt the mutant."""
    catch = replay(name)
    return catch if catch.said and is_told_apart(name, catch.said) else cheapest(name)


def write(catches: list[Catch]) -> None:
    """Record these anew; a mutant that escaped, or is no more, is not in it."""
    looked_at = {catch.name for catch in catches}
    seeds = {name: seed for name, seed in recorded().items() if name in MUTANTS and name not in looked_at}
    seeds |= {catch.name: catch.seed for catch in catches if catch.said}
    fresh = RECORD.with_suffix(".new")  # at once: the processes that hunt read it, too
    fresh.write_text(json.dumps(seeds, indent=2, sort_keys=True) + "\n")
    fresh.replace(RECORD)


def main() -> int:
    """Record all seeds, or those of some, and print what became of each mutant; return the exit status."""
    before = recorded()
    names = sys.argv[1:]
    catches = []
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for catch in pool.map(cheapest, names) if names else pool.map(renew, MUTANTS):
            changed = "" if before.get(catch.name) == catch.seed else "  NEW"
            print(f"{catch.row()}{changed}", flush=True)
            catches.append(catch)
            write(catches)  # after each: a hunt takes minutes, and who ends it keeps what was found
    return 0 if all(catch.said for catch in catches) else 1


if __name__ == "__main__":
    raise SystemExit(main())
