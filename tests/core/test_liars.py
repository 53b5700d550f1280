"""A member that follows the form and lies: it may stop its group, but nothing of ours may break on what it says."""

from __future__ import annotations

from random import Random

import pytest

from gcom.core import codec, events, frames
from gcom.core.frames import Ballot, Control, Decision, Frame, Status
from gcom.core.group import GroupMachine
from gcom.errors import MalformedFrame
from gcom.values.definition import Definition
from gcom.values.names import Process
from gcom.values.run import Payload, Run
from gcom.values.view import View
from tests.core.making import address
from tests.core.network import Network


class Liar:
    """Makes frames to A whose every field is well-formed and drawn at random."""

    def __init__(self, rng: Random, machine: GroupMachine, members: list[Process]) -> None:
        self._rng = rng
        self._machine = machine
        self._pool = [*members, "d#1", "b#2"]

    @property
    def _view(self) -> int:
        assert self._machine.view is not None
        return self._machine.view.number

    def _number(self) -> int:
        return self._rng.choice([0, 1, 2, 2, 3, 4, 10**6, 2**62])

    def _counts(self) -> dict[Process, int]:
        return {who: self._number() for who in self._rng.sample(self._pool, self._rng.randint(0, 4))}

    def _ballot(self) -> Ballot:
        return self._rng.choice([0, 1, 2, 3, 2**31]), self._rng.randint(0, 3)

    def _decision(self) -> Decision:
        assert self._machine.view is not None
        old = self._machine.view.members
        members = tuple(self._rng.sample(self._pool, self._rng.randint(1, 4)))
        view = View(self._rng.choice([self._view + 1, 3, 5]), members, tuple(map(address, members)))
        left = {who: self._rng.choice(["request", "silence"]) for who in old if who not in members}
        cut = {**self._counts(), old[0]: self._rng.choice([0, 2])}
        return Decision(view, tuple(who for who in members if who not in old), left, cut)

    def _control(self) -> Control:
        view = self._rng.choice([self._view, self._view, 1, 9])
        who = self._rng.choice(self._pool)
        items: list[Control] = [
            frames.Join(address(who)),
            frames.Prepare(view, self._ballot()),
            frames.Promise(view, self._ballot(), self._counts(), self._ballot(), self._decision()),
            frames.Nack(view, self._ballot()),
            frames.Cut(view, self._ballot(), self._decision(), {who: (who,)}),
            frames.CutOk(view, self._ballot()),
            frames.Install(self._decision()),
            frames.Fetch(view, who, self._number(), self._number()),
        ]
        return self._rng.choice(items)

    def _run(self) -> Run:
        sender, first, clock = self._rng.choice(self._pool), max(1, self._number()), self._counts()
        payloads: list[Payload] = ["lie"] * self._rng.randint(1, 3)
        encoded = codec.encode_run(sender, self._view, first, clock, payloads)
        return Run(sender, self._view, first, clock, payloads, encoded)

    def frame(self, source: Process) -> Frame:
        """One lie from `source`; raises MalformedFrame where chance made something that is not well-formed."""
        view = self._rng.choice([self._view, self._view, 0, 1, 9])
        held, consumed, stable, sent = (self._number() for _ in range(4))
        status = Status(view, held, consumed, stable, sent, self._rng.random() < 0.2, self._rng.random() < 0.1)
        control = tuple(self._control() for _ in range(self._rng.randint(0, 3)))
        runs = tuple(self._run() for _ in range(self._rng.randint(0, 2)))
        machine = self._machine
        frame = Frame("g", machine.instance, source, machine.process, status, control, runs)
        return codec.decode(codec.encode(frame))


@pytest.mark.parametrize("multicast", ["RELIABLE", "BASIC"])
def test_whatever_a_member_says_nothing_of_ours_breaks(multicast: str) -> None:
    taken = 0
    for seed in range(400):
        rng = Random(seed)
        net = Network(Definition.parse("g", multicast=multicast))
        a, b, c = net.form("a", "b", "c")
        net.send(a, "x", "y")
        net.pass_ms(50)
        machine = net.machines[a]
        liar = Liar(rng, machine, [a, b, c])
        for _ in range(25):
            try:
                frame = liar.frame(rng.choice([b, c, "d#1"]))
            except MalformedFrame:
                continue
            machine.receive(frame, net.now_ms)
            for peer in machine.peers:
                machine.take(peer, net.now_ms)
            machine.handle(events.Tick(), net.now_ms)
            net.now_ms += 20
            taken += 1
    assert taken > 2_000
