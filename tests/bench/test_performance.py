"""The page of `gcom bench all`, from brief measurements of real processes and from made ones."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gcom.bench.failover.trials import FailoverResult, Kill, Trial
from gcom.bench.idle.cost import IdleSetup
from gcom.bench.latency.turns import LatencySetup
from gcom.bench.performance import page, plots
from gcom.bench.performance.computer import Computer, commit
from gcom.bench.performance.plan import FIFO, SAFE, Findings, PerformancePlan, measure, plan
from gcom.bench.throughput.turns import ThroughputSetup
from gcom.errors import BadValue, Unavailable

MACHINE = Computer("a processor", 2, "a system", "3.11", 0.5, "abc")


@pytest.mark.soak
def test_all_is_measured_and_written(tmp_path: Path) -> None:
    told: list[str] = []
    single = tuple(LatencySetup(kind, 2, 1, 50, 100, 0.3, "pyro") for kind in (FIFO, SAFE))
    flood = ThroughputSetup(FIFO, 2, 1, 100, 0.2, "frames")
    idle = (IdleSetup(FIFO, 2, 2, 1.0),)
    brief = PerformancePlan(single, idle, (flood,), None)
    findings = measure(brief, told.append)
    assert findings.wrong == []
    assert len(told) == len(list(findings.rows())) == 4

    found = replace(findings, failover=(FailoverResult(Kill.LEADER, (Trial(0.1, 0.25),)),))
    written = page.write(tmp_path / "figures.md", found, MACHINE, quick=True)
    text = written[0].read_text("utf-8")
    assert all(
        words in text for words in ("commit abc", "a processor, 2 cores", "TOTAL SAFE", "frames:", "| FIFO | 2 | 2 |")
    )
    assert "| leader | 1 | 250 | 250 | 250 |" in text
    assert "busy" not in text
    assert "busy" in page.page(found, replace(MACHINE, load=3.0), dict.fromkeys(("stages", "floods"), ""), True)
    for path in written[1:]:
        assert f"](pictures/{path.name})" in text
        assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_a_wrong_delivery_and_a_group_that_stood_still_are_told() -> None:
    stuck = FailoverResult(Kill.LEADER, (Trial(None, None),))
    found = Findings((), (), (), (stuck,))
    assert found.wrong == ["1 groups did not go on: leader killed"]


def test_the_quick_plan_measures_the_same_groups_in_less_time() -> None:
    quick, whole = plan(quick=True), plan(quick=False)
    assert [it.kind for it in quick.single] == [it.kind for it in whole.single]
    assert sum(it.seconds for it in quick.single) < 20 < sum(it.seconds for it in whole.single)
    assert (quick.failover, whole.failover is None) == (None, False)


def test_where_it_cannot_be_written_is_said_before_the_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (tmp_path / "page.html", tmp_path / "nowhere" / "page.md"):
        with pytest.raises(BadValue, match=r"NAME\.md"):
            page.refuse(path)
    page.refuse(tmp_path / "page.md")
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(Unavailable, match=r"gcom\[bench\]"):
        plots.require()


def test_the_commit_is_of_a_checkout(tmp_path: Path) -> None:
    assert commit(tmp_path).startswith("version ")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    (tmp_path / "pyproject.toml").write_text("")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "Begin"]):
        subprocess.run([*git, *words], check=True)
    clean = commit(tmp_path)
    assert len(clean) == 10
    (tmp_path / "pyproject.toml").write_text("changed")
    assert commit(tmp_path) == f"{clean} with changes"
