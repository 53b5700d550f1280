"""The page of `gcom bench all`, from brief measurements of real processes and from made ones."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gcom.bench.failover.trials import Trial, result
from gcom.bench.frame import Setup
from gcom.bench.performance import page
from gcom.bench.performance.computer import Computer, commit
from gcom.bench.performance.plan import plan
from gcom.bench.performance.plots import Findings
from gcom.bench.settings import EverythingSetup, FailoverSetup, IdleSetup, LatencySetup, ThroughputSetup
from gcom.errors import BadValue

MACHINE = Computer("a processor", 2, "a system", "3.11", 0.5, "abc")


@pytest.mark.soak
def test_all_is_measured_and_written(tmp_path: Path) -> None:
    single = LatencySetup(members=2, rate=50, seconds=0.3, baseline="pyro")
    setups: dict[str, list[Setup]] = {
        "single": [single, replace(single, ordering="TOTAL", safe=True)],
        "idle": [IdleSetup(members=2, groups=2, seconds=1.0)],
        "floods": [ThroughputSetup(members=2, senders=1, seconds=0.2, baseline="frames")],
        "sessions": [],
    }
    found: Findings = {name: [(it, next(it.measure())) for it in measured] for name, measured in setups.items()}
    kill = FailoverSetup(kill="leader")
    found["failover"] = [(kill, result(kill, "leader", [Trial(0.1, 0.25)]))]
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


def test_the_quick_plan_measures_the_same_groups_in_less_time() -> None:
    quick, whole = plan(quick=True), plan(quick=False)
    assert [type(it) for it in quick["single"]] == [type(it) for it in whole["single"]]
    seconds = [sum(it.plain()["seconds"] for it in each["single"]) for each in (quick, whole)]
    assert seconds[0] < 20 < seconds[1]
    assert not quick["failover"]
    assert whole["failover"]


def test_where_it_cannot_be_written_is_said_before_the_measurement(tmp_path: Path) -> None:
    for path in (tmp_path / "page.html", tmp_path / "nowhere" / "page.md"):
        with pytest.raises(BadValue, match=r"NAME\.md"):
            EverythingSetup(out=path)
    assert EverythingSetup(out=tmp_path / "page.md").needs() == (("bench", "psutil", "matplotlib"),)


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
