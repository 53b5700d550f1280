"""Which engine judges and why; and the pool of processes, which gives the same report and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from multiprocessing.util import get_temp_dir
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

import pytest

from gcom.audit.explain.result import result_of
from gcom.audit.input.catalogue import catalogue
from gcom.audit.input.reading import list_segments
from gcom.audit.plan.cache import IncrementalCache
from gcom.audit.plan.engine import TaskRow
from gcom.audit.plan.pool import ProcessPool
from gcom.audit.plan.run import run
from gcom.audit.spark import session
from gcom.cli.audits import judging
from gcom.cli.audits.judging import POOL_BYTES, SPARK_BYTES, Judging
from gcom.errors import AuditUnavailable
from tests.audit.cases import flatten, make
from tests.audit.lives import broken, write_lives
from tests.audit.test_mutations import healthy
from tests.cases import daily_and_rest
from tests.runtime.nodes import until

STATE = Path("state")


@pytest.mark.parametrize(
    ("how", "log_bytes", "processors", "engine", "why"),
    [
        (Judging(), 0, 2, "here", "less than 128 MB to read"),
        (Judging(), POOL_BYTES - 1, 2, "here", "less than 128 MB to read"),
        (Judging(), POOL_BYTES, 1, "here", "this machine has one processor"),
        (Judging(), POOL_BYTES, 2, "pool", "128 MB or more to read, and 2 processors"),
        (Judging(), SPARK_BYTES, 2, "spark", "the logs have"),
        (Judging(incremental=STATE), 0, 2, "here", "nothing is new since the last time"),
        (Judging(incremental=STATE, spark=True), 0, 2, "here", "nothing is new since the last time"),
        (Judging(spark=True), 0, 2, "spark", "--spark asks for it"),
        (Judging(master="local[1]"), 0, 2, "spark", "--master asks for it"),
        (Judging(remote="sc://localhost"), 0, 2, "spark", "--remote asks for it"),
    ],
)
def test_what_is_judged_where_and_why(
    how: Judging, log_bytes: int, processors: int, engine: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "is_installed", lambda: True)
    choice = how.choose(log_bytes, processors)
    assert choice.engine == engine
    assert choice.why.startswith(why)
    assert choice.told("local[*]").endswith(choice.why)


def test_without_spark_large_logs_are_judged_by_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "is_installed", lambda: False)
    assert Judging().choose(SPARK_BYTES, 2).engine == "pool"


def test_what_spark_submit_runs_is_judged_by_the_spark_that_it_gave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert Judging().choose(0, 2).engine == "spark"


def test_it_is_said_in_one_line_and_spark_does_not_start_where_nothing_is_new(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = catalogue(list_segments([str(broken(tmp_path / "logs"))]))
    size = sum(found.sizes.values())
    judging.judged(found, Judging(incremental=tmp_path / "state"))
    told = f"gcom: 4 segments, {size:,} bytes to read: judged in this process: less than 128 MB to read\n"
    assert capfd.readouterr().err == told
    monkeypatch.setattr(session, "open_session", lambda *_: pytest.fail("Spark was started"))
    judging.judged(found, Judging(incremental=tmp_path / "state", spark=True))
    told = "gcom: 4 segments, 0 bytes to read: judged in this process: nothing is new since the last time\n"
    assert capfd.readouterr().err == told
    assert IncrementalCache(tmp_path / "state").seeds


@pytest.mark.slow
@pytest.mark.parametrize("first", daily_and_rest(range(7400, 7424, 8), 1))
def test_the_pool_gives_the_same_report(first: int, tmp_path: Path) -> None:
    """Of groups from the corpus and of others, damaged; in chains of whole logs, and of single segments."""
    cases = [tmp_path / str(seed) for seed in range(first, first + 8)]
    for seed, case in enumerate(cases, first):
        make(case, seed)
    flatten(cases, tmp_path / "logs")
    found = catalogue(list_segments([str(tmp_path / "logs")]))
    for chain_bytes in (None, 1):
        here, there = (run(found, chain_bytes, engine=engine, all_rules=True) for engine in (None, ProcessPool(2)))
        assert result_of(here).as_json() == result_of(there).as_json()


def _without_serials(folder: Path) -> Path:
    """A total order that only the messages themselves can show."""
    lives = healthy("TOTAL")
    for life in lives.values():
        for record in life.records:
            record.pop("serial", None)
            record.pop("base_serial", None)
    return write_lives(folder, lives)


def test_the_pool_reads_messages_again_and_leaves_no_process_and_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psutil

    get_temp_dir()  # of the processes' own sockets, whose paths must be short
    found = catalogue(list_segments([str(_without_serials(tmp_path / "logs"))]))
    told: list[tuple[int, int]] = []
    # A short path, or no fork server can listen there.
    with TemporaryDirectory() as scratch:
        monkeypatch.setattr("tempfile.tempdir", scratch)
        outcome = run(found, engine=ProcessPool(2, lambda *of: told.append(of)), all_rules=True)
        assert result_of(outcome).as_json() == result_of(run(found, all_rules=True)).as_json()
        assert (4, 4) in told
        assert list(Path(scratch).glob("gcom-audit-*")) == []
    # What makes processes stays for the next pool; of its own it has none.
    # By their parents' numbers: `children` compares times of start as well, which a change of the clock falsifies.
    running = [each.info for each in psutil.process_iter(["pid", "ppid", "cmdline"])]
    ours = [each for each in running if each["ppid"] == os.getpid()]
    makers = {each["pid"] for each in ours if "forkserver" in " ".join(each["cmdline"] or ())}
    assert makers
    assert not makers & {each["ppid"] for each in running}


def killed(_item: object) -> Iterable[TaskRow]:
    os.kill(os.getpid(), signal.SIGKILL)
    return ()


def waiting(folder: str) -> Iterable[TaskRow]:
    """Tell which process this is, and go on for longer than any test."""
    Path(folder, str(os.getpid())).touch()
    Event().wait(600)
    return ()


def nothing(item: int) -> tuple[TaskRow, ...]:  # noqa: ARG001 - a task has an item
    return ()


def test_a_process_that_is_killed_is_an_audit_that_could_not_run() -> None:
    pool = ProcessPool(2)
    try:
        with pytest.raises(AuditUnavailable, match="a process of the audit was killed"):
            pool.spread([1, 2, 3], killed)
    finally:
        pool.release()


def test_a_long_folder_of_temporary_files_is_no_hindrance(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 25)
    folder.mkdir()
    code = "from gcom.audit.plan.pool import ProcessPool; from tests.audit.test_engines import nothing; "
    code += "pool = ProcessPool(2); print(pool.spread([1, 2], nothing)); pool.release()"
    env = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_processes_end_with_their_driver_however_that_ends(number: signal.Signals, tmp_path: Path) -> None:
    import psutil

    code = "from gcom.audit.plan.pool import ProcessPool; from tests.audit.test_engines import waiting; import sys; "
    code += "ProcessPool(2).spread([sys.argv[1]] * 2, waiting)"
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stderr=subprocess.DEVNULL) as driver:
        until(lambda: len(list(tmp_path.iterdir())) == 2, "both processes work")
        workers = [psutil.Process(int(path.name)) for path in tmp_path.iterdir()]
        driver.send_signal(number)
        driver.wait()
    _, alive = psutil.wait_procs(workers, timeout=60)
    for each in alive:
        each.kill()
    assert alive == []
