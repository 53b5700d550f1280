"""Mutated inputs to every decoder: each is taken or refused in our words, and nothing grows.

10^5 in `make test`, the same ones each time; 10^7 in `make soak`, of fresh seeds.
"""

from __future__ import annotations

import gc
import random
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gcom.core.messages.frames import Frame
from tests.runtime.mutations import Target, mutated, refusals, targets

TEST_INPUTS = 100_000
SOAK_INPUTS = 10_000_000
SOAK_PARTS = 20
# Of the process, from the first tenth of the inputs to the last: large runs spread over the heap until it is 30 MiB
# more, and then it stands (128 MiB after 300,000 inputs as after 90,000).
GROWTH_BYTES_MAX = 48 * 1024 * 1024
PEAK_BYTES_MAX = 8 * 1024 * 1024  # of one input, which has a few kilobytes
MEASURED = 200  # each so manieth input is decoded with its memory measured, which makes it slow


def resident_bytes() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def attempt(target: Target, data: bytes) -> bool:
    """Decode an input; tell whether it was taken. What was taken must come back as it is, once encoded."""
    try:
        value = target.decode(data)
    except refusals():
        return False
    if target.encode is not None:
        again = target.decode(target.encode(value))
        assert _shown(again) == _shown(value), "it is another once it was encoded"
    return True


def _shown(value: Any) -> str:
    """Return a value's text, in which a view of bytes says what they are, not where."""
    if isinstance(value, Frame):
        value = value._replace(runs=tuple(replace(run, encoded=bytes(run.encoded)) for run in value.runs))
    return repr(value)


def measured(target: Target, data: bytes) -> bool:
    tracemalloc.start()
    try:
        taken = attempt(target, data)
        assert tracemalloc.get_traced_memory()[1] < PEAK_BYTES_MAX, f"{len(data)} bytes made it grow"
    finally:
        tracemalloc.stop()
    return taken


def sweep(seed: int, count: int) -> dict[str, int]:
    """Feed so many inputs; return how many of each decoder's were taken."""
    found = [target for target in targets() for _ in range(target.share)]
    chance, taken = random.Random(seed), dict.fromkeys((it.name for it in found), 0)
    before = 0
    for number in range(count):
        if number == count // 10:
            before = resident_bytes()
        target = found[number % len(found)]
        data = mutated(chance, target.valid)
        try:
            taken[target.name] += (measured if number % MEASURED == 0 else attempt)(target, data)
        except Exception as error:  # of whatever kind: the input is what is needed
            pytest.fail(f"{target.name}, input {number} of seed {seed}: {type(error).__name__}: {error}: {data.hex()}")
    assert resident_bytes() - before < GROWTH_BYTES_MAX
    return taken


@pytest.mark.slow
def test_what_is_mutated_was_valid() -> None:
    # One test for all: to draw the inputs takes longer than a case, and each worker would while it collects.
    assert [it.name for it in targets() if not all(attempt(it, data) for data in it.valid)] == []


@pytest.mark.slow
def test_mutated_inputs_are_taken_or_refused() -> None:
    taken = sweep(1, TEST_INPUTS)
    assert all(0 < count < TEST_INPUTS / 5 for count in taken.values()), taken


@pytest.mark.soak
@pytest.mark.parametrize("part", range(SOAK_PARTS))
def test_many_mutated_inputs(part: int, pytestconfig: pytest.Config) -> None:
    sweep(pytestconfig.option.fresh + part, SOAK_INPUTS // SOAK_PARTS)
