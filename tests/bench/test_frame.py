"""The frame of all benches: settings, turns, figures, tables, and the command that shows a result."""

from __future__ import annotations

import json

import pytest

from gcom.bench.frame import BenchResult, Figure, Setup, figure_fields, filled, in_turns, joined, median_ratio
from gcom.bench.settings import BENCHES, FailoverSetup, IdleSetup, ThroughputSetup
from gcom.cli import app
from gcom.errors import BadValue


def test_a_choice_is_taken_in_any_case_and_kept_as_it_is_listed() -> None:
    setup = ThroughputSetup(ordering="fifo", baseline="TCP")
    assert (setup.ordering, setup.baseline) == ("FIFO", "tcp")
    with pytest.raises(BadValue, match=r"ordering must be one of NONORDERED, .*; got 'sideways'"):
        ThroughputSetup(ordering="sideways")


def test_a_bound_says_its_reason_and_promises_have_to_go_together() -> None:
    with pytest.raises(BadValue, match=r"members must be 3 to .*, the rest must be a majority; got 2"):
        FailoverSetup(members=2)
    for kind in (IdleSetup, FailoverSetup):
        with pytest.raises(BadValue, match="safe delivery needs RELIABLE"):
            kind(multicast="BASIC", safe=True)


@pytest.mark.parametrize("kind", [kind for kind in BENCHES if kind.command != "all"])
def test_a_setup_is_made_again_from_its_plain_values(kind: type[Setup]) -> None:
    setup = kind()
    assert kind(**json.loads(json.dumps(setup.plain()))) == setup
    assert setup.row()["type"] == kind.command


def test_sides_take_turns_and_are_compared_turn_by_turn() -> None:
    values = iter([2.0, 8.0, 1.0, 1.0, 3.0, 3.0])
    told: list[str] = []
    found = in_turns(3, {"bare": lambda: next(values), "ours": lambda: next(values)}, told.append)
    assert found == {"bare": [2.0, 1.0, 3.0], "ours": [8.0, 1.0, 3.0]}
    assert told[:3] == ["turn 1 of 3: bare", "turn 1 of 3: ours", "turn 2 of 3: bare"]
    assert median_ratio(found["ours"], found["bare"]) == 1.0


def test_a_figure_is_judged_by_its_direction() -> None:
    figures = [Figure("rate", "rate", 5.0, 5.0, least=True), Figure("time", "time", 5.1234, 5.0)]
    assert [it.cells()[-1] for it in figures] == ["ok", "short"]
    assert figure_fields(figures) == {"rate": 5.0, "time": 5.123, "to_reach": {"rate": 5.0, "time": 5.0}, "met": False}
    assert Figure("out", "out", None, 5.0).cells() == ("out", "never", "5", "short")


def test_tables_of_one_title_are_one_table() -> None:
    columns = {"": "{name}", "p50 ms": "{ages[p50]:.1f}"}
    tables = [filled("Ages", columns, [{"name": name, "ages": {"p50": 1.25}}]) for name in ("a", "b")]
    (table,) = joined(tables)
    assert table.markdown() == "|  | p50 ms |\n| --- | ---: |\n| a | 1.2 |\n| b | 1.2 |"


def test_a_result_is_shown_and_what_is_wrong_is_the_exit_status(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = BenchResult({"met": True}, [filled("Title", {"": "{name}"}, [{"name": "cell"}])], ["a fault"], ["a note"])
    monkeypatch.setattr(IdleSetup, "measure", lambda _self, _tell: iter([result]))
    assert app.run(["bench", "idle", "--json"]) == 1
    shown = capfd.readouterr()
    assert (shown.out, shown.err) == ('{"met":true}\n', "gcom: a note\ngcom: wrong: a fault\n")
    monkeypatch.setattr(IdleSetup, "measure", lambda _self, _tell: iter([result._replace(wrong=())]))
    assert app.run(["bench", "idle"]) == 0
    assert "cell" in capfd.readouterr().out
