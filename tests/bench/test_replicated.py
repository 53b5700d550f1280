"""The benchmark of replicated states, for a moment."""

from __future__ import annotations

import pytest

from gcom.bench.replicated import baselines
from gcom.bench.replicated.measuring import ReplicatedBenchSetup, measure
from gcom.errors import BadValue, ExtraMissing


@pytest.mark.slow
def test_it_measures_all_of_it() -> None:
    told = list[str]()
    row = measure(ReplicatedBenchSetup(50, 1_000, 1), told.append).row()
    assert {"single", "many_ratio", "durable_ms", "durable_many", "replay_s", "failover_ms", "c0_ms"} <= row.keys()
    assert len(told) == 10


def test_a_baseline_that_is_missing_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ExtraMissing, match="etcd is not installed: apt install etcd-server"):
        measure(ReplicatedBenchSetup(baseline="etcd"), print)


def test_the_setup_is_checked() -> None:
    with pytest.raises(BadValue, match="commands must be 50 to"):
        ReplicatedBenchSetup(1)
    with pytest.raises(BadValue, match=f"baseline must be one of {', '.join(baselines.BASELINES)}; got 'zookeeper'"):
        ReplicatedBenchSetup(baseline="zookeeper")
