"""Counts in the singular and the plural, and refusals without the words of a library."""

from __future__ import annotations

import pytest

from gcom.cli import app
from gcom.cli.wording import many, plural
from gcom.sim.plan.events import Fault, Move


@pytest.mark.parametrize(
    ("count", "one", "said"),
    [
        (1, "segment", "1 segment"),
        (0, "segment", "0 segments"),
        (41, "broken call", "41 broken calls"),
        (1, "broken call", "1 broken call"),
        (2, "crash between effects", "2 crashes between effects"),
        (3, "pause over a call", "3 pauses over a call"),
        (2, "echo of an earlier view", "2 echos of an earlier view"),
        (1_000, "delivery", "1,000 deliveries"),
        (2, "process", "2 processes"),
    ],
)
def test_a_count_agrees_with_its_noun(count: int, one: str, said: str) -> None:
    assert many(count, one) == said


def test_everything_that_a_run_counts_has_a_plural() -> None:
    names = [each.value for each in (*Fault, *Move)]
    assert len({plural(name) for name in names} | set(names)) == 2 * len(names)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("bench throughput --size a", "--size 'a' is no whole number"),
        ("bench throughput --seconds x", "--seconds 'x' is no number"),
        ("sim --seed 1 --jobs 1.5", "--jobs '1.5' is no whole number"),
        ("sim --seed 1 --jobs 0", "--jobs 0 is less than 1"),
        ("join news --name bob --wait 0", "--wait 0 is less than 1"),
        ("join news --name bob --wait many", "--wait 'many' is no whole number"),
    ],
)
def test_a_wrong_value_is_refused_in_plain_words(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(words.split()) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "--help)" in told
    assert "Input" not in told
    assert "valid" not in told
