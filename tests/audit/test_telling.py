"""The output of `gcom audit`, without Spark: legends, names of files, what compaction saved, exit statuses."""

from __future__ import annotations

import os
import signal
from contextlib import nullcontext
from pathlib import Path
from threading import Event

import pytest

from gcom.audit.input.catalogue import catalogue
from gcom.audit.input.reading import list_segments
from gcom.audit.spark import job, progress, session
from gcom.cli.audits import judging, verdict_tables, verdicts
from gcom.cli.audits.judging import Judging
from gcom.cli.audits.verdicts import Outputs, compact_logs, import_log
from gcom.cli.output import Output
from gcom.cli.signals import SIGNALLED, SIGNALS, Interrupted, Signals
from gcom.errors import AuditUnavailable
from tests.audit.lives import Group, broken
from tests.oracle.build import A, Record, deliver, send, view, write


def _audit(folder: Path, outputs: Outputs | None = None, *, spark: bool = False, **how_much: bool) -> int:
    how, into = Judging(spark=spark), outputs or Outputs()
    return verdicts.audit([str(folder)], how, into, allow_unknown=False, **how_much)


def _many_groups(folder: Path, count: int) -> Path:
    """One member, alone in each; the second breaks a promise."""
    records: list[Record] = []
    for index in range(count):
        name = {"group": f"g{index:04}"}
        records += [view(1, A, ordering="FIFO", multicast="BASIC") | name, send(1, 1, {}) | name]
        records.append(deliver(1, A, 1 + (index == 1)) | name)
    return write(folder, {A: records})


def test_of_many_small_groups_that_pass_a_line_each_is_printed_and_of_most_only_their_number(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert _audit(_many_groups(tmp_path, 100)) == 1
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) < 40
    assert lines[1].split()[:4] == ["g0001", "FAIL", "FIFO", "BASIC"]
    assert lines[2].split() == ["g0000", "PASS", "FIFO", "BASIC", "1", "delivery", "7", "held"]
    assert "and 80 more groups: 80 PASS; --verbose shows all" in lines
    assert _audit(tmp_path, verbose=True) == 1
    assert len(capfd.readouterr().out.splitlines()) > 800


def test_quiet_prints_a_pass_in_one_line_and_a_violation_in_full(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert _audit(broken(tmp_path / "right"), quiet=True) == 0
    (line,) = capfd.readouterr().out.splitlines()
    assert line.startswith("PASS: ")
    assert _audit(broken(tmp_path / "wrong", "CLOCK"), quiet=True) == 1
    assert "CLOCK" in capfd.readouterr().out.splitlines()[1]


def test_violated_rules_come_first(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert _audit(broken(tmp_path, "CLOCK"), verbose=True) == 1
    lines = capfd.readouterr().out.splitlines()
    assert lines[1].split()[:6] == ["news", "FAIL", "CAUSALTOTAL", "RELIABLE", "300", "deliveries"]
    table = next(at for at, line in enumerate(lines) if line.split()[:2] == ["rule", "verdict"])
    assert lines[table + 1].split()[:2] == ["CLOCK", "FAIL"]


def test_a_rule_without_case_says_what_that_is(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    alone = broken(tmp_path, group=Group([["bob"]], 5))
    assert _audit(alone, verbose=True) == 0
    rows = [line.strip().split(maxsplit=4) for line in capfd.readouterr().out.splitlines()]
    vacuous = [row for row in rows if row[1:2] == ["-"]]
    assert vacuous
    assert all(row[4] == "no case: nothing happened that it is about" for row in vacuous)


@pytest.mark.parametrize("option", ["json", "junit", "report"])
def test_a_file_that_cannot_be_written_is_named(option: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert _audit(broken(tmp_path), Outputs(**{option: "/dev/full"})) == 3
    assert "gcom: /dev/full: No space left on device" in capfd.readouterr().err


@pytest.mark.parametrize(("rules", "status"), [((), 0), (("CLOCK",), 1)])
def test_a_reader_that_has_gone_changes_no_exit_status(
    rules: tuple[str, ...],
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """As `head -1` does; and what else was asked for is written."""
    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr(verdict_tables, "Output", lambda: Output(writing))
    found = tmp_path / "audit.json"
    assert _audit(broken(tmp_path / "logs", *rules), Outputs(json=str(found))) == status
    os.close(writing)
    assert found.exists()
    assert capfd.readouterr().out == ""


def test_what_a_damage_caused_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert _audit(broken(tmp_path, "NO_DUPLICATION")) == 1
    told = " ".join(capfd.readouterr().out.split())
    assert "(1 incident; " in told
    assert "This also breaks SERIAL_CONTIGUOUS, TOTAL_GAP_FREE." in told


def test_compaction_says_what_it_saved(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    names = [["alice", "bob"]]
    broken(tmp_path / "small", group=Group(names, 1))
    broken(tmp_path / "large", group=Group(names, 3_000))
    assert compact_logs([str(tmp_path / "small")], tmp_path / "1") == 0
    assert "times the space, as each file has a head of its own" in capfd.readouterr().out
    assert compact_logs([str(tmp_path / "large")], tmp_path / "2") == 0
    told = capfd.readouterr().out
    before, after = (sum(map(int, _sizes(tmp_path / name))) for name in ("large", "2"))
    assert (
        told
        == f"2 segments, {before:,} bytes, now {after:,} bytes in {tmp_path / '2'}: {after / before:.0%} of the space\n"
    )
    assert compact_logs([str(tmp_path / "nowhere")], tmp_path / "3") == 3


def _sizes(folder: Path) -> list[int]:
    return [path.stat().st_size for path in folder.rglob("*") if path.is_file()]


def test_an_import_of_what_does_not_fit_could_not_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "app.log"
    log.write_text("\n12:00 started\n12:01 stopped\n")
    assert import_log("shiviz", [log], tmp_path / "logs", r"(?<host>\w+) (?<clock>{.*})", as_json=False) == 3
    told = capfd.readouterr().err
    assert f"{log}:2: no event in the file: expected" in told
    assert "got '12:00 started'; give a --regex" in told
    assert r"expected (?<host>\w+) (?<clock>{.*})" in told
    assert import_log("shiviz", [tmp_path / "nowhere"], tmp_path / "logs", None, as_json=False) == 3
    assert f"gcom: {tmp_path / 'nowhere'}: No such file" in capfd.readouterr().err


@pytest.fixture(autouse=True)
def _no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process of its own: the tests of Spark have a session here, which would be used."""
    monkeypatch.setattr(session, "given_session", lambda: None)


def test_off_a_terminal_it_says_once_what_takes_so_long(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable(*_words: object, **_more: object) -> None:
        raise AuditUnavailable("not here")

    monkeypatch.setattr(session, "open_session", unavailable)
    assert _audit(broken(tmp_path), spark=True) == 3
    count = len(catalogue(list_segments([str(tmp_path)])).sizes)
    size = sum(path.stat().st_size for path in tmp_path.rglob("*.jsonl"))
    by = "judged by Spark at local[*], which takes some seconds to start: --spark asks for it"
    assert capfd.readouterr().err == f"gcom: {count} segments, {size:,} bytes to read: {by}\ngcom: not here\n"


class Gone:
    """A session whose Java was ended while it worked."""

    def __enter__(self) -> Gone:
        raise ConnectionRefusedError(111, "Connection refused")

    def stop(self) -> None:
        raise ConnectionRefusedError(111, "Connection refused")


@pytest.mark.parametrize("signalled", [None, 15])
def test_a_java_that_ended_is_told_or_the_signal_that_ended_it(
    signalled: int | None, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "open_session", lambda *_words, **_more: Gone())
    monkeypatch.setattr(progress, "followed", lambda spark, _told: spark)
    monkeypatch.setattr(SIGNALLED, "caught", signalled)
    folder = broken(tmp_path)
    if signalled is None:
        assert _audit(folder, spark=True) == 3
        assert "Spark's Java ended before the audit did" in capfd.readouterr().err
    else:
        with pytest.raises(Interrupted) as ended:
            _audit(folder, spark=True)
        assert ended.value.status == 143


class Working:
    """A session, and what is done with it until it is stopped. As PySpark does, it puts a handler of its own."""

    def __init__(self) -> None:
        self.stopped = Event()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def run(self, *_words: object, **_more: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert self.stopped.wait(60)
        raise ConnectionRefusedError(111, "Connection refused")

    def stop(self) -> None:
        self.stopped.set()


def test_ctrl_c_does_not_break_into_what_spark_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    signals = Signals()
    monkeypatch.setattr(judging, "SIGNALLED", signals)
    monkeypatch.setattr(progress, "followed", lambda _spark, _told: nullcontext())
    monkeypatch.setattr(job, "SparkEngine", lambda spark: spark)
    monkeypatch.setattr(judging, "run", lambda _found, *, engine, **_more: engine.run())
    try:
        signals.install()
        monkeypatch.setattr(session, "open_session", lambda *_words, **_more: Working())
        with pytest.raises(Interrupted) as ended:
            _audit(broken(tmp_path), spark=True)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert ended.value.status == 130


@pytest.mark.parametrize("option", ["json", "junit", "report"])
def test_where_no_file_can_be_is_told_before_spark_starts(
    option: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for place, said in ((tmp_path, "Is a directory"), (tmp_path / "none" / "x", "No such file or directory")):
        assert _audit(broken(tmp_path / said), Outputs(**{option: str(place)})) == 3
        assert capfd.readouterr().err == f"gcom: {place}: {said}\n"
