"""`submit_to_all` against its twin: one step to submit, and one for each peer to take.

In random schedules of a group, each message that is sent is given to two copies of its sender's machine. Where one puts
it to all at once, the frames, the effects and all that either copy knows afterwards are equal; where it does not, it
has changed nothing.
"""

from __future__ import annotations

import copyreg
from collections import deque
from collections.abc import Callable
from copy import deepcopy
from enum import Enum
from itertools import product
from random import Random
from types import FunctionType, MethodType

import pytest

from gcom.core.machine import GroupMachine
from gcom.core.messages import events
from gcom.core.messages.effects import Effect
from gcom.core.messages.frames import Fetch, Frame
from gcom.values import limits
from gcom.values.definition import Definition, Multicast, Ordering
from gcom.values.names import Process
from gcom.values.run import Payload
from tests.core.making import A, B, D, address
from tests.core.network import STEP_MS, Network

KINDS = [*product(Ordering, Multicast, [False]), *product(Ordering, [Multicast.RELIABLE], [True])]
copyreg.pickle(memoryview, lambda view: (memoryview, (bytes(view),)))  # for `deepcopy`: a large run is one
SOME_OF_ALL = 10  # of 150 that are sent; in a total order none goes so


def known(it: object, inside: tuple[int, ...] = ()) -> object:
    """All that an object knows, as values that compare."""
    if it is None or isinstance(it, bool | int | float | str | bytes | memoryview):
        return it
    if isinstance(it, Enum | type | FunctionType | MethodType):
        return repr(getattr(it, "__qualname__", it))
    if id(it) in inside:
        return "itself"
    inside = (*inside, id(it))
    if isinstance(it, dict):
        items = [(known(key, inside), known(value, inside)) for key, value in it.items()]
        return [items, known(vars(it), inside)] if hasattr(it, "__dict__") else items
    if isinstance(it, list | tuple | deque):
        return [known(each, inside) for each in it]
    if isinstance(it, set | frozenset):
        return sorted(repr(known(each, inside)) for each in it)
    slots = [name for kind in type(it).__mro__ for name in getattr(kind, "__slots__", ())]
    fields = {**getattr(it, "__dict__", {}), **{name: getattr(it, name) for name in slots if hasattr(it, name)}}
    return type(it).__name__, [(name, known(value, inside)) for name, value in sorted(fields.items())]


def one_by_one(machine: GroupMachine, payloads: list[Payload], now_ms: int) -> tuple[list[Frame | None], list[Effect]]:
    effects = machine.handle(events.Submit(payloads), now_ms)
    put: list[Frame | None] = []
    for peer in machine.peers:
        frame, more = machine.take(peer, now_ms)
        put.append(frame)
        effects = effects + more
    machine.woken()
    return put, effects


class Twins(Network):
    """A network in which each `send` is tried in both ways first."""

    to_all = 0

    def send(self, who: Process, *payloads: Payload) -> None:
        machine, sent = self.machines[who], list(payloads)
        machine.woken()  # as a driver does after each step
        at_once, twin = deepcopy(machine), deepcopy(machine)
        frames, effects = at_once.submit_to_all(list(sent), self.now_ms)
        if frames:
            assert (frames, effects) == one_by_one(twin, list(sent), self.now_ms)
            self.to_all += 1
        assert known(at_once) == known(twin)
        super().send(who, *payloads)


@pytest.mark.parametrize(("ordering", "multicast", "safe"), KINDS)
def test_what_is_put_to_all_at_once_is_what_each_peer_would_be_given(
    ordering: Ordering, multicast: Multicast, safe: bool
) -> None:
    net = Twins(Definition("g", ordering, multicast, safe=safe))
    members = net.form("a", "b", "c")
    rng = Random(f"{ordering} {multicast} {safe}")
    for turn in range(150):
        who = rng.choice(members)
        net.send(who, *[f"{who} {turn}" * rng.choice([1, 1, 1, 300]) for _ in range(rng.choice([1, 1, 2, 9]))])
        if rng.random() < 0.1:
            net.handle(who, events.SendUnicast(rng.choice(members), b"aside"))
        net.lose = (lambda frame: True) if rng.random() < 0.1 else (lambda frame: False)
        if turn == 75:
            net.start("d")  # a view change beside what is sent
        net.pass_ms(rng.choice([0, STEP_MS, 20, 20]))
        if turn > 75 and D not in members and net.members(D):
            members.append(D)
    assert net.to_all >= SOME_OF_ALL or "TOTAL" in ordering
    assert not (net.to_all and "TOTAL" in ordering)


FETCH = Fetch(1, A, 1, 1)
MORE: dict[str, Callable[[GroupMachine], object]] = {
    "an item of control": lambda machine: machine._links.say(B, FETCH),
    "an item for the next heartbeat": lambda machine: machine._links.say_later(B, FETCH),
    "a status": lambda machine: machine._links.owe_status([B]),
    "what it fetches": lambda machine: machine._links.relay(B, FETCH),
    "a unicast": lambda machine: machine.handle(events.SendUnicast(B, b"aside"), 0),
    "a call that failed": lambda machine: machine.handle(events.CallFailed(B, False, False), 1_000_000),
    "a link to a joiner": lambda machine: machine._links.open(D, address(D), 0),
    "earlier messages": lambda machine: machine._member.streams.unsent.append("earlier"),  # type: ignore[union-attr]
    "a view change": lambda machine: machine._member.streams.wedge(),  # type: ignore[union-attr]
    "state": lambda machine: setattr(machine.transfer, "owes", True),
}


@pytest.mark.parametrize("more", [*MORE, "", "a full window", "more than a frame", "too many"])
def test_nothing_is_put_to_all_where_some_peer_is_to_get_more_or_waits(
    more: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = Network(Definition.parse("g"))
    net.form("a", "b", "c")
    net.pass_ms(1_000)
    machine = net.machines[A]
    if more in MORE:
        MORE[more](machine)
    if more == "a full window":
        monkeypatch.setattr(limits, "WINDOW_MESSAGES_MAX", 0)
    text = "x" * (limits.SMALL_LOAD_BYTES + 1) if more == "more than a frame" else "x"
    count = limits.RUN_MESSAGES_MAX + 1 if more == "too many" else 1
    before = known(machine)
    frames, effects = machine.submit_to_all([text] * count, net.now_ms)
    assert bool(frames) == bool(effects) == (not more)
    assert (known(machine) == before) == bool(more)
