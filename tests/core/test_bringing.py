"""What an application still has to bring, step by step; over whole groups: core/scenarios/test_splits.py."""

from __future__ import annotations

from gcom.core.state_transfer.reconciliation import Bringing

ME, OTHER = "a#2", "b#1"


def joined(mine: bytes, theirs: bytes) -> bytes:
    return bytes(sorted({*mine, *theirs}))


def left(state: bytes = b"x") -> Bringing:
    bringing = Bringing()
    bringing.leave("i1", state, joined)
    return bringing


def test_what_it_had_is_brought_to_another_instance_until_it_is_merged() -> None:
    bringing = left()
    assert bringing.enter("i2", first=False) == b"x"
    assert not bringing.done
    bringing.merged(ME, OTHER, b"y", awaiting=False)
    assert not bringing.done
    bringing.merged(ME, ME, b"x", awaiting=False)
    assert bringing.done


def test_another_that_brings_the_same_saves_it_the_way() -> None:
    bringing = left()
    bringing.merged(ME, OTHER, b"x", awaiting=False)
    assert bringing.done


def test_who_comes_back_or_begins_an_instance_brings_nothing() -> None:
    assert left().enter("i1", first=False) is None
    assert left().enter("i2", first=True) is None


def test_what_could_not_be_brought_goes_along_to_the_next_be_it_the_same_again() -> None:
    for instance in ("i2", "i3"):
        bringing = left(b"x")
        assert bringing.enter("i2", first=False) == b"x"
        bringing.leave("i2", b"y", joined)
        assert bringing.enter(instance, first=False) == b"xy"


def test_what_was_merged_before_a_state_that_is_awaited_depends_on_that_state() -> None:
    for given in (True, False):
        bringing = left()
        bringing.enter("i2", first=False)
        bringing.merged(ME, ME, b"x", awaiting=True)
        assert not bringing.done
        if given:
            bringing.given()
            assert bringing.done
        assert bringing.lost() == (None if given else b"x")
        assert bringing.lost() is None
        assert bringing.done is given
    bringing = left()
    bringing.enter("i2", first=False)
    bringing.given()
    assert bringing.lost() is None
    assert not bringing.done


def test_what_is_given_up_is_told_where_the_application_has_it_no_more() -> None:
    assert left().give_up() is None  # nothing has taken its place
    bringing = left()
    bringing.enter("i2", first=False)
    assert bringing.give_up() == b"x"
    assert bringing.done
    bringing = left()
    bringing.enter("i2", first=False)
    bringing.leave("i2", b"y", joined)
    assert bringing.give_up() == b"xy"  # of which the application has y alone
    bringing = left()
    bringing.enter("i2", first=False)
    bringing.merged(ME, ME, b"x", awaiting=False)
    assert bringing.give_up() is None
