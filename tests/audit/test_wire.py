"""The columns between two stages of the job come out as they went in, and nothing else comes out."""

from __future__ import annotations

from pathlib import Path

import msgpack
import pytest

from gcom.audit.input.catalogue import Chain, catalogue
from gcom.audit.input.reading import list_segments
from gcom.audit.plan.wire import pack, unpack
from gcom.audit.scan.chain import scan
from gcom.audit.summary.excerpts import MessageRequest
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.messages import MessageRecorder
from tests.audit.cases import make
from tests.audit.here import SEEDS, audit


@pytest.mark.parametrize("seed", [1, 2, 3, 20])
def test_what_comes_out_is_what_went_in(seed: int, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    make(folder, seed, damaged=False)
    for process, paths in catalogue(list_segments([str(folder)])).paths.items():
        chain = Chain(process, tuple(paths))
        keys, _, _ = scan(chain, SEEDS)
        requests = [
            MessageRequest("TOTAL", delivered={process: {process: Intervals([(1, 5)])}}),
            MessageRequest("CAUSAL"),
        ]
        recorders = {key: MessageRecorder(process, requests) for key in keys}
        summaries, _, of_chain = scan(chain, SEEDS, recorders)
        for each in (of_chain, *summaries.values(), *requests):
            assert pack(unpack(pack(each))) == pack(each)
        excerpts = [excerpt for recorder in recorders.values() for *_, excerpt in recorder.placed]
        assert excerpts
        for excerpt in excerpts:
            assert pack(unpack(pack(excerpt))) == pack(excerpt)
    for judgement in audit(folder).judgements:
        assert pack(unpack(pack(judgement))) == pack(judgement)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        msgpack.packb(msgpack.ExtType(2, msgpack.packb(["Popen", ["ls"]]))),
        msgpack.packb(msgpack.ExtType(2, msgpack.packb(["Tally", [0] * 100]))),
        msgpack.packb(msgpack.ExtType(99, b"\xc0")),
    ],
)
def test_what_the_audit_did_not_write_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not what the audit wrote"):
        unpack(data)
