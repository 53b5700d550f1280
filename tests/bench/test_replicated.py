"""The benchmark of replicated states, for a moment."""

from __future__ import annotations

import pytest

from gcom.bench.replicated.baselines import BASELINES
from gcom.bench.settings import ReplicatedBenchSetup
from gcom.errors import BadValue, ExtraMissing


@pytest.mark.slow
def test_it_measures_all_of_it() -> None:
    (found,) = ReplicatedBenchSetup(commands=50, replay=1_000, kills=1).measure()
    figures = {"single", "many_ratio", "durable_ms", "durable_many", "replay_s", "failover_ms", "c0_ms"}
    assert figures <= found.row.keys()


def test_a_baseline_that_is_missing_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ExtraMissing, match="etcd is not installed: apt install etcd-server"):
        next(ReplicatedBenchSetup(baseline="etcd").measure())


def test_the_setup_is_checked() -> None:
    with pytest.raises(BadValue, match="commands must be 50 to"):
        ReplicatedBenchSetup(commands=1)
    with pytest.raises(BadValue, match=f"baseline must be one of {', '.join(BASELINES)}; got 'zookeeper'"):
        ReplicatedBenchSetup(baseline="zookeeper")
