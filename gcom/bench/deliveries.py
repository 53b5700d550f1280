"""Delivery logs of a group in which every promise of CAUSALTOTAL over RELIABLE holds, of any length, for measuring.

All members send in rounds, one run each, and deliver each round's runs in one order that chance draws. Every segment
begins with the state that DELIVERY_LOG.md asks for; every round changes every entry of the clocks, which is the
dearest case for the audit.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

from gcom.trace.segment import Segment

SEGMENT_BYTES = 64 << 20
ROUNDS_A_VIEW = 50_000
ROUNDS_A_WRITE = 2_000


@dataclass(frozen=True, slots=True)
class Plan:
    """`deliveries` are those of all members together; runs have lengths around `run_length`, 1 meaning exactly 1."""

    members: int
    deliveries: int
    run_length: int
    seed: int = 1

    @property
    def processes(self) -> list[str]:
        return [f"m{index}#{index:04x}" for index in range(1, self.members + 1)]


def write_member(folder: Path, plan: Plan, index: int) -> int:
    """Write the log of the member of that index; returns how many records. The same plan is the same life for all."""
    writer = _Writer(folder, plan, index)
    chance = random.Random(plan.seed)
    left = plan.deliveries // plan.members
    rounds = 0
    while left > 0:
        if rounds % ROUNDS_A_VIEW == 0:
            writer.view()
        lengths = [_length(chance, plan.run_length) for _ in range(plan.members)]
        order = list(range(plan.members))
        chance.shuffle(order)
        writer.round(lengths, order)
        left -= sum(lengths)
        rounds += 1
        if rounds % ROUNDS_A_WRITE == 0:
            writer.flush()
    return writer.close()


def _length(chance: random.Random, mean: int) -> int:
    return 1 if mean == 1 else chance.randint(1, 2 * mean - 1)


class _Writer:
    def __init__(self, folder: Path, plan: Plan, index: int) -> None:
        self._processes = plan.processes
        self._me = index
        self._name, self._incarnation = plan.processes[index].split("#")
        self._home = folder / self._name / self._incarnation
        self._home.mkdir(parents=True)
        self._at, self._view, self._serial, self._records = 1, 0, 0, 0
        self._sent = [0] * plan.members
        self._told_all = True
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
        delivered = dict(zip(self._processes, self._sent, strict=True))
        clock = {who: number for who, number in delivered.items() if who != self._processes[self._me]}
        number = self._sent[self._me]
        state = {"instance": "b1", "view": self._view, "number": number, "delivered": delivered, "beyond": {}}
        return {**state, "clock": clock, "serial": self._serial}

    def view(self) -> None:
        self._view += 1
        fields = {"view": self._view, "members": self._processes, "leader": self._processes[0]}
        fields |= {"ordering": "CAUSALTOTAL", "multicast": "RELIABLE"}
        head = {"type": "view", "at": self._at, "group": "load", "instance": "b1"}
        self._line(json.dumps({**head, **fields}, separators=(",", ":")), 1)

    def round(self, lengths: list[int], order: list[int]) -> None:
        mine, count = self._sent[self._me], lengths[self._me]
        others = [(i, who) for i, who in enumerate(self._processes) if i != self._me]
        clock = ",".join([f'"{who}":{self._sent[i]}' for i, who in others]) if mine or not self._told_all else ""
        self._told_all = True
        head = f'"at":{self._at},"t":{self._at},"group":"load","instance":"b1","view":{self._view}'
        counted = f',"count":{count}' if count > 1 else ""
        self._line(f'{{"type":"send",{head},"number":{mine + 1}{counted},"clock":{{{clock}}}}}', count)
        for index in order:
            count = lengths[index]
            head = f'"at":{self._at},"t":{self._at},"group":"load","instance":"b1","view":{self._view}'
            what = f'"sent_view":{self._view},"sender":"{self._processes[index]}","number":{self._sent[index] + 1}'
            counted = f',"count":{count}' if count > 1 else ""
            self._line(f'{{"type":"deliver",{head},{what}{counted},"serial":{self._serial + 1}}}', count)
            self._sent[index] += count
            self._serial += count

    def _line(self, line: str, count: int) -> None:
        self._segment.append(line)
        self._records += 1
        self._at += count

    def flush(self) -> None:
        """Give the disk what has gathered; begin a new segment where one is full."""
        self._segment.write()
        if self._segment.size >= SEGMENT_BYTES:
            self._segment.seal(self._at, "rotate")
            self._segment = Segment(self._home, self._segment.number + 1)
            self._told_all = False
            self._open()

    def close(self) -> int:
        end = f'"at":{self._at},"group":"load","instance":"b1","view":{self._view}'
        self._line(f'{{"type":"leave",{end},"settled":{self._view + 1},"reason":"exit"}}', 1)
        self._segment.seal(self._at, "exit")
        return self._records
