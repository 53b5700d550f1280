"""Signed groups: what a member brings in another's name is not taken, and whoever brings it is found out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gcom.core.codec import frames as codec
from gcom.core.messages.effects import Deliver
from gcom.core.messages.frames import Frame, Status
from gcom.core.multicast.signing import Signatures
from gcom.errors import BadValue
from gcom.values.definition import Definition, Multicast, Ordering
from gcom.values.names import Process, name_of
from gcom.values.run import Fragment, Run
from tests.core.making import Key, retold
from tests.core.network import Network

LARGE = "x" * 1_000_000
Forge = Callable[["Forger", Process, int], Run]


def network(ordering: Ordering = Ordering.FIFO, multicast: Multicast = Multicast.RELIABLE) -> Network:
    net = Network(Definition("g", ordering, multicast, signed=True))
    net.signer = Key
    return net


def texts(net: Network, who: Process) -> list[str]:
    return [text for it in net.of(who, Deliver) for text in it.run.payloads if isinstance(text, str)]


@pytest.mark.parametrize("multicast", Multicast)
@pytest.mark.parametrize("ordering", Ordering)
def test_all_deliver_what_is_signed(ordering: Ordering, multicast: Multicast) -> None:
    net = network(ordering, multicast)
    members = net.form("a", "b", "c")
    for who in members:
        net.send(who, f"of {who}", LARGE, "end")
    net.until(lambda: all(len(texts(net, who)) == 9 for who in members))
    newcomer = net.start("d")
    net.until_view(*members, newcomer)
    for who in members:
        net.send(who, "late")
    net.until(lambda: texts(net, newcomer) == ["late"] * 3)
    assert [net.suspected(who) for who in members] == [[], [], []]


def test_a_large_run_is_judged_where_it_lies_in_its_frame() -> None:
    key, judge = (
        Signatures(Key("a#1"), "a#1", "g", "i", may_lose=False),
        Signatures(Key("b#1"), "b#1", "g", "i", may_lose=False),
    )
    payloads: list[bytes | str] = [LARGE[:50_000]]
    encoded, seal = key.seal(codec.encode_run("a#1", 1, 1, {}, payloads))
    frame = Frame("g", "i", "a#1", "b#1", Status(1), runs=(Run("a#1", 1, 1, {}, payloads, encoded, seal),))
    data = bytearray(codec.encode(frame))
    (run,) = codec.decode(bytes(data)).runs
    assert isinstance(run.encoded, memoryview)
    assert not judge.is_forged(run)
    data[data.index(b"xxx")] = ord("y")
    assert judge.is_forged(codec.decode(bytes(data)).runs[0])


class Forger:
    """The leader of a group, which puts runs of its own making beside those that it sends."""

    def __init__(self, net: Network, leader: Process, forge: Forge) -> None:
        self.net = net
        self.key = Key(leader)
        self._leader = leader
        self._forge = forge

    def tamper(self, frame: Frame) -> Frame:
        members = [*self.net.members(self._leader)]
        others = [who for who in members if who not in (self._leader, frame.target)]
        if frame.source != self._leader or frame.status.view != 3 or not others:
            return frame
        victim = min(others)
        return frame._replace(runs=(self._forge(self, victim, self.net.machines[victim].number + 1),))

    def seal(self, encoded: bytes) -> bytes:
        """Sign as another would, for all that this process can do."""
        return self.key.sign(b"gcom run\0g\0" + self.net.machines[self._leader].instance.encode() + b"\0" + encoded)

    def run(self, sender: Process, first: int, encoded: bytes, credential: bytes) -> Run:
        sealed, seal = codec.seal_run(encoded, self.seal(encoded), credential)
        return Run(sender, 3, first, {}, ["forged"], sealed, seal)


def _unsigned(_: Forger, victim: Process, first: int) -> Run:
    return Run(victim, 3, first, {}, ["forged"], codec.encode_run(victim, 3, first, {}, ["forged"]))


def _by_own_key(forger: Forger, victim: Process, first: int) -> Run:
    encoded = codec.encode_run(victim, 3, first, {}, ["forged"])
    return forger.run(victim, first, encoded, forger.key.credential(forger.key.process))


def _with_the_credential_of_another(forger: Forger, victim: Process, first: int) -> Run:
    return forger.run(victim, first, codec.encode_run(victim, 3, first, {}, ["forged"]), b"of " + victim.encode())


def _by_the_known_key(forger: Forger, victim: Process, first: int) -> Run:
    return forger.run(victim, first, codec.encode_run(victim, 3, first, {}, ["forged"]), b"")


def _of_an_earlier_view(forger: Forger, victim: Process, first: int) -> Run:
    """A run that the victim did sign, in view 2, told to be of view 3 now."""
    found = [run for frame in forger.net.carried for run in frame.runs if run.sender == victim and run.view == 2]
    if not found or found[0].seal is None:  # the youngest was not in view 2
        return _unsigned(forger, victim, first)
    encoded = codec.encode_run(victim, 3, first, {}, ["forged"])
    sealed, seal = codec.seal_run(encoded, found[0].seal.signature, found[0].seal.credential)
    return Run(victim, 3, first, {}, ["forged"], sealed, seal)


FORGERIES = [_unsigned, _by_own_key, _with_the_credential_of_another, _by_the_known_key, _of_an_earlier_view]


@pytest.mark.parametrize("forge", FORGERIES)
@pytest.mark.parametrize("multicast", Multicast)
def test_a_leader_that_forges_is_put_out(multicast: Multicast, forge: Forge) -> None:
    net = network(multicast=multicast)
    a, b = net.form("a", "b")
    net.send(b, "early")
    net.until(lambda: texts(net, a) == ["early"])
    c = net.start("c")
    net.until_view(a, b, c)
    net.send(b, "before")
    net.until(lambda: all("before" in texts(net, who) for who in (a, b, c)))
    net.tamper = Forger(net, a, forge).tamper
    net.send(a, "a reason to call both")
    net.until(lambda: net.members(b) == net.members(c) == {b, c})
    net.send(b, "after")
    net.until(lambda: "after" in texts(net, c))
    assert (a, "forged") in net.suspected(b) + net.suspected(c)
    assert "forged" not in texts(net, b) + texts(net, c)


def _changed(frame: Frame) -> Frame:
    """Return a frame with another payload in the runs and fragments of its source's peers."""
    runs = tuple(retold(run, "forged") if run.sender != frame.source else run for run in frame.runs)
    fragments = tuple(_bent(fragment) if fragment.sender != frame.source else fragment for fragment in frame.fragments)
    return frame._replace(runs=runs, fragments=fragments)


def _bent(fragment: Fragment) -> Fragment:
    # Its end, which is text in every fragment of a long one.
    return replace(fragment, data=fragment.data[:-1] + b"!")


@pytest.mark.parametrize("payload", ["short", LARGE])
def test_a_relay_that_changes_what_a_dead_member_said_is_found_out(payload: str) -> None:
    net = network()
    a, b, c, d, e = net.form("a", "b", "c", "d", "e")
    net.cuts = {("e", "b"), ("e", "c"), ("e", "d")}
    net.send(e, payload)
    net.until(lambda: payload in texts(net, a))
    net.kill(e)
    net.tamper = lambda frame: _changed(frame) if frame.source == a else frame
    net.until(lambda: all(net.members(who) == {b, c, d} for who in (b, c, d)))
    net.send(b, "after")
    net.until(lambda: all(texts(net, who) == ["after"] for who in (b, c, d)))
    assert (a, "forged") in net.suspected(b) + net.suspected(c) + net.suspected(d)


def test_what_a_dead_member_said_arrives_through_a_relay() -> None:
    net = network()
    a, b, c = net.form("a", "b", "c")
    net.cuts = {("c", "b")}
    net.send(c, "short", LARGE)
    net.until(lambda: LARGE in texts(net, a))
    net.kill(c)
    net.until(lambda: texts(net, b) == ["short", LARGE])


@pytest.mark.parametrize(("group", "instance"), [("h", "i1"), ("g", "i2")])
def test_a_run_of_one_group_or_instance_is_none_of_another(group: str, instance: str) -> None:
    encoded = codec.encode_run("a#1", 1, 1, {}, ["m"])
    sealed, seal = Signatures(Key("a#1"), "a#1", "g", "i1", may_lose=False).seal(encoded)
    run = Run("a#1", 1, 1, {}, ["m"], sealed, seal)
    assert not Signatures(Key("b#1"), "b#1", "g", "i1", may_lose=False).is_forged(run)
    assert Signatures(Key("b#1"), "b#1", group, instance, may_lose=False).is_forged(run)


def test_only_the_first_run_of_a_view_has_a_credential() -> None:
    net = network()
    a, b = net.form("a", "b")
    for text in ("one", "two", "three"):
        net.send(a, text)
        net.until(lambda text=text: text in texts(net, b))  # type: ignore[misc]
    seals = [run.seal for frame in net.carried for run in frame.runs]
    assert [bool(seal and seal.credential) for seal in seals] == [True, False, False]


def test_a_process_without_a_key_does_not_enter() -> None:
    net = network()
    net.form("a", "b")
    net.signer = lambda process: None
    keyless = net.start("c")
    net.until(lambda: net.error(keyless) is not None)
    assert isinstance(net.error(keyless), BadValue)
    assert "is signed, and this process has no certificate" in str(net.error(keyless))


def test_an_unsigned_group_asks_no_key_and_carries_no_byte_more() -> None:
    net = Network(Definition("g"))
    asked: list[Process] = []

    class Idle(Key):
        def sign(self, data: bytes) -> bytes:
            asked.append(self.process)
            return super().sign(data)

    net.signer = Idle
    a, b = net.form("a", "b")
    net.send(a, "m")
    net.until(lambda: texts(net, b) == ["m"])
    runs = [run for frame in net.carried for run in frame.runs]
    assert [run.encoded for run in runs] == [codec.encode_run(a, 2, 1, {}, ["m"])]
    assert asked == []


def test_nobody_speaks_for_a_living_member_of_an_unsigned_group() -> None:
    net = Network(Definition("g"))
    a, b, c = net.form("a", "b", "c")
    net.tamper = Forger(net, a, _unsigned).tamper
    net.send(a, "hidden by the forged ones")
    net.pass_ms(2_000)
    net.send(b, "of b")
    net.until(lambda: "of b" in texts(net, c))
    assert "forged" not in texts(net, b) + texts(net, c)
    assert name_of(b) in "".join(map(name_of, net.members(c)))
