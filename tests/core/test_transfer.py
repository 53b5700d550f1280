"""Transfers of state from member to member, by the machine alone (docs/protocols/state.md)."""

from __future__ import annotations

import pytest

from gcom.core.delivery_queue import DeliveryQueue, Handed
from gcom.core.messages.effects import (
    AwaitState,
    Deliver,
    DeliverUnicast,
    Ended,
    Installed,
    KeepState,
    SetState,
    Skip,
    StateUnavailable,
    TakeState,
)
from gcom.core.messages.frames import Decision, Keeping, Source, Standing, StateChunk, StateRefused
from gcom.core.state_transfer.donors import leaver_to_keep, sources
from gcom.core.state_transfer.transfer import STANDINGS, OwnState, Transfer
from gcom.values import limits
from gcom.values.lineage import NO_EXTENT, Extent, rank
from gcom.values.names import Process
from tests.core.making import A, B, C, D, run, view

NOTHING, LATER, AWAITED, WHOLE = (Standing(keeping) for keeping in Keeping)


def decision(number: int, given: dict[Process, Source], *members: Process) -> Decision:
    return Decision(view(*(members or (A, B, C)), number=number), (), {}, {}, sources=given)


def awaited(source: Source, *failed: Process, own: Extent = NO_EXTENT) -> Standing:
    return Standing(Keeping.AWAITED, source, failed, own)


def waiting(source: Source = (A, 2), now_ms: int = 0) -> Transfer:
    """C, which gives and takes, on its way in."""
    transfer = Transfer(C, gives=True, takes=True)
    transfer.enter(decision(source[1], {C: source}), now_ms, "i")
    return transfer


def creator() -> Transfer:
    transfer = Transfer(A, gives=True, takes=True)
    transfer.found("i")
    return transfer


def test_the_table_of_standings_lists_every_one() -> None:
    assert set(STANDINGS) == set(Keeping)


@pytest.mark.parametrize(
    ("standings", "joiners", "expected"),
    [
        ({A: WHOLE, B: WHOLE}, {C: 0}, {C: (A, 7)}),
        ({A: NOTHING, B: LATER, C: WHOLE}, {D: NO_EXTENT}, {D: (C, 7)}),
        ({A: NOTHING, B: LATER, C: LATER}, {D: NO_EXTENT}, {D: (B, 7)}),
        ({A: WHOLE, B: WHOLE}, {}, {}),
        ({A: WHOLE, B: awaited((A, 4))}, {}, {B: (A, 4)}),  # goes on
        ({B: awaited((A, 4)), C: WHOLE}, {}, {B: (C, 7)}),  # the donor is gone
        ({A: WHOLE, B: awaited((A, 4), A), C: WHOLE}, {D: NO_EXTENT}, {B: (C, 7), D: (A, 7)}),  # it has failed b only
        ({A: WHOLE, B: awaited((A, 4), A)}, {}, {}),
        ({B: awaited((A, 4)), C: awaited((A, 5))}, {D: NO_EXTENT}, {B: (B, 7), C: (B, 7), D: (B, 7)}),  # the longest
        ({A: NOTHING}, {D: NO_EXTENT}, {}),  # who enters now has seen nothing
    ],
)
def test_whose_state_each_is_given(
    standings: dict[Process, Standing], joiners: dict[Process, Extent], expected: dict[Process, Source]
) -> None:
    assert sources(7, standings, joiners) == expected


@pytest.mark.parametrize(
    ("standings", "joiners", "expected", "merging"),
    [
        (
            {B: awaited((A, 4)), C: awaited((A, 5), own=(3, 0))},
            {D: NO_EXTENT},
            {B: (C, 7), C: (C, 7), D: (C, 7)},
            {B: (B, 7), C: (B, 7), D: (B, 7)},
        ),
        (  # it reaches further
            {B: awaited((A, 4), own=(2, 0)), C: awaited((A, 5), own=(3, 0))},
            {},
            {B: (C, 7), C: (C, 7)},
            {B: (C, 7), C: (C, 7)},
        ),
        (  # the older of equals
            {B: awaited((A, 4), own=(3, 0)), C: awaited((A, 5), own=(3, 0))},
            {},
            {B: (B, 7), C: (B, 7)},
            {B: (B, 7), C: (B, 7)},
        ),
        (
            {B: awaited((A, 4), own=(3, 4)), C: awaited((A, 5), own=(3, 5))},
            {},
            {B: (C, 7), C: (C, 7)},
            {B: (C, 7), C: (C, 7)},
        ),
        (  # back in this very change
            {A: NOTHING, B: awaited((C, 4))},
            {D: (3, 0)},
            {B: (D, 7), D: (D, 7)},
            {B: (B, 7), D: (B, 7)},
        ),
        (  # the one that the group goes on with
            {A: LATER, B: awaited((A, 4), own=(3, 0))},
            {},
            {B: (A, 4)},
            {B: (A, 4)},
        ),
        (  # it has failed b
            {B: awaited((C, 4), C), C: awaited((A, 5), own=(3, 0))},
            {},
            {C: (C, 7)},
            {B: (B, 7), C: (B, 7)},
        ),
    ],
)
def test_who_waits_and_was_in_before_gives_its_own_where_nobody_has_more(
    standings: dict[Process, Standing],
    joiners: dict[Process, Extent],
    expected: dict[Process, Source],
    merging: dict[Process, Source],
) -> None:
    assert sources(7, standings, joiners) == expected
    assert sources(7, standings, joiners, merging=True) == merging


@pytest.mark.parametrize(
    ("standings", "leavers", "joiners", "kept"),
    [
        ({A: WHOLE, B: awaited((A, 4))}, (A,), {}, None),  # a was named, and leaves all the same
        ({A: WHOLE, B: awaited((C, 4))}, (A,), {}, A),  # c is dead
        ({A: WHOLE, B: awaited((C, 4)), D: WHOLE}, (A,), {}, None),
        ({A: WHOLE, B: awaited((C, 4)), D: LATER}, (A,), {}, A),
        ({A: LATER, B: awaited((C, 4))}, (A,), {}, A),
        ({A: LATER, B: awaited((C, 4)), D: LATER}, (A,), {}, None),
        ({A: LATER, B: awaited((C, 4)), D: WHOLE}, (A, D), {}, D),
        ({A: WHOLE, B: awaited((C, 4)), D: WHOLE}, (A, D), {}, A),
        ({A: WHOLE, B: awaited((C, 4), A)}, (A,), {}, None),  # a has failed b
        ({A: WHOLE, B: awaited((C, 4), D), D: WHOLE}, (A,), {}, A),  # d has failed b
        ({A: WHOLE, B: NOTHING}, (A,), {}, None),  # nobody takes it
        ({A: WHOLE, B: NOTHING}, (A,), {C: NO_EXTENT}, A),
        ({A: awaited((C, 4)), B: awaited((C, 5))}, (A,), {}, A),  # a has waited longer
        ({A: awaited((C, 4)), B: awaited((C, 5))}, (B,), {}, None),
        ({A: awaited((C, 4)), B: awaited((C, 5), own=(3, 0))}, (B,), {}, B),
        ({A: awaited((C, 4)), B: NOTHING}, (A,), {D: NO_EXTENT}, A),
        ({A: awaited((C, 4)), B: NOTHING}, (A,), {}, None),
        ({A: NOTHING, B: awaited((C, 4))}, (A,), {}, None),
        ({A: awaited((A, 4)), B: awaited((A, 4))}, (A,), {}, None),
        ({}, (), {D: NO_EXTENT}, None),
    ],
)
def test_which_leaver_stays_as_a_donor(
    standings: dict[Process, Standing], leavers: tuple[Process, ...], joiners: dict[Process, Extent], kept: str | None
) -> None:
    assert leaver_to_keep(standings, leavers, joiners) == kept
    assert leaver_to_keep(standings, leavers, joiners, anew=True) == kept


def test_which_leaver_stays_where_views_are_numbered_anew_or_states_merge() -> None:
    kept_through = {A: WHOLE, B: awaited((D, 4)), D: LATER}  # a state that is under way is not given up for a whole one
    assert leaver_to_keep(kept_through, (A,), {}) is None
    assert leaver_to_keep(kept_through, (A,), {}, anew=True) == A
    with_its_own = {A: awaited((C, 4)), B: awaited((C, 5), own=(3, 0))}
    assert leaver_to_keep(with_its_own, (B,), {}) == B
    assert leaver_to_keep(with_its_own, (B,), {}, merging=True) is None


@pytest.mark.parametrize(
    ("own", "since", "uncovered"),
    [
        (None, 9, False),  # a newcomer has nothing to lose
        (OwnState("i", 0), 0, False),  # nobody lost anything meanwhile
        (OwnState("i", 0), 9, True),
        (OwnState("i", 5), 9, True),
        (OwnState("i", 9), 9, False),  # it was told of that loss
        (OwnState("i", 9), 5, False),  # which goes further back
        (OwnState("another", 0), 9, False),  # told as it entered
    ],
)
def test_who_comes_back_is_told_that_the_state_has_nothing_of_its_own(
    own: OwnState | None, since: int, uncovered: bool
) -> None:
    transfer = Transfer(C, gives=True, takes=True, own=own)
    transfer.enter(decision(2, {C: (A, 2)}), 0, "i")
    assert transfer.on_chunk(A, StateChunk(2, 1, 1, b"s", since), 0) == [SetState(2, b"s", A, uncovered, (0, since))]
    assert transfer.own == OwnState("i", since, (rank("i", 2), 0))
    transfer.install(decision(3, {D: (C, 3)}), 0)
    transfer.on_taken(3, b"s", "")
    assert transfer.item_for(D, data_waits=False, now_ms=0) == StateChunk(3, 1, 1, b"s", since)


def test_a_loss_is_of_its_view_and_of_its_generation() -> None:
    transfer = Transfer(C, gives=True, takes=True, own=OwnState("i-1-7", 0))
    transfer.enter(decision(2, {}), 0, "i-1-7")
    assert transfer.own == OwnState("i-1-7", rank("i-1-7", 2), (rank("i-1-7", 2), 0))
    (lost,) = Transfer(C, gives=True, takes=True, own=transfer.own).enter(decision(3, {}), 0, "i-1-7")
    assert lost == StateUnavailable(3, "no member has it", uncovered=True)


def test_who_goes_on_in_a_successor_begun_anew_still_has_a_state_of_its_own() -> None:
    before = Transfer(A, gives=True, takes=True, own=OwnState("i", 0))
    before.enter(decision(2, {A: (B, 2)}), 0, "i")
    goes_on = Transfer(A, gives=True, takes=True)
    goes_on.inherit(before, "i-1.1-c")
    goes_on.enter(decision(1, {A: (C, 1)}), 0, "i-1.1-c")
    assert goes_on.own == OwnState("i-1.1-c", 0)


def test_one_of_those_given_up_has_no_state_of_its_own_in_the_successor() -> None:
    back = Transfer(B, gives=True, takes=True, own=OwnState("i", 0))
    back.enter(decision(2, {B: (A, 2)}), 0, "i-1.1-c")
    assert back.own is None


@pytest.mark.parametrize(("instance", "since"), [("i", 0), ("i-2-9", rank("i-2-9", 1))])
def test_who_founds_a_successor_with_nothing_has_lost_all_that_was_before(instance: str, since: int) -> None:
    founder = Transfer(A, gives=True, takes=True)
    founder.found(instance)
    founder.install(decision(2, {B: (A, 2)}), 0)
    founder.on_taken(2, b"new", "")
    back = Transfer(B, gives=True, takes=True, own=OwnState("i", 0))
    back.enter(decision(2, {B: (A, 2)}), 0, instance)
    chunk = founder.item_for(B, data_waits=False, now_ms=0)
    assert chunk == StateChunk(2, 1, 1, b"new", since)
    assert back.on_chunk(A, chunk, 0) == [SetState(2, b"new", A, since > 0, (0, 1) if since else (0, 0))]


@pytest.mark.parametrize(("instance", "since"), [("i-2-9", 7), ("another", 0)])
def test_who_founds_a_successor_has_lost_what_it_had_lost_before(instance: str, since: int) -> None:
    transfer = Transfer(A, gives=True, takes=True, own=OwnState("i-1-7", 7))
    transfer.found(instance)
    assert transfer.own == OwnState(instance, since, (rank(instance, 1), 0))


def test_who_is_named_goes_on_with_its_own_and_gives_it() -> None:
    transfer = Transfer(C, gives=True, takes=True, own=OwnState("i", 0, (rank("i", 3), 8)))
    transfer.enter(decision(5, {C: (A, 5)}), 0, "i")
    assert transfer.standing == Standing(Keeping.AWAITED, (A, 5), (), (rank("i", 3), 8))
    assert transfer.install(decision(6, {C: (C, 6), B: (C, 6)}, B, C), 0) == [
        KeepState(6, "no member has it"),
        TakeState(6),
    ]
    transfer.on_taken(6, b"own", "")
    # Whoever comes back with what came while it was out is told that this has nothing of it, and who held that back.
    assert transfer.item_for(B, data_waits=False, now_ms=0) == StateChunk(6, 1, 1, b"own", rank("i", 5))
    assert transfer.own == OwnState("i", rank("i", 5), (rank("i", 6), 0))


def test_a_state_of_its_own_counts_only_in_what_came_of_its_instance() -> None:
    transfer = Transfer(C, gives=True, takes=True, own=OwnState("i-1-7", 0, (rank("i-1-7", 3), 8)))
    assert transfer.own_in("i-2-9") == transfer.own_in("i-1-7") == (rank("i-1-7", 3), 8)
    assert transfer.own_in("i-2.2-9") == transfer.own_in("i-1-8") == transfer.own_in("another") == NO_EXTENT


def test_who_begins_beside_one_that_may_have_more_of_something_says_so() -> None:
    """Its state counts as whole from then on, so that the other's application is handed its own."""
    transfer = Transfer(C, gives=True, takes=True, own=OwnState("i", 0, (rank("i", 3), 8)))
    assert transfer.found("i-1-9", beside=True) == [KeepState(1, "no member has it")]
    assert transfer.own == OwnState("i-1-9", rank("i-1-9", 1), (rank("i-1-9", 1), 0))
    assert Transfer(C, gives=True, takes=True).found("i-1-9", beside=True) == []


@pytest.mark.parametrize("instance", ["i-1-9", "i-1.2-9", "another"])
def test_who_begins_a_name_anew_is_told_that_what_came_meanwhile_is_lost(instance: str) -> None:
    transfer = Transfer(C, gives=True, takes=True, own=OwnState("i", 0, (rank("i", 3), 8)))
    assert transfer.found(instance) == [KeepState(1, "no member has it", has_all=True)]
    # It counts as whole since when it did: of those who may come back nobody has what it lacks.
    assert transfer.own == OwnState(instance, 0, (rank(instance, 1), 0))
    side = Transfer(C, gives=True, takes=True, own=OwnState("i", 0, (rank("i", 3), 8)))
    assert side.found(instance, merging=True) == []


def test_who_founds_a_successor_while_it_waits_goes_on_with_its_own() -> None:
    transfer = Transfer(C, gives=True, takes=True, lacking=True, own=OwnState("i", 0, (rank("i", 3), 8)))
    assert transfer.found("i-1-9") == [KeepState(1, "no member has it")]
    assert transfer.keeping is Keeping.WHOLE


def test_who_founds_a_side_while_it_waits_goes_on_with_its_own() -> None:
    """A side is an instance of its own: in a PRIMARY group the application is handed its state, and begins empty."""
    waits = [Transfer(C, gives=True, takes=True, lacking=True, own=OwnState("i", 0, (rank("i", 3), 8))) for _ in "12"]
    assert waits[0].found("side", merging=True) == [KeepState(1, "no member has it")]
    assert waits[1].found("side") == [StateUnavailable(1, "no member has it", uncovered=True)]
    without = Transfer(C, gives=True, takes=True, lacking=True)
    assert without.found("side", merging=True) == [StateUnavailable(1, "no member has it")]


def test_a_joiner_waits_holds_chunks_in_order_and_has_the_state_with_the_last() -> None:
    transfer = waiting()
    assert transfer.standing == awaited((A, 2))
    assert transfer.on_chunk(A, StateChunk(2, 2, 3, b"b"), 0) == []
    assert transfer.on_chunk(A, StateChunk(2, 1, 3, b"a"), 0) == []
    assert transfer.on_chunk(A, StateChunk(2, 1, 3, b"a"), 0) == []  # once more
    assert transfer.on_chunk(A, StateChunk(2, 2, 4, b"b"), 0) == []  # of another state
    assert transfer.on_chunk(B, StateChunk(2, 2, 3, b"x"), 0) == []
    assert transfer.on_chunk(A, StateChunk(1, 2, 3, b"x"), 0) == []
    assert (transfer.held(A), transfer.held(B)) == (1, 0)
    assert transfer.on_chunk(A, StateChunk(2, 2, 3, b"b"), 0) == []
    assert transfer.on_chunk(A, StateChunk(2, 3, 3, b"c"), 0) == [SetState(2, b"abc", A)]
    assert transfer.standing == WHOLE
    assert transfer.held(A) == 3  # said on, so that the donor learns it
    assert transfer.on_chunk(A, StateChunk(2, 3, 3, b"c"), 0) == []


def test_one_that_has_promised_does_not_complete_before_the_install() -> None:
    """1. C holds all but a chunk, and promises that it waits. 2. The chunk comes. 3. The value names its source.

    Where A has died, and C has waited longest, that is its own: so it has the whole. Else it is another's.
    """
    going_on, longest, later = waiting(), waiting(), waiting()
    for transfer in (going_on, longest, later):
        transfer.wedge(0)
        assert transfer.on_chunk(A, StateChunk(2, 1, 1, b"s"), 0) == []
        assert transfer.standing == awaited((A, 2))
    assert going_on.install(decision(3, {C: (A, 2)}), 0) == [SetState(2, b"s", A)]
    assert longest.install(decision(3, {B: (C, 3), C: (C, 3)}, B, C), 0) == [SetState(2, b"s", A), TakeState(3)]
    assert later.install(decision(3, {B: (B, 3), C: (B, 3)}, B, C), 0) == []
    assert later.keeping is Keeping.AWAITED


def test_one_that_goes_over_into_a_successor_has_what_came_whole_since_its_promise() -> None:
    longest, later, lacks_a_part = waiting(), waiting(), waiting()
    for transfer in (longest, later, lacks_a_part):
        transfer.wedge(0)
        transfer.on_chunk(A, StateChunk(2, 1, 2, b"s"), 0)
    for transfer in (longest, later):
        transfer.on_chunk(A, StateChunk(2, 2, 2, b"t"), 0)
    assert longest.succeed(decision(1, {B: (C, 1), C: (C, 1)}, B, C)) == [SetState(2, b"st", A)]
    assert longest.keeping is Keeping.WHOLE
    assert later.succeed(decision(1, {C: (B, 1)}, B, C)) == []  # it is given what B begins with
    assert later.succeed(decision(1, {}, B, C)) == []
    assert lacks_a_part.succeed(decision(1, {B: (C, 1), C: (C, 1)}, B, C)) == []
    assert lacks_a_part.keeping is Keeping.AWAITED


def test_who_has_waited_longest_goes_on_with_what_came_since_it_entered() -> None:
    longest = waiting()
    lost = StateUnavailable(3, "no member has it")
    assert longest.install(decision(3, {B: (C, 3), C: (C, 3)}, B, C), 0) == [lost, TakeState(3)]
    assert longest.keeping is Keeping.WHOLE


def test_one_that_goes_on_so_and_gives_no_state_says_so_at_once() -> None:
    longest = Transfer(C, gives=False, takes=True)
    longest.enter(decision(2, {C: (A, 2)}), 0, "i")
    assert longest.install(decision(3, {B: (C, 3), C: (C, 3)}, B, C), 0) == [StateUnavailable(3, "no member has it")]
    assert longest.owes, "or no frame would look for it"
    assert not longest.gives_or_asks
    assert longest.item_for(B, False, 0) == StateRefused(3, "it keeps no state that it can give")
    longest.on_status(B, 0, needs_donor=True)
    assert not longest.owes


def test_another_donor_begins_from_the_first_chunk() -> None:
    transfer = waiting()
    transfer.on_chunk(A, StateChunk(2, 1, 2, b"a"), 0)
    assert transfer.install(decision(3, {C: (B, 3)}, B, C), 0) == []
    assert (transfer.held(A), transfer.held(B)) == (0, 0)
    assert transfer.on_chunk(B, StateChunk(3, 1, 1, b"b"), 0) == [SetState(3, b"b", B)]


def test_a_donor_that_gives_nothing_for_long_has_failed_and_the_pauses_of_the_joiner_do_not_count() -> None:
    transfer = waiting()
    now_ms = 0
    while now_ms < limits.STATE_MS - 200:
        now_ms += 100
        transfer.tick(now_ms)
    assert not transfer.needs_donor
    now_ms += 60_000  # a pause of its own
    transfer.tick(now_ms)
    assert not transfer.needs_donor
    for _ in range(3):
        now_ms += 100
        transfer.tick(now_ms)
    assert transfer.needs_donor
    assert transfer.standing == awaited((A, 2), A)
    transfer.install(decision(3, {C: (B, 3)}), now_ms)
    assert not transfer.needs_donor


def test_a_refusal_of_another_barrier_changes_nothing() -> None:
    transfer = waiting()
    transfer.on_refused(A, StateRefused(1, "no"))
    transfer.on_refused(B, StateRefused(2, "no"))
    assert not transfer.needs_donor
    transfer.on_refused(A, StateRefused(2, "no"))
    assert transfer.needs_donor


def test_a_donor_is_asked_once_at_the_barrier_and_puts_chunks_until_each_has_them() -> None:
    limit = limits.STATE_CHUNK_BYTES
    transfer = creator()
    assert transfer.install(decision(2, {B: (A, 2), C: (A, 2)}), 0) == [TakeState(2)]
    assert transfer.item_for(B, data_waits=False, now_ms=0) is None  # not taken yet
    transfer.on_taken(2, b"x" * (limit + 1), "")
    first = transfer.item_for(B, data_waits=False, now_ms=0)
    assert first == StateChunk(2, 1, 2, b"x" * limit)
    assert transfer.item_for(B, data_waits=False, now_ms=10) is None  # put, and not confirmed
    assert transfer.item_for(B, data_waits=False, now_ms=limits.RESEND_MS) == first
    transfer.on_failed(B)
    assert transfer.item_for(B, data_waits=False, now_ms=limits.RESEND_MS) == first
    transfer.on_status(B, 1, needs_donor=False)
    assert transfer.item_for(B, data_waits=True, now_ms=300) is None  # data's turn
    assert transfer.item_for(B, data_waits=True, now_ms=300) == StateChunk(2, 2, 2, b"x")
    transfer.on_status(B, 2, needs_donor=False)
    assert transfer.giving
    transfer.on_status(C, 2, needs_donor=False)
    assert not transfer.owes


def test_a_donor_forgets_who_is_named_no_more_and_what_nobody_needs() -> None:
    transfer = creator()
    transfer.install(decision(2, {B: (A, 2), C: (A, 2)}), 0)
    assert transfer.install(decision(3, {C: (A, 2)}, A, C), 0) == []
    assert transfer.asks(2)
    assert transfer.install(decision(4, {}, A, C), 0) == []
    assert not transfer.asks(2)
    transfer.on_taken(2, b"x", "")
    assert not transfer.owes


def test_a_callback_that_fails_is_told_to_all_who_wait_for_it() -> None:
    transfer = creator()
    transfer.install(decision(2, {B: (A, 2), C: (A, 2)}), 0)
    transfer.on_taken(2, None, "its get_state raised")
    for peer in (B, C):
        assert transfer.owes
        assert transfer.item_for(peer, data_waits=False, now_ms=0) == StateRefused(2, "its get_state raised")
        transfer.on_status(peer, 0, needs_donor=False)  # it has not heard
        assert transfer.item_for(peer, data_waits=False, now_ms=limits.RESEND_MS) is not None
        transfer.on_status(peer, 0, needs_donor=True)
        assert transfer.item_for(peer, data_waits=False, now_ms=2 * limits.RESEND_MS) is None
    assert not transfer.owes


def test_one_that_is_named_as_donor_has_the_state_from_then_on() -> None:
    transfer = Transfer(B, gives=True, takes=False)
    transfer.enter(decision(2, {}), 0, "i")
    assert transfer.standing == LATER
    assert transfer.install(decision(3, {C: (B, 3)}), 0) == [TakeState(3)]
    assert transfer.standing == WHOLE


def test_one_that_only_takes_gives_nothing_when_it_has_it() -> None:
    transfer = Transfer(C, gives=False, takes=True)
    assert transfer.enter(decision(2, {C: (A, 2)}), 0, "i") == [AwaitState()]
    assert transfer.on_chunk(A, StateChunk(2, 1, 1, b""), 0) == [SetState(2, b"", A)]
    assert transfer.standing == NOTHING


def test_one_that_founds_a_group_anew_without_ever_having_got_the_state_says_that_it_is_lost() -> None:
    transfer = waiting()
    assert not creator().lacking
    assert transfer.lacking
    transfer.end(NO_EXTENT)
    again = Transfer("c#2", gives=True, takes=True, lacking=transfer.lacking)
    assert again.found("i") == [StateUnavailable(1, "no member has it")]
    assert again.standing == LATER
    back = Transfer("a#2", gives=True, takes=True, lacking=creator().lacking)
    assert back.found("i") == []
    assert back.standing == WHOLE


def test_what_is_over_gives_and_awaits_nothing() -> None:
    transfer = creator()
    transfer.install(decision(2, {B: (A, 2)}), 0)
    transfer.on_taken(2, b"x", "")
    transfer.end(NO_EXTENT)
    assert not transfer.owes
    assert not transfer.asks(2)
    joiner = waiting()
    joiner.end(NO_EXTENT)
    assert joiner.on_chunk(A, StateChunk(2, 1, 1, b"x"), 0) == []


class TestHandover:
    def test_it_is_closed_until_the_state_and_what_the_state_covers_is_dropped(self) -> None:
        queue: DeliveryQueue[Ended] = DeliveryQueue()
        old, lost, new = Deliver(run(A, 1, 3), 4), Skip(B, 1, 2, 4), Deliver(run(A, 4, 1, view=5), 5)
        barrier = Installed(view(A, B, number=5), (), {})
        for effect in (AwaitState(), Installed(view(A, B, number=4), (B,), {}), old, lost, barrier, new):
            assert queue.put(effect) == []
            assert not queue.queued
        state = SetState(5, b"")
        assert queue.put(state) == [old, lost]
        assert queue.is_open
        assert list(queue.queued) == [state, barrier, new]

    def test_a_loss_leaves_all_that_came_since_the_entry(self) -> None:
        queue: DeliveryQueue[Ended] = DeliveryQueue()
        old = Deliver(run(A, 1, 3), 4)
        entry = Installed(view(A, number=4), (B,), {})
        for effect in (AwaitState(), entry, old):
            queue.put(effect)
        loss, barrier = StateUnavailable(5, "no"), Installed(view(A, number=5), (), {})
        assert queue.put(loss) == []
        queue.put(barrier)
        assert list(queue.queued) == [loss, entry, old, barrier]

    def test_who_goes_on_with_its_own_is_handed_all_that_came_since_it_is_back(self) -> None:
        queue: DeliveryQueue[Ended] = DeliveryQueue()
        first, old = Installed(view(A, number=4), (B,), {}), Deliver(run(A, 1, 3), 4)
        for waiting in (AwaitState(), first, old):
            queue.put(waiting)
        restored = KeepState(5, "no")
        after: list[Handed] = [restored, TakeState(5)]
        for effect in after:
            assert queue.put(effect) == []
        assert list(queue.queued) == [restored, first, old, TakeState(5)]

    def test_one_that_was_never_closed_keeps_its_order(self) -> None:
        queue: DeliveryQueue[Ended] = DeliveryQueue()
        old, restored = Deliver(run(A, 1, 3), 4), KeepState(1, "no")
        queue.put(old)
        queue.put(restored)
        assert list(queue.queued) == [old, restored]

    def test_the_end_comes_without_the_rest_where_the_state_never_came(self) -> None:
        queue: DeliveryQueue[Ended] = DeliveryQueue()
        end = Ended(4, "expelled")
        for effect in (AwaitState(), Deliver(run(A, 1, 3), 4)):
            queue.put(effect)
        queue.end(end)
        assert list(queue.queued) == [end]

    def test_a_unicast_is_no_part_of_the_state(self) -> None:
        queue: DeliveryQueue[Ended] = DeliveryQueue()
        unicast, barrier = DeliverUnicast(A, "only you"), Installed(view(A, B, number=5), (), {})
        for effect in (AwaitState(), Installed(view(A, B, number=4), (B,), {}), unicast, barrier):
            queue.put(effect)
        state = SetState(5, b"")
        queue.put(state)
        assert list(queue.queued) == [state, barrier, unicast]

    def test_one_that_is_shut_hands_over_the_end_only(self) -> None:
        queue: DeliveryQueue[Ended] = DeliveryQueue()
        queue.put(Deliver(run(A, 1, 3), 4))
        queue.shut()
        queue.put(Deliver(run(A, 4, 3), 4))
        assert not queue.queued
        end = Ended(4, "request")
        queue.end(end)
        assert list(queue.queued) == [end]

    def test_an_open_one_keeps_everything_in_order(self) -> None:
        queue: DeliveryQueue[Ended] = DeliveryQueue()
        effects: list[Handed] = [
            Deliver(run(A, 1, 3), 4),
            TakeState(5),
            Installed(view(A, number=5), (), {}),
        ]
        for effect in effects:
            assert queue.put(effect) == []
        assert list(queue.queued) == effects


def test_who_goes_on_in_a_successor_knows_who_has_failed_it() -> None:
    transfer = waiting()
    transfer.on_refused(A, StateRefused(2, "its get_state raised"))
    successor = Transfer(C, gives=True, takes=True)
    successor.inherit(transfer, "i-1-7")
    (lost,) = successor.enter(decision(1, {C: (C, 1)}), 0, "i-1-7")
    assert lost == StateUnavailable(1, f"{A}: its get_state raised")
