"""What a name loses between two instances is seen in the logs alone, as the simulator sees it at its applications.

Each mutant of which CONTINUITY tells is replayed with that check muted, so that the run goes on to its end, and its
logs are whole: of a run that stops in the middle no log is closed, and nobody has come back.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gcom.audit.explain.result import result_of
from gcom.audit.rules.judgement import verdict_of
from gcom.sim.checkers import Violation
from gcom.sim.checks.continuity import Continuity
from gcom.sim.world import World
from tests.audit.here import audit
from tests.cases import daily_and_rest
from tests.oracle import judge
from tests.sim.mutants import MUTANTS
from tests.sim.mutants.lost import LOST
from tests.sim.mutants.table import recorded

QUICK = "one_survivor_need_not_promise"
DAILY = 6  # more of them; that the simulator sees each, tests/sim/test_mutants.py shows


def _check(name: str, folder: Path) -> None:
    lost: list[Violation] = []
    on_given = Continuity.on_given

    def note(self: Continuity, *given: Any) -> None:
        try:
            on_given(self, *given)
        except Violation as violation:
            lost.append(violation)

    mutant = MUTANTS[name]
    with pytest.MonkeyPatch.context() as patch:
        mutant.mutate(patch)
        patch.setattr(Continuity, "on_given", note)
        World(mutant.plan(recorded()[name]), folder).run()
    assert lost, "the run shows nothing to be found"
    outcome, report = audit(folder), judge(folder)
    assert result_of(outcome).verdict == report.verdict == LOST[name]
    tallies = {each.key: verdict_of(each.tallies["CONTINUITY"]) for each in outcome.judgements}
    assert LOST[name] in tallies.values()
    assert tallies == {key: group.tallies["CONTINUITY"].verdict for key, group in report.groups.items()}


def test_a_loss_is_seen_in_the_logs(tmp_path: Path) -> None:
    _check(QUICK, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", daily_and_rest(sorted({*LOST} - {QUICK}), DAILY))
def test_another_loss_is_seen_in_the_logs(name: str, tmp_path: Path) -> None:
    _check(name, tmp_path)
