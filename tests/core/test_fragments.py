"""Large messages: put together from fragments, whoever sends, relays, repeats or lies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.codec import frames as codec
from gcom.core.messages.frames import Frame, Status
from gcom.core.multicast.basic import Basic
from gcom.core.multicast.fragments import Assemblies
from gcom.core.multicast.reliable import Range, Reliable
from gcom.core.multicast.window import Load, OwnStream, RunStore
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import Process
from gcom.values.run import Fragment, Run
from tests.core.making import A, B, C, numbers, run, view
from tests.core.network import Network

LOAD = 1000  # bytes a frame
SIZE = 20 * LOAD
FIRST = view(A, B, C)


@pytest.fixture(scope="module", autouse=True)
def _small_frames() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "LOAD_BYTES_MAX", LOAD)
        patch.setattr(limits, "RUN_BYTES_MAX", LOAD - 64)
        yield


def large(sender: Process, number: int, size: int = SIZE, view: int = 1) -> Run:
    payload = bytes([number]) * size
    return Run(sender, view, number, {}, [payload], codec.encode_run(sender, view, number, {}, [payload]))


def cut(whole: Run, bytes_max: int = LOAD) -> list[Fragment]:
    """All fragments of a run, in order."""
    store = RunStore(whole.first - 1)
    store.append(whole)
    fragments: list[Fragment] = []
    place = (whole.first - 1, 0)
    while place != (whole.first, 0):
        load = store.load(*place, bytes_max)
        fragments += load.fragments
        place = load.end
    return fragments


# fragments and assemblies


@given(st.integers(0, 3000), st.integers(limits.FRAGMENT_HEADER_BYTES, 900))
def test_the_fragments_of_a_run_fit_and_are_its_bytes(size: int, bytes_max: int) -> None:
    whole = large(B, 7, size + 1000)
    fragments = cut(whole, bytes_max)
    assert b"".join(fragment.data for fragment in fragments) == whole.encoded
    head = Frame("g", "i", B, A, Status(1))
    for fragment in fragments[:2] + fragments[-1:]:
        carried = len(codec.encode(head._replace(fragments=(fragment,)))) - len(codec.encode(head))
        assert carried <= bytes_max


def test_small_runs_go_first_then_a_large_one_alone_then_the_rest() -> None:
    store = RunStore(0)
    for each in (run(A, 1, 2), large(A, 3), run(A, 4, 1)):
        store.append(each)
    load = store.load(0, 0, LOAD)
    assert (numbers(load.runs), load.fragments, load.end) == ([1, 2], (), (2, 0))
    load = store.load(2, 0, LOAD)
    assert (load.runs, [fragment.first for fragment in load.fragments]) == ((), [3])
    assert load.end == (2, LOAD - limits.FRAGMENT_HEADER_BYTES)
    assert numbers(store.load(3, 0, LOAD).runs) == [4]
    assert not store.load(4, 0, LOAD).size


def test_a_peer_that_claims_more_bytes_than_there_are_gets_them_from_the_beginning() -> None:
    store = RunStore(0)
    store.append(large(A, 1))
    for at_byte in (len(large(A, 1).encoded), 2**62):
        assert store.load(0, at_byte, LOAD).fragments[0].at_byte == 0


def test_a_run_is_whole_after_its_last_fragment_and_then_takes_no_memory() -> None:
    found, whole = Assemblies(), large(B, 1)
    fragments = cut(whole)
    assert [found.add(fragment) for fragment in fragments[:-1]] == [None] * (len(fragments) - 1)
    assert found.size(B, 1) == fragments[-1].at_byte
    assert found.add(fragments[-1]) == whole
    assert found.size(B, 1) == 0


def test_a_fragment_that_does_not_continue_what_is_here_is_ignored() -> None:
    found = Assemblies()
    fragments = cut(large(B, 2))
    for fragment in (fragments[1], fragments[0], fragments[0], fragments[2], *cut(large(B, 1))[:1]):
        found.add(fragment)
    assert found.size(B, 2) == fragments[1].at_byte


def test_each_sender_has_one_assembly_and_a_later_message_replaces_it() -> None:
    found = Assemblies()
    for sender in (B, C):
        found.add(cut(large(sender, 1))[0])
    found.add(cut(large(B, 2))[0])
    assert (found.size(B, 1) > 0, found.size(B, 2) > 0, found.size(C, 1) > 0) == (False, True, True)


def test_what_is_given_up_is_thrown_away() -> None:
    found = Assemblies()
    found.add(cut(large(B, 5))[0])
    found.drop(B, 1, 4)
    found.drop(C, 1, 9)
    assert found.size(B, 5) > 0
    found.drop(B, 3, 5)
    assert found.size(B, 5) == 0


def _lies() -> dict[str, Run]:
    two = codec.encode_run(B, 1, 1, {}, ["x" * LOAD, "y"])
    honest = large(B, 1)
    return {
        "of another sender": replace(honest, encoded=large(C, 1).encoded),
        "of another number": replace(honest, encoded=large(B, 2).encoded),
        "of another view": replace(honest, encoded=large(B, 1, view=2).encoded),
        "of two messages": replace(honest, encoded=two),
        "no run": replace(honest, encoded=b"\xc1" * 3 * LOAD),
    }


@pytest.mark.parametrize("what", _lies())
def test_bytes_that_are_not_what_their_fragments_said_are_thrown_away(what: str) -> None:
    found = Assemblies()
    assert [found.add(fragment) for fragment in cut(_lies()[what])][-1] is None
    assert found.size(B, 1) == 0
    assert [found.add(fragment) for fragment in cut(large(B, 1))][-1] == large(B, 1)


def test_a_lie_about_the_total_takes_no_memory_and_is_overcome() -> None:
    found = Assemblies()
    fragments = cut(large(B, 1))
    found.add(replace(fragments[0], total=limits.LARGE_RUN_BYTES_MAX))
    assert found.size(B, 1) == len(fragments[0].data)
    found.add(fragments[1])  # the honest one goes on from what is here
    assert found.size(B, 1) == 0
    assert [found.add(fragment) for fragment in fragments][-1] == large(B, 1)


# one multicast, step by step


def reliable() -> Reliable:
    multicast = Reliable(A)
    multicast.install(FIRST, {})
    for peer in (B, C):
        multicast.on_status(peer, Status(1))
    return multicast


def test_a_sender_goes_back_to_the_bytes_that_the_peer_has() -> None:
    multicast = reliable()
    multicast.submit(large(A, 1))
    fragments = cut(large(A, 1))
    assert multicast.take(B, LOAD) == Load(fragments=(fragments[0],))
    assert multicast.take(B, LOAD) == Load(fragments=(fragments[1],))
    multicast.on_status(B, Status(1, partial=fragments[1].at_byte))
    multicast.on_replied(B)
    assert multicast.take(B, LOAD) == Load(fragments=(fragments[1],))
    multicast.on_failed(B)
    assert multicast.take(B, LOAD) == Load(fragments=(fragments[1],))
    assert multicast.take(C, LOAD) == Load(fragments=(fragments[0],))


def test_a_status_that_was_overtaken_says_nothing_of_the_run_that_follows() -> None:
    out = OwnStream(A, 0)
    out.install([B])
    out.add(run(A, 1, 1))
    out.add(large(A, 2))
    peer = out.peers[B]
    out.on_status(peer, 1, 0, partial=500)
    out.on_status(peer, 0, 0, partial=9)
    assert (peer.held, peer.partial) == (1, 500)
    out.on_status(peer, 1, 0, partial=0)  # what it had was a lie, and is thrown away
    assert (peer.held, peer.partial) == (1, 0)


def test_fragments_are_acknowledged_as_bytes_and_the_run_as_held() -> None:
    multicast = reliable()
    fragments = cut(large(B, 1))
    for fragment in fragments[:-1]:
        assert multicast.assemble(fragment, 0) is None
    assert (multicast.held(B), multicast.partial(B), multicast.holdings()[B]) == (0, fragments[-1].at_byte, 0)
    whole = multicast.assemble(fragments[-1], 0)
    assert whole is not None
    assert multicast.receive(whole, 0) == [large(B, 1)]
    assert (multicast.held(B), multicast.partial(B)) == (1, 0)


@pytest.mark.parametrize("wrong", [large(B, 2), large(B, 1, view=2), large("x#1", 1), large(A, 1)])
def test_fragments_of_a_run_that_would_not_be_stored_take_no_memory(wrong: Run) -> None:
    multicast = reliable()
    for fragment in cut(wrong):
        assert multicast.assemble(fragment, 0) is None
    assert multicast.assemblies.open == {}


def test_after_a_promise_only_fragments_of_the_cut_are_taken_and_nothing_is_acknowledged() -> None:
    multicast = reliable()
    fragments = cut(large(B, 1))
    multicast.assemble(fragments[0], 0)
    multicast.wedge()
    multicast.assemble(fragments[1], 0)
    assert multicast.partial(B) == 0
    assert multicast.missing({B: 1}, 0) == [Range(B, 1, 1, at_byte=fragments[1].at_byte)]
    for fragment in fragments[1:]:
        whole = multicast.assemble(fragment, 0)
    assert whole is not None
    assert multicast.receive(whole, 0) == []  # stored, and goes up with the cut
    assert multicast.missing({B: 1}, 0) == []
    assert multicast.assemble(cut(large(B, 2))[0], 0) is None
    assert multicast.close({A: 0, B: 1, C: 0}) == ([large(B, 1)], [])


def test_a_view_begins_without_fragments() -> None:
    multicast = reliable()
    multicast.assemble(cut(large(B, 1))[0], 0)
    multicast.install(view(A, B, C, number=2), {})
    assert multicast.assemblies.open == {}


def basic() -> Basic:
    multicast = Basic(A)
    multicast.install(FIRST, {})
    for peer in (B, C):
        multicast.on_status(peer, Status(1))
    return multicast


def test_basic_gives_up_the_rest_of_a_run_of_which_a_fragment_failed() -> None:
    multicast = basic()
    multicast.submit(large(A, 1))
    multicast.submit(run(A, 2, 1))
    multicast.take(B, LOAD)
    multicast.on_failed(B)
    assert multicast.out.peers[B].cursor == 1
    assert numbers(multicast.take(B, LOAD).runs) == [2]
    multicast.on_failed(B)
    assert not multicast.has_for(B)


def test_basic_counts_a_broken_run_as_missing_and_frees_it_when_it_is_given_up() -> None:
    multicast = basic()
    fragments = cut(large(B, 1))
    multicast.assemble(fragments[0], 0)
    multicast.receive(run(B, 2, 1), 10)
    multicast.assemble(fragments[1], 400)  # late, and not too late
    assert multicast.overdue(10 + limits.GAP_GRACE_MS) == []
    assert multicast.overdue(400 + limits.GAP_GRACE_MS) == [Range(B, 1, 1)]
    assert multicast.assemblies.open == {}
    assert multicast.assemble(fragments[2], 1000) is None


def test_basic_gives_up_what_is_missing_in_order() -> None:
    multicast = basic()
    fragments = cut(large(B, 1))
    multicast.assemble(fragments[0], 0)
    multicast.receive(run(B, 2, 1), 10)
    multicast.receive(run(B, 4, 1), 20)
    multicast.assemble(fragments[1], 400)
    assert multicast.overdue(20 + limits.GAP_GRACE_MS) == []
    assert multicast.overdue(400 + limits.GAP_GRACE_MS) == [Range(B, 1, 1), Range(B, 3, 3)]


def test_basic_takes_the_last_fragment_of_a_run_that_a_later_one_overtook() -> None:
    multicast = basic()
    fragments = cut(large(B, 1))
    for fragment in fragments[:-1]:
        multicast.assemble(fragment, 0)
    multicast.receive(run(B, 2, 1), 10)
    whole = multicast.assemble(fragments[-1], 20)
    assert whole is not None
    assert multicast.receive(whole, 20) == [large(B, 1)]
    assert multicast.overdue(10**6) == []


# groups


def held_in_fragments(net: Network, who: Process) -> int:
    """How many assemblies a process has."""
    member = net.machines[who]._member
    assert member is not None
    return len(member.streams.multicast.assemblies.open)


def fragments_between(net: Network, source: Process, target: Process) -> int:
    """Bytes that arrived in fragments from one at the other."""
    frames_between = [frame for frame in net.carried if (frame.source, frame.target) == (source, target)]
    return sum(len(fragment.data) for frame in frames_between for fragment in frame.fragments)


MESSAGE = "ü" * (SIZE // 2)


@pytest.mark.parametrize("multicast", ["RELIABLE", "BASIC"])
def test_a_large_message_goes_once_to_each_in_its_place(multicast: str) -> None:
    net = Network(Definition.parse("g", multicast=multicast))
    a, b, c = net.form("a", "b", "c")
    net.send(a, "before", MESSAGE, "after", "x" * (LOAD - 80), MESSAGE[:LOAD])
    net.until(lambda: all(len(net.delivered(who)) == 5 for who in (a, b, c)))
    for who in (a, b, c):
        assert net.delivered(who) == ["before", MESSAGE, "after", "x" * (LOAD - 80), MESSAGE[:LOAD]]
        assert held_in_fragments(net, who) == 0
    assert fragments_between(net, a, b) < SIZE + 5 * LOAD
    assert all(len(codec.encode(frame)) <= LOAD + limits.FRAME_HEADER_BYTES for frame in net.carried)


def test_scenario_04_no_survivor_keeps_a_part_of_what_a_dead_sender_had_begun() -> None:
    """Scenario 4."""
    net = Network()
    a, b, c = net.form("a", "b", "c")
    net.send(a, MESSAGE)
    net.until(lambda: fragments_between(net, a, b) > SIZE // 2 and fragments_between(net, a, c) > SIZE // 2)
    assert (held_in_fragments(net, b), held_in_fragments(net, c)) == (1, 1)
    net.kill(a)
    net.until_view(b, c)
    for who in (b, c):
        assert held_in_fragments(net, who) == 0
        assert net.delivered(who) == []
    net.send(b, MESSAGE)
    net.until(lambda: net.delivered(b) == net.delivered(c) == [MESSAGE])


def _keeps_from(net: Network, source: Process, target: Process) -> None:
    net.lose = lambda frame: bool(frame.fragments) and (frame.source, frame.target) == (source, target)


def test_what_one_survivor_has_whole_the_others_get_in_fragments_from_it() -> None:
    net = Network()
    a, b, c, d = net.form("a", "b", "c", "d")
    _keeps_from(net, a, c)
    net.send(a, MESSAGE)
    net.until(lambda: net.delivered(b) == [MESSAGE] and fragments_between(net, a, d) > SIZE // 2)
    net.kill(a)
    net.until_view(b, c, d)
    assert net.delivered(b) == net.delivered(c) == net.delivered(d) == [MESSAGE]
    assert fragments_between(net, b, c) > SIZE


def test_a_fetch_that_outlasts_a_change_goes_on_in_the_one_that_supersedes_it() -> None:
    net = Network()
    a, b, c, d = net.form("a", "b", "c", "d")
    _keeps_from(net, a, d)
    message = bytes(500 * LOAD)
    net.send(a, message)
    net.until(lambda: net.delivered(b) == net.delivered(c) == [message])
    net.kill(a)
    begun_ms = net.now_ms
    net.until_view(b, c, d)
    assert net.now_ms - begun_ms > 3 * limits.STALL_MS
    assert net.delivered(d) == [message]
    assert fragments_between(net, b, d) + fragments_between(net, c, d) < 1.2 * len(message)


def test_a_fetch_goes_on_at_the_next_holder_where_the_first_one_died() -> None:
    net = Network()
    a, b, c, d, e = net.form("a", "b", "c", "d", "e")
    _keeps_from(net, a, e)
    net.send(a, MESSAGE)
    net.until(lambda: all(net.delivered(who) == [MESSAGE] for who in (b, c, d)))
    net.kill(a)
    net.until(lambda: any(fragments_between(net, who, e) > SIZE // 2 for who in (b, c, d)))
    first = next(who for who in (b, c, d) if fragments_between(net, who, e))
    net.kill(first)
    rest = [who for who in (b, c, d, e) if who != first]
    net.until_view(*rest)
    assert all(net.delivered(who) == [MESSAGE] for who in rest)
    assert sum(fragments_between(net, who, e) for who in (b, c, d)) < SIZE + 6 * LOAD


@pytest.mark.parametrize("multicast", ["RELIABLE", "BASIC"])
def test_a_large_message_under_way_belongs_to_the_view_that_a_join_ends(multicast: str) -> None:
    net = Network(Definition.parse("g", multicast=multicast))
    a, b, c = net.form("a", "b", "c")
    net.send(a, MESSAGE)
    net.until(lambda: fragments_between(net, a, b) > 0)
    d = net.start("d")
    net.until_view(a, b, c, d)
    assert all(net.delivered(who) == [MESSAGE] for who in (a, b, c))
    assert net.delivered(d) == []
    net.send(a, MESSAGE, "end")
    net.until(lambda: net.delivered(d) == [MESSAGE, "end"])


def test_a_large_message_of_a_leaver_arrives() -> None:
    net = Network()
    a, b, c = net.form("a", "b", "c")
    net.send(b, MESSAGE)
    net.until(lambda: fragments_between(net, b, a) > 0)
    net.leave(b)
    net.until_view(a, c)
    assert net.delivered(a) == net.delivered(c) == [MESSAGE]
    net.until(lambda: net.end(b) is not None)
    end = net.end(b)
    assert end is not None
    assert (end.reason, end.unconfirmed) == ("request", None)


def test_heartbeats_and_other_streams_go_on_beside_a_large_message() -> None:
    net = Network()
    a, b, c = net.form("a", "b", "c")
    net.send(a, MESSAGE)
    net.until(lambda: fragments_between(net, a, b) > 0)
    net.send(b, "small")
    net.until(lambda: "small" in net.delivered(a) and "small" in net.delivered(c))
    assert net.delivered(a) == [MESSAGE, "small"]  # its own it has at once
    assert net.delivered(c) == ["small"]
    assert not any(net.suspected(who) for who in (a, b, c))


def test_one_large_message_is_let_in_while_the_window_has_any_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WINDOW_BYTES_MAX", SIZE // 2)
    net = Network()
    a, b = net.form("a", "b")
    net.slow.add(b)
    net.send(a, MESSAGE, MESSAGE, "x")
    net.until(lambda: net.delivered(b) == [MESSAGE])
    net.pass_ms(500)
    assert net.delivered(a) == [MESSAGE]
    assert net.machines[a].unsent_count == 2
    assert b in net.machines[a].waits_for
