"""Delivery logs of a group over RELIABLE in which every promise of its ordering holds, of any length, for measuring.

All members send in rounds, one run each, and deliver each round's runs before the next: in one order that chance draws
where the order is total, else each in an order of its own. Every segment begins with the state that DELIVERY_LOG.md
asks for; every round changes every entry of the clocks, which is the dearest case for the audit.

`broken` logs have one fault: about halfway the last member delivers a run of the first one a round late.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

from gcom.trace.segment import Segment
from gcom.values.definition import Ordering

SEGMENT_BYTES = 64 << 20  # as the runtime's logs have it
ROUNDS_A_VIEW = 50_000  # a view now and then, as a group of some days has them
ROUNDS_A_WRITE = 2_000  # what is held before it is written: some megabytes


@dataclass(frozen=True, slots=True)
class LogPlan:
    """The logs to write: `deliveries` of all members together, in runs of `run_length` messages on average."""

    members: int
    deliveries: int
    run_length: int
    ordering: Ordering = Ordering.CAUSALTOTAL
    broken: bool = False
    seed: int = 1

    @property
    def processes(self) -> list[str]:
        return [f"m{index}#{index:04x}" for index in range(1, self.members + 1)]


def write_member(folder: Path, plan: LogPlan, index: int) -> int:
    """Write the log of the member of that index; return the number of records. All members need the same plan."""
    writer = _Writer(folder, plan, index)
    chance, own_chance = random.Random(plan.seed), random.Random(f"{plan.seed} {index}")
    left = half = plan.deliveries // plan.members
    half //= 2
    whole = not plan.broken or index != plan.members - 1
    rounds = 0
    while left > 0:
        if rounds % ROUNDS_A_VIEW == 0:
            writer.view()
        # One stream of chance for all members, so that each log has the same runs without the members talking.
        lengths = [_length(chance, plan.run_length) for _ in range(plan.members)]
        order = list(range(plan.members))
        # In a total order the same shuffle for all, drawn from the shared stream; else from one of its own.
        (chance if plan.ordering.is_total else own_chance).shuffle(order)
        # Not next to a write: the delivery that comes late must be in the same segment as its round, or the state
        # between them would tell of it.
        late = not whole and left < half and 0 < rounds % ROUNDS_A_WRITE < ROUNDS_A_WRITE - 1
        writer.round(lengths, order, late=0 if late else None)
        whole |= late
        left -= sum(lengths)
        rounds += 1
        if rounds % ROUNDS_A_WRITE == 0:
            writer.flush()
    return writer.close()


def _length(chance: random.Random, mean: int) -> int:
    # 1 to twice the mean less one: the mean is kept, and runs of all lengths occur.
    return 1 if mean == 1 else chance.randint(1, 2 * mean - 1)


class _Writer:
    def __init__(self, folder: Path, plan: LogPlan, index: int) -> None:
        self._processes = plan.processes
        self._me = index
        self._ordering, self._total = plan.ordering, plan.ordering.is_total
        self._name, self._incarnation = plan.processes[index].split("#")
        self._home = folder / self._name / self._incarnation
        self._home.mkdir(parents=True)
        self._at, self._view, self._serial, self._records = 1, 0, 0, 0
        self._sent = [0] * plan.members
        self._heard = [0] * plan.members  # the highest numbers delivered; below `_sent` only where a run is late
        self._late: list[tuple[str, int]] = []  # a delivery that waits for the end of the next round
        self._segment = Segment(self._home, 0)
        self._open()

    def _open(self) -> None:
        opening: dict[str, object] = {"type": "open", "at": self._at, "version": 1, "member": self._name}
        opening |= {"incarnation": self._incarnation, "process": self._processes[self._me]}
        opening |= {"segment": self._segment.number, "wall_ns": 1_800_000_000_000_000_000 + self._at * 1000}
        if self._segment.number:
            opening["state"] = {"load": self._state()}
        self._segment.append(json.dumps(opening, separators=(",", ":")))

    def _state(self) -> dict[str, object]:
        # Segments are cut between rounds, where all that was sent is delivered: the state is one number per sender.
        delivered = dict(zip(self._processes, self._sent, strict=True))
        clock = {who: number for who, number in delivered.items() if who != self._processes[self._me]}
        number = self._sent[self._me]
        state = {"instance": "b1", "view": self._view, "number": number, "delivered": delivered, "beyond": {}}
        return {**state, "clock": clock, **({"serial": self._serial} if self._total else {})}

    def view(self) -> None:
        self._view += 1
        # The same members each time: for the audit a view costs what it holds, and not who came or went.
        fields = {"view": self._view, "members": self._processes, "leader": self._processes[0]}
        fields |= {"ordering": str(self._ordering), "multicast": "RELIABLE"}
        head = {"type": "view", "at": self._at, "group": "load", "instance": "b1"}
        self._line(json.dumps({**head, **fields}, separators=(",", ":")), 1)

    def round(self, lengths: list[int], order: list[int], late: int | None) -> None:
        mine, count = self._sent[self._me], lengths[self._me]
        others = [(i, who) for i, who in enumerate(self._processes) if i != self._me]
        # Every entry changes with every round, so a log of these is the dearest one for the audit: nothing
        # could be left out.
        clock = ",".join([f'"{who}":{self._heard[i]}' for i, who in others]) if mine else ""
        head = f'"at":{self._at},"t":{self._at},"group":"load","instance":"b1","view":{self._view}'
        counted = f',"count":{count}' if count > 1 else ""
        self._line(f'{{"type":"send",{head},"number":{mine + 1}{counted},"clock":{{{clock}}}}}', count)
        due, self._late = self._late, []
        for index in order:
            count = lengths[index]
            what = f'"sent_view":{self._view},"sender":"{self._processes[index]}","number":{self._sent[index] + 1}'
            what += f',"count":{count}' if count > 1 else ""
            what += f',"serial":{self._serial + 1}' if self._total else ""
            # `_sent` of all members is what this one has settled, too: a round is delivered before the next begins.
            self._sent[index] += count
            self._serial += count
            if index == late:
                self._late = [(what, count)]
            else:
                self._heard[index] = self._sent[index]
                self._deliver(what, count)
        for what, count in due:
            self._deliver(what, count)

    def _deliver(self, what: str, count: int) -> None:
        head = f'"at":{self._at},"t":{self._at},"group":"load","instance":"b1","view":{self._view}'
        self._line(f'{{"type":"deliver",{head},{what}}}', count)

    def _line(self, line: str, count: int) -> None:
        self._segment.append(line)
        self._records += 1
        self._at += count

    def flush(self) -> None:
        """Write the buffered lines to the disk; begin a new segment where one is full."""
        self._segment.write()
        if self._segment.size >= SEGMENT_BYTES:
            self._segment.seal(self._at, "rotate")
            self._segment = Segment(self._home, self._segment.number + 1)
            self._open()

    def close(self) -> int:
        # With `settled`, as a leaver writes it: then the last section is in a class too, and every rule about views has
        # a case.
        end = f'"at":{self._at},"group":"load","instance":"b1","view":{self._view}'
        self._line(f'{{"type":"leave",{end},"settled":{self._view + 1},"reason":"exit"}}', 1)
        self._segment.seal(self._at, "exit")
        return self._records
