"""States that an application still has to bring, step by step; over whole groups: core/scenarios/test_splits.py."""

from __future__ import annotations

from gcom.core.state_transfer.reconciliation import StateReconciliation

ME, OTHER = "a#2", "b#1"


def joined(mine: bytes, theirs: bytes) -> bytes:
    return bytes(sorted({*mine, *theirs}))


def left(state: bytes = b"x") -> StateReconciliation:
    reconciliation = StateReconciliation()
    reconciliation.leave("i1", state, joined)
    return reconciliation


def test_what_it_had_is_brought_to_another_instance_until_it_is_merged() -> None:
    reconciliation = left()
    assert reconciliation.enter("i2", first=False) == b"x"
    assert not reconciliation.done
    reconciliation.merged(ME, OTHER, b"y", awaiting=False)
    assert not reconciliation.done
    reconciliation.merged(ME, ME, b"x", awaiting=False)
    assert reconciliation.done


def test_another_that_brings_the_same_saves_it_the_way() -> None:
    reconciliation = left()
    reconciliation.merged(ME, OTHER, b"x", awaiting=False)
    assert reconciliation.done


def test_who_comes_back_or_begins_an_instance_brings_nothing() -> None:
    assert left().enter("i1", first=False) is None
    assert left().enter("i2", first=True) is None


def test_what_could_not_be_brought_goes_along_to_the_next_be_it_the_same_again() -> None:
    for instance in ("i2", "i3"):
        reconciliation = left(b"x")
        assert reconciliation.enter("i2", first=False) == b"x"
        reconciliation.leave("i2", b"y", joined)
        assert reconciliation.enter(instance, first=False) == b"xy"


def test_what_was_merged_before_a_state_that_is_awaited_depends_on_that_state() -> None:
    for given in (True, False):
        reconciliation = left()
        reconciliation.enter("i2", first=False)
        reconciliation.merged(ME, ME, b"x", awaiting=True)
        assert not reconciliation.done
        if given:
            reconciliation.given()
            assert reconciliation.done
        assert reconciliation.lost() == (None if given else b"x")
        assert reconciliation.lost() is None
        assert reconciliation.done is given
    reconciliation = left()
    reconciliation.enter("i2", first=False)
    reconciliation.given()
    assert reconciliation.lost() is None
    assert not reconciliation.done


def test_what_is_given_up_is_told_unless_it_was_merged() -> None:
    assert StateReconciliation().give_up() is None
    assert left().give_up() == b"x"  # on its way back: nobody else can know what it was about to bring
    reconciliation = left()
    reconciliation.enter("i2", first=False)
    assert reconciliation.give_up() == b"x"
    assert reconciliation.done
    reconciliation = left()
    reconciliation.enter("i2", first=False)
    reconciliation.leave("i2", b"y", joined)
    assert reconciliation.give_up() == b"xy"  # of which the application has y alone
    reconciliation = left()
    reconciliation.enter("i2", first=False)
    reconciliation.merged(ME, ME, b"x", awaiting=False)
    assert reconciliation.give_up() is None
