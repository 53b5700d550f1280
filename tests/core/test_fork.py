"""When too few are left for a quorum: the rest begins anew, as a new instance, by proof or by order, and once only."""

from __future__ import annotations

from gcom.core.group import Stage
from gcom.core.requests import Fork, Lookup
from gcom.values import limits
from tests.core.making import A, B, C, D, E
from tests.core.network import Network

A2, B2, C2 = "a#2", "b#2", "c#2"


def returning(*names: str) -> Network:
    net = Network()
    net.returning = True
    net.form(*names)
    return net


def reason(net: Network, who: str) -> str:
    end = net.end(who)
    assert end is not None, net.describe()
    return end.reason


def test_trace_10_the_one_that_is_left_of_three_goes_on_as_a_new_instance() -> None:
    net = returning("a", "b", "c")
    net.kill(A)
    net.kill(B)
    killed_ms = net.now_ms
    net.until_view(C2)
    assert reason(net, C) == "fork"
    assert net.machines[C2].instance != net.machines[C].instance
    assert net.now_ms - killed_ms <= limits.PROOF_MS + 500
    again = [net.start(name, "7") for name in ("a", "b")]  # its name does not keep the others out
    net.until_view(C2, *again)


def test_the_leader_that_is_left_of_three_does_not_wait_for_its_own_lease() -> None:
    net = returning("a", "b", "c")
    net.kill(B)
    net.kill(C)
    killed_ms = net.now_ms
    net.until_view(A2)
    assert net.now_ms - killed_ms <= limits.PROOF_MS + 500


def test_of_two_the_one_that_is_not_the_tie_breaker_goes_on_by_proof() -> None:
    net = returning("a", "b")
    net.kill(A)
    net.until_view(B2)


def test_of_several_that_are_left_the_first_to_claim_goes_on_and_the_others_join_it() -> None:
    net = returning("a", "b", "c", "d", "e")
    for who in (A, B, C):
        net.kill(who)
    net.until_view("d#2", "e#2")
    assert net.machines["d#2"].instance == net.machines["e#2"].instance
    net.send("d#2", "on we go")
    net.until(lambda: net.delivered("e#2") == ["on we go"])


def test_silence_is_no_proof() -> None:
    net = returning("a", "b", "c")
    net.kill(A)
    net.cut_off.add(B)
    net.pass_ms(30_000)
    assert reason(net, C) == "quorum"
    assert net.machines[C2].stage is Stage.ENTERING
    assert net.machines[net.latest(B)].stage is Stage.ENTERING
    net.heal()
    both = (net.latest(B), net.latest(C))
    net.until_view(*both)


def test_a_member_that_was_paused_does_not_go_on_beside_those_that_did_without_it() -> None:
    """1. A is paused; B and C go on with D, E and F, and die. 2. A wakes, and proves those dead whom it knew."""
    net = returning("a", "b", "c")
    net.pause(A)
    net.until_view(B, C)
    rest = [net.start(name) for name in ("d", "e", "f")]
    net.until_view(B, C, *rest)
    net.kill(B)
    net.kill(C)
    net.resume(A)
    net.until(lambda: net.members(rest[0]) == {*rest, A2})
    assert net.machines[A2].instance == net.machines[D].instance == net.machines[A].instance


def test_not_even_when_the_registry_has_not_heard_of_their_view() -> None:
    net = returning("a", "b", "c")
    net.pause(A)
    net.split("a", "registry b c d e f")
    net.until_view(B, C)
    net.split("registry", "b c")
    rest = [net.start(name) for name in ("d", "e", "f")]
    net.until(lambda: all(net.members(who) == {B, C, *rest} for who in rest))
    net.kill(B)
    net.kill(C)
    net.resume(A)
    net.until(lambda: net.members(rest[0]) == {*rest, A2})
    assert net.machines[A2].instance == net.machines[A].instance


def test_without_a_registry_nobody_forks_in_a_primary_group() -> None:
    net = returning("a", "b", "c")
    net.registry_up = False
    net.kill(A)
    net.kill(B)
    net.pass_ms(20_000)
    assert net.machines[C2].stage is Stage.ENTERING
    net.registry_up = True
    net.until_view(C2)


def test_an_operator_lets_the_detached_begin_anew_and_the_old_primary_gives_way() -> None:
    net = returning("a", "b", "c", "d", "e")
    net.split("a b registry", "c d e")
    net.until_view(C, D, E)
    net.pass_ms(10_000)
    assert net.machines[A2].stage is net.machines[B2].stage is Stage.ENTERING
    found = net.directory.ask(Lookup("g"), net.now_ms)
    net.directory.ask(Fork("g", net.machines[A].instance), net.now_ms)
    net.until(lambda: net.members(A2) == net.members(B2) == {A2, B2})
    assert net.machines[A2].instance != net.machines[A].instance == found.instance  # type: ignore[union-attr]
    net.send(D, "before the heal")
    net.pass_ms(5_000)
    assert net.members(C) == {C, D, E}  # it cannot know
    net.heal()
    news = [net.latest(who) for who in (A, B)] + ["c#2", "d#2", "e#2"]
    net.until_view(*news)
    assert {reason(net, who) for who in (C, D, E)} == {"merge"}
    assert {end.settled for end in map(net.end, (C, D, E)) if end} != {None}
    assert net.delivered(C) == net.delivered(E) == ["before the heal"]


def test_an_order_to_fork_that_nobody_obeys_is_void_after_a_while() -> None:
    net = returning("a", "b")
    net.directory.ask(Fork("g", net.machines[A].instance), net.now_ms)
    net.pass_ms(limits.FORK_MS + 2 * limits.RENEW_MS)
    assert net.members(A) == {A, B}
    entry = net.directory.ask(Lookup("g"), net.now_ms)
    assert entry.alive  # type: ignore[union-attr]
    assert not entry.forked  # type: ignore[union-attr]
