"""Kills a producer or a consumer of a topic, again and again with SIGKILL, and counts what is lost or doubled."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from gcom import topics
from gcom.demo.kills import worker
from gcom.errors import BadValue, Unavailable
from gcom.topics.dump import record_store
from gcom.topics.storage.sqlite_effects import EffectFile

ROLES = ("producer", "consumer")  # and owner, in `owners`
LINES_PER_KILL = 180  # four batches are told of before a kill, and four more may be stored by then


@dataclass(frozen=True, slots=True)
class KillResult:
    """The topic in the end, compared with the file."""

    role: str
    kills: int
    lines: int
    lost: int
    doubled: int
    in_order: bool
    left_over: int  # in the outbox

    @property
    def is_exact(self) -> bool:
        return not (self.lost or self.doubled or self.left_over) and self.in_order

    def row(self) -> dict[str, object]:
        """Return the result as one JSON object."""
        counts = {"lines": self.lines, "lost": self.lost, "doubled": self.doubled, "left_over": self.left_over}
        return {"type": "kills", "role": self.role, "kills": self.kills, **counts, "in_order": self.in_order}


def run(role: str, times: int, folder: Path, tell: Callable[[str], object], seed: int = 1) -> KillResult:
    """Kill the process so many times, let it end, and compare. The folder must be new or empty. Raises BadValue."""
    if role not in ROLES:
        raise BadValue(f"cannot kill {role!r}: expected producer, consumer or owner")
    lines = prepared(folder, LINES_PER_KILL * (times + 1))
    if role == "consumer":
        with topics.open(folder / "app.db") as store:
            store.topic(worker.TOPIC).send_many(lines)
    chance, kills = Random(seed), 0
    while True:
        ended = _one_life(role, folder, chance.randint(1, 4) if kills < times else 0, chance.random() < 0.5)
        if ended:
            return compared(role, kills, lines, folder, str(folder / "app.db"))
        kills += 1
        tell(f"killed {kills} of {times} times")


def prepared(folder: Path, count: int) -> list[str]:
    """Write the file of lines into a new folder, and return the lines. Raises BadValue."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise BadValue(f"the folder {str(folder)!r} is not empty: name a new one")
    lines = [f"line {number}" for number in range(count)]
    (folder / "lines.txt").write_text("\n".join(lines) + "\n", "utf-8")
    return lines


def _one_life(role: str, folder: Path, batches: int, waiting: bool) -> bool:
    """Run the process, and kill it after so many batches (0: never); tell whether it came to its end.

    It waits after each batch, a consumer in the middle of its transaction. It is killed there, or right after it goes
    on: then the kill meets a commit, or what follows it.
    """
    command = [sys.executable, "-m", "gcom.demo.kills.worker", role, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None, "it is a pipe"
        assert process.stdin is not None, "it is a pipe"
        try:
            for count, line in enumerate(process.stdout, start=1):
                if line == "done\n":
                    return True
                if count == batches and waiting:
                    process.kill()
                    break
                process.stdin.write("\n")
                process.stdin.flush()
                if count == batches:
                    process.kill()
                    break
        finally:
            process.kill()
    if process.returncode not in (0, -9):
        raise Unavailable(f"the {role} ended by itself, with status {process.returncode}: its words are above")
    return False


def compared(role: str, kills: int, lines: list[str], folder: Path, place: str) -> KillResult:
    """Compare what is there with the lines, and record it for the audit."""
    ledger = folder / "ledger.db"
    with topics.open(place) as store:
        record_store(store, folder / worker.LOGS, [] if role == "producer" else [ledger])
        found, left_over = [[it.text for it in store.topic(worker.TOPIC).read()]], 0
        if role != "producer":
            file = EffectFile(ledger)
            found = [[row[0] for row in file.connection.execute("SELECT text FROM entry ORDER BY rowid")]]
            (left_over,) = file.connection.execute("SELECT count(*) FROM gcom_outbox").fetchone()
            file.close()
            found.append([it.text for it in store.topic(worker.COPIES).read()])
    counts = [Counter(texts) for texts in found]
    lost = sum(count[line] == 0 for count in counts for line in lines)
    doubled = sum(max(0, number - 1) for count in counts for number in count.values())
    return KillResult(role, kills, len(lines), lost, doubled, all(texts == lines for texts in found), left_over)
