"""What lies in a named folder is read, or named as not read; and a log may grow, or change, while it is audited."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from gcom.audit.explain.advice import advice_of
from gcom.audit.explain.result import AuditResult, result_of
from gcom.audit.input.catalogue import catalogue
from gcom.audit.input.reading import list_segments
from gcom.audit.plan.cache import IncrementalCache
from gcom.audit.plan.engine import InProcess, T, TaskRow
from gcom.audit.plan.run import PlanResult, run
from gcom.errors import AuditUnavailable, NotALog
from tests.audit.here import SEEDS
from tests.audit.lives import broken
from tests.oracle.build import A, B, deliver, send, view, write

NOBODY = 65534


def _audit(folder: Path) -> AuditResult:
    return result_of(run(catalogue(list_segments([str(folder)])), seeds=SEEDS))


def _group(folder: Path) -> Path:
    """The logs of a and b, which both deliver a's message; in a folder of their own, b's elsewhere."""
    both = view(1, A, B, ordering="FIFO")
    return write(folder, {A: [both, send(1, 1, {}), deliver(1, A, 1)], B: [both, deliver(1, A, 1)]})


def _alone(folder: Path) -> Path:
    return write(folder, {A: [view(1, A, ordering="FIFO"), send(1, 1, {}), deliver(1, A, 1)]})


def test_a_linked_folder_is_read_once_and_a_link_back_ends(tmp_path: Path) -> None:
    _group(tmp_path / "logs")
    (tmp_path / "logs" / "b").rename(tmp_path / "elsewhere")
    (tmp_path / "logs" / "b").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "back").symlink_to(tmp_path / "logs")
    (tmp_path / "logs" / "again").symlink_to(tmp_path / "logs" / "a")
    found = _audit(tmp_path / "logs")
    assert (found.verdict, set(found.coverage), found.notes) == ("PASS", {A, B}, [])


def test_a_violation_in_a_linked_folder_is_found(tmp_path: Path) -> None:
    broken(tmp_path / "logs", "FIFO")
    (tmp_path / "logs" / "bob").rename(tmp_path / "elsewhere")
    (tmp_path / "logs" / "bob").symlink_to(tmp_path / "elsewhere")
    assert _audit(tmp_path / "logs").verdict == "FAIL"


def test_files_that_were_unpacked_with_backslashes_in_their_names_are_read(tmp_path: Path) -> None:
    _group(tmp_path / "logs")
    for path in sorted((tmp_path / "logs").glob("*/*/*.jsonl")):
        flat = str(path.relative_to(tmp_path / "logs")).replace("/", "\\")
        path.rename(tmp_path / "logs" / f"logs\\{flat}")
        path.parent.rmdir()
        path.parent.parent.rmdir()
    found = _audit(tmp_path / "logs")
    assert (found.verdict, set(found.coverage), found.notes) == ("PASS", {A, B}, [])


def _link_to_nothing(logs: Path) -> str:
    (logs / "b").symlink_to(logs / "unmounted")
    return f"{logs}/b: it cannot be read: No such file or directory"


def _packed(logs: Path) -> str:
    (logs / "b" / "1").mkdir(parents=True)
    (logs / "b" / "1" / "000000.jsonl.gz").write_bytes(b"")
    return f"{logs}/b/1/000000.jsonl.gz: a segment in a form that is not read; unpack it"


def _renamed(logs: Path) -> str:
    (logs / "b.JSONL").write_bytes((logs / "a" / "1" / "000000.jsonl").read_bytes())
    return f"{logs}/b.JSONL: a delivery log under a name that no segment has; name it as <6 digits>.jsonl"


def _no_file(logs: Path) -> str:
    (logs / "b" / "1").mkdir(parents=True)
    os.mkfifo(logs / "b" / "1" / "000000.jsonl")
    return f"{logs}/b/1/000000.jsonl: it cannot be read: it is no file"


@pytest.mark.parametrize("make", [_link_to_nothing, _packed, _renamed, _no_file])
def test_what_is_not_read_is_named_and_the_verdict_is_unknown(make: Callable[[Path], str], tmp_path: Path) -> None:
    said = make(_alone(tmp_path))
    found = _audit(tmp_path)
    assert said in found.unread
    assert said in found.notes
    assert found.verdict == "UNKNOWN"
    assert any(said in line for line in advice_of(found))


def test_what_is_no_log_is_passed_over(tmp_path: Path) -> None:
    logs = _alone(tmp_path)
    (logs / "a" / "1" / "000000.jsonl.gz").write_bytes(b"a copy of what is beside it")
    (logs / "rows.jsonl").write_text("{}\n")
    (logs / "notes.txt").write_text("hello")
    (logs / "new").mkdir()
    assert _audit(logs).verdict == "PASS"


@contextmanager
def _of_another_user(mode: int) -> Iterator[tuple[Path, Path]]:
    """Logs, and a part of them that this user may not read; the superuser may read all, so it becomes nobody."""
    with tempfile.TemporaryDirectory() as name:
        logs = _alone(Path(name) / "logs")
        (logs / "b").mkdir()
        closed = logs / "b" / "rows.jsonl"
        closed.write_text("{}\n")
        Path(name).chmod(0o755)
        is_root = os.geteuid() == 0
        try:
            os.chmod(closed if mode == 0o600 else closed.parent, 0)
            if is_root:
                os.seteuid(NOBODY)
            yield logs, closed
        finally:
            if is_root:
                os.seteuid(0)
            closed.parent.chmod(0o700)


@pytest.mark.parametrize("mode", [0o700, 0o600])
def test_what_may_not_be_read_is_named_and_the_verdict_is_unknown(mode: int) -> None:
    with _of_another_user(mode) as (logs, closed):
        found = _audit(logs)
        told = closed if mode == 0o600 else closed.parent
        assert found.unread == [f"{told}: it cannot be read: Permission denied"]
        assert found.verdict == "UNKNOWN"


def test_where_nothing_may_be_read_it_says_so() -> None:
    with (
        _of_another_user(0o700) as (_, closed),
        pytest.raises(NotALog, match="b: it cannot be read: Permission denied"),
    ):
        list_segments([str(closed.parent)])


# Tasks that run elsewhere


class _Elsewhere(InProcess):
    """The engine of another machine, which has no such folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def spread(
        self, items: Sequence[T], task: Callable[[T], Iterable[TaskRow]], *, reused: bool = False
    ) -> list[TaskRow]:
        away = self._folder.rename(self._folder.with_name("away"))
        try:
            return super().spread(items, task, reused=reused)
        finally:
            away.rename(self._folder)


def test_a_path_that_no_task_can_see_is_an_audit_that_could_not_run(tmp_path: Path) -> None:
    found = catalogue(list_segments([str(_group(tmp_path / "logs"))]))
    with pytest.raises(AuditUnavailable, match=r"a/1/000000\.jsonl cannot be read where Spark's tasks run"):
        run(found, engine=_Elsewhere(tmp_path / "logs"))
    # Nor is what it did not see kept for the next time.
    with pytest.raises(AuditUnavailable):
        run(found, engine=_Elsewhere(tmp_path / "logs"), cache=IncrementalCache(tmp_path / "state"))
    assert result_of(run(found, cache=IncrementalCache(tmp_path / "state"))).verdict == "PASS"


def test_a_folder_is_named_in_full_as_a_task_has_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _group(tmp_path / "logs")
    monkeypatch.chdir(tmp_path)
    assert {*list_segments(["logs", "./logs"]).sizes} == {*map(str, (tmp_path / "logs").rglob("*.jsonl"))}


# Logs that grow, or change


class _Meanwhile(InProcess):
    """The engine; between its first reading of the logs and its second something is done."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = [lambda: None, work]

    def spread(
        self, items: Sequence[T], task: Callable[[T], Iterable[TaskRow]], *, reused: bool = False
    ) -> list[TaskRow]:
        self._work.pop(0)()
        return super().spread(items, task, reused=reused)


def _unserialled(folder: Path) -> Path:
    """A total order without serials, in which TOTAL needs the messages: b delivers two that a does not."""
    both = view(1, A, B, ordering="TOTAL", multicast="BASIC")
    sends = [send(1, number, {}) for number in (1, 2, 3, 4)]
    early, late = ([deliver(1, A, number) for number in numbers] for numbers in ((1, 2), (3, 4)))
    return write(folder, {A: [both, *sends, *early], B: [both, *early, *late]}, {A: "crash", B: "crash"})


def _verdict(outcome: PlanResult) -> tuple[str, str | None]:
    (group,) = result_of(outcome).groups
    (total,) = [rule for rule in group.rules if rule.rule == "TOTAL"]
    return total.verdict, total.reason


def _grow(folder: Path) -> None:
    """a delivers two more messages, in another order than b has them."""
    path = folder / "a" / "1" / ".000000.jsonl"
    at = path.read_bytes().count(b"\n")
    with path.open("a") as file:
        for step, number in enumerate((4, 3)):
            record = {**deliver(1, A, number), "at": at + step, "group": "g", "instance": "i"}
            file.write(json.dumps(record) + "\n")


@pytest.mark.parametrize("segments", ["listed", "read once"])
def test_of_a_log_that_grows_what_there_was_when_it_was_listed_is_judged(segments: str, tmp_path: Path) -> None:
    found = catalogue(list_segments([str(_unserialled(tmp_path))]))
    if segments == "listed":
        _grow(tmp_path)
    outcome = run(found, engine=_Meanwhile(lambda: _grow(tmp_path) if segments == "read once" else None))
    assert _verdict(outcome) == ("PASS", None)
    assert _verdict(run(catalogue(list_segments([str(tmp_path)])))) == ("FAIL", None)


@pytest.mark.parametrize("change", [os.unlink, lambda path: os.truncate(path, path.stat().st_size // 2)])
def test_a_log_that_changes_between_two_readings_blames_nobody(
    change: Callable[[Path], object], tmp_path: Path
) -> None:
    found = catalogue(list_segments([str(_unserialled(tmp_path))]))
    outcome = run(found, engine=_Meanwhile(lambda: change(tmp_path / "b" / "1" / ".000000.jsonl")))
    assert _verdict(outcome) == ("UNKNOWN", "the log of b#1 changed while it was read")
    assert result_of(outcome).verdict == "UNKNOWN"
