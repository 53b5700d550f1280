"""Scenarios 35 to 40 of the rivals' checklist: split networks, bad links, and what becomes of the group afterwards."""

from __future__ import annotations

import pytest

from gcom.values.definition import Definition
from gcom.values.names import Process
from tests.core.islands import Islands
from tests.core.network import Network


def returning(*names: str, ordering: str = "FIFO", netsplit: str = "PRIMARY") -> Network:
    net = Network(Definition.parse("g", ordering, netsplit=netsplit))
    net.returning = True
    net.form(*names)
    return net


def latest(net: Network, names: str) -> list[Process]:
    return [net.latest(f"{name}#1") for name in names]


def together(net: Network, names: str) -> bool:
    """Whether these, as who they are now, and nobody else are in one view of one instance."""
    members = latest(net, names)
    return all(net.members(who) == set(members) for who in members)


@pytest.mark.parametrize("registry", ["a b c registry", "d e registry", "registry"])
@pytest.mark.parametrize("ordering", ["FIFO", "CAUSALTOTAL"])
def test_both_sides_of_a_partitionable_group_go_on(ordering: str, registry: str) -> None:
    net = returning("a", "b", "c", "d", "e", ordering=ordering, netsplit="PARTITIONABLE")
    sides = {"a b c", "d e", registry} - {registry.removesuffix(" registry")} | {registry}
    net.split(*sorted(sides))
    net.until(lambda: together(net, "abc") and together(net, "de"))
    assert net.instances_alive == 2
    d, e = latest(net, "de")
    net.send("b#1", "here")
    net.send(e, "there")
    net.until(lambda: all(net.delivered(who)[-1:] == ["here"] for who in ("a#1", "b#1", "c#1")))
    net.until(lambda: net.delivered(d) == net.delivered(e) == ["there"])
    net.pass_ms(30_000)
    assert together(net, "abc")
    assert together(net, "de")
    net.heal()
    net.until(lambda: together(net, "abcde"))
    assert net.latest("a#1") == "a#1"  # more members stay
    net.send("a#1", "all")
    net.until(lambda: all(net.delivered(who)[-1:] == ["all"] for who in latest(net, "abcde")))


@pytest.mark.parametrize("ordering", ["FIFO", "TOTAL"])
@pytest.mark.parametrize("registry", [True, False], ids=["registry", "no registry"])
def test_when_the_sides_meet_their_states_are_merged_everywhere_alike(ordering: str, registry: bool) -> None:
    net = Islands(Definition.parse("g", ordering, netsplit="PARTITIONABLE"))
    net.form("a", "b", "c", "d", "e")
    net.send("a#1", "before")
    net.until(lambda: all(net.texts(who) == {"before"} for who in latest(net, "abcde")))
    net.registry_up = registry
    net.split("a b registry", "c d e")
    net.until(lambda: together(net, "ab") and together(net, "cde"))
    net.send(net.latest("a#1"), "of a")
    net.send("d#1", "of d")
    net.until(lambda: net.texts("b#1") == {"before", "of a"} and net.texts("e#1") == {"before", "of d"})
    net.heal()
    net.until(lambda: together(net, "abcde"))
    every = {"before", "of a", "of d"}
    net.until(lambda: all(net.texts(who) == every for who in latest(net, "abcde")))
    assert net.application("c#1").merges
    assert net.latest("d#1") == "d#1"
