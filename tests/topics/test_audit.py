"""The audit of topics: programs that are killed at every point pass, and each way to break a promise is found."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

import gcom.audit
from gcom import topics
from gcom.cli.app import run as run_command
from gcom.errors import BadValue
from gcom.topics import StoreBusy, TopicReceipt, judge
from gcom.topics.served.serving import TopicsServer
from gcom.topics.storage.commits import Commits
from gcom.topics.storage.sqlite_effects import EffectFile
from gcom.topics.values import Entry
from tests.topics.audited_worker import work
from tests.topics.test_kills import until_done

LINES = 300
KILLED = ("append.written", "append.committed", "effect.begun", "effect.committed", "outbox.sent")


def verdicts(folder: Path, topic: str = "lines") -> dict[str, str]:
    """Record what the store holds, audit all of it, and return the verdict of each rule on a topic."""
    words = ["topics", "record", "--store", str(folder / "app.db"), "--into", str(folder / "logs")]
    assert run_command([*words, "--effects", str(folder / "ledger.db")]) == 0
    found = {it.name.partition(" ")[0]: it for it in gcom.audit.audit(folder / "logs").applications}
    return {rule.rule: rule.verdict for rule in found[topic].rules}


@pytest.mark.slow
def test_what_is_killed_at_every_point_passes(tmp_path: Path) -> None:
    for nth, point in enumerate(KILLED):
        count = (nth + 1) * LINES // len(KILLED)
        until_done([f"{point}:2"], "-m", "tests.topics.audited_worker", str(tmp_path), str(count))
    assert set(verdicts(tmp_path).values()) == {"PASS"}
    assert set(verdicts(tmp_path, "copies").values()) == {"PASS", "VACUOUS"}


def _takes_duplicates(patch: pytest.MonkeyPatch) -> None:
    whole = judge.judge

    def lax(standing: Any, epoch: int, previous: int, entries: Sequence[Entry], past: Any) -> Any:
        if entries[-1].seq == 12:
            standing, previous = standing._replace(seq=-1), -1
        return whole(standing, epoch, previous, entries, past)

    patch.setattr(judge, "judge", lax)


def _answers_before_it_stores(patch: pytest.MonkeyPatch) -> None:
    submit = Commits.submit

    def early(self: Commits, job: Any) -> Any:
        found: Future[Any] = submit(self, lambda tx: _undone(tx, job))
        return found

    def _undone(tx: Any, job: Any) -> Any:
        answer = job(tx)
        if isinstance(answer, list) and answer and isinstance(answer[0], TopicReceipt) and answer[0].seq == 9:
            tx.change("DELETE FROM gcom_message WHERE seq = 9")
        return answer

    patch.setattr(Commits, "submit", early)


def _refuses_what_it_stores(patch: pytest.MonkeyPatch) -> None:
    submit = Commits.submit

    def refusing(self: Commits, job: Any) -> Any:
        found = submit(self, job)
        answer = found.result()
        if isinstance(answer, list) and answer and isinstance(answer[0], TopicReceipt) and answer[0].seq == 9:
            refused: Future[Any] = Future()
            refused.set_exception(StoreBusy("locked"))
            return refused
        return found

    patch.setattr(Commits, "submit", refusing)


def _compares_no_inbox(patch: pytest.MonkeyPatch) -> None:
    floor, advance = EffectFile.floor, EffectFile.advance
    asked = [0]

    def stale(self: EffectFile, sub: str, shard: int) -> int | None:
        asked[0] += 1
        found = floor(self, sub, shard)
        return 3 if asked[0] == 4 and found is not None else found

    def lax(self: EffectFile, sub: str, shard: int, previous: int | None, upto: int) -> bool:
        known = floor(self, sub, shard)
        if known != previous and previous is not None:
            self.connection.execute(
                "UPDATE gcom_inbox SET floor = ? WHERE sub = ? AND shard = ?", (previous, sub, shard)
            )
        return advance(self, sub, shard, previous, upto)

    patch.setattr(EffectFile, "floor", stale)
    patch.setattr(EffectFile, "advance", lax)


@pytest.mark.parametrize(
    ("mutant", "rules"),
    [
        (_takes_duplicates, {"EO-2", "EO-5"}),
        (_answers_before_it_stores, {"EO-3"}),
        (_refuses_what_it_stores, {"EO-4"}),
        (_compares_no_inbox, {"EO-1", "EO-6"}),
    ],
)
def test_a_broken_promise_is_found(mutant: Any, rules: set[str], tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        mutant(patch)
        with topics.open(tmp_path / "app.db", log_dir=tmp_path / "logs") as store:
            producer = store.topic("lines").producer("source")
            for seq in range(12):
                try:
                    producer.send(f"line {seq}", seq=seq)
                except StoreBusy:
                    continue
            producer.send_many([(10, "line 10"), (11, "line 11"), (12, "line 12")])
        work(tmp_path, 60)
    assert {rule for rule, verdict in verdicts(tmp_path).items() if verdict == "FAIL"} == rules


def test_a_client_at_a_server_records_what_it_asked_and_was_answered(tmp_path: Path) -> None:
    with (
        TopicsServer(str(tmp_path / "app.db")) as server,
        topics.open(f"gcom://{server.address}", log_dir=tmp_path / "logs") as store,
    ):
        lines = store.topic("lines")
        producer = lines.producer("source")
        assert [producer.send(text).offset for text in ("a", "b")] == [0, 1]
        with pytest.raises(BadValue, match="needs the store itself"), store.transaction() as together:
            together.send(lines, "c", producer=producer)
        assert producer.send_many(["d", "e"])[-1].offset == 3
        ledger = lines.subscribe("ledger", after="earliest")
        ledger.run(lambda _db, _messages, _out: None, tmp_path / "ledger.db", follow=False)
    assert set(verdicts(tmp_path).values()) == {"PASS"}
