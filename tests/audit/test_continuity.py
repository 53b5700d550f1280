"""CONTINUITY: the stories, what the contract's words leave open (decision 0005), and the audit against the oracle."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcom.audit.judging import verdict_of
from tests.audit.here import audit
from tests.audit.lineages import STORIES, Told
from tests.oracle import judge
from tests.oracle.build import write

WORST = ("FAIL", "UNKNOWN", "PASS", "VACUOUS")


def verdicts(folder: Path, told: Told) -> tuple[str, str]:
    """What the audit and the oracle say of the name: the worst of its instances."""
    write(folder, told.logs, told.endings)
    ours = {verdict_of(each.tallies["CONTINUITY"]) for each in audit(folder).judgements}
    theirs = {report.tallies["CONTINUITY"].verdict for report in judge(folder).groups.values()}
    first, second = (next(verdict for verdict in WORST if verdict in found) for found in (ours, theirs))
    return first, second


@pytest.mark.parametrize("story", STORIES)
def test_a_story_is_told_apart_from_what_should_have_happened(story: str, tmp_path: Path) -> None:
    told = STORIES[story]()
    assert verdicts(tmp_path, told) == (told.verdict, told.verdict)
