"""One replica beside a dict: each command once, in its caller's order, whatever is sent again; failures are undone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.errors import BadValue, MalformedFrame, VersionMismatch
from gcom.replicated import replica as replica_module
from gcom.replicated.answers import outcome
from gcom.replicated.errors import MachineFailed
from gcom.replicated.machine import MachineKind
from gcom.replicated.messages import CallerClosed, CallerOpened, CommandSent, MembersNoted, decode, encode, plain
from gcom.replicated.replica import BASE_EVERY, CALLERS_MAX, Applied, Replica
from tests.replicated.machines import Dice, Order, SoldOut, Stock

STOCK = MachineKind.of(Stock)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bo"]),
        st.sampled_from(["put", "take", "spoil", "give", "again", "again", "move"]),
        st.sampled_from(["nail", "nut"]),
        st.integers(0, 5),
    ),
    max_size=60,
)


def sent(
    caller: str, number: int, name: str, *arguments: Any, previous: int | None = None, done: int = 0
) -> CommandSent:
    packed = STOCK.codec.pack([list(arguments), {}])
    return CommandSent(caller, number, number - 1 if previous is None else previous, done, name, packed)


def opened(*callers: str) -> Replica:
    found = Replica(STOCK)
    for caller in callers:
        found.apply("a#1", CallerOpened(caller))
    return found


def pieces(found: Replica) -> dict[str, int]:
    assert isinstance(found.machine, Stock)
    return found.machine.pieces


def expected(twin: dict[str, int], name: str, item: str, count: int) -> object:
    """Do to the twin what a command does; its result, or the type of its error."""
    if name == "put":
        twin[item] = twin.get(item, 0) + count
        return twin[item]
    if name == "take" and twin.get(item, 0) >= count:
        twin[item] = twin.get(item, 0) - count if item in twin else 0
        return twin[item]
    return SoldOut if name == "take" else MachineFailed


@given(STEPS)
def test_it_is_as_a_dict_whatever_is_sent_again_or_fails(steps: list[tuple[str, str, str, int]]) -> None:
    found, twin = opened("ann", "bo"), {"nail": 0, "nut": 0}
    for item in twin:
        pieces(found)[item] = 0
    found.take_base()  # the twin's state, as if it had been the first
    log: dict[str, list[tuple[CommandSent, object]]] = {"ann": [], "bo": []}
    for caller, name, item, count in steps:
        if name == "move":  # a new member is given the state, and goes on
            data, found = found.dump(), Replica(STOCK)
            found.load(data)
        elif name == "again":
            for message, result in log[caller]:
                applied = found.apply("b#2", decode(encode(message)))  # type: ignore[arg-type]
                assert (applied.fate, shown(applied)) == ("repeated", result)
        else:
            arguments = (item, count) if name in ("put", "take") else (item,) if name == "spoil" else ()
            message = sent(caller, len(log[caller]) + 1, name, *arguments)
            result = expected(twin, name, item, count)
            log[caller].append((message, result))
            assert shown(found.apply("a#1", message)) == result
        assert pieces(found) == twin


def shown(applied: Applied) -> object:
    result, error = outcome(STOCK, applied.answer)
    return type(error) if error else result


def test_a_command_waits_for_the_one_that_it_follows() -> None:
    found = opened("ann")
    assert found.apply("a#1", sent("ann", 2, "put", "nail", 1)).fate == "early"
    assert found.apply("a#1", sent("ann", 1, "put", "nail", 5)).fate == "applied"
    assert found.apply("a#1", sent("ann", 2, "put", "nail", 1)).fate == "applied"
    assert found.apply("a#1", sent("ann", 7, "put", "nail", 1, previous=2)).fate == "applied"  # 3 to 6 were never sent
    assert pieces(found) == {"nail": 7}


def test_answers_are_kept_until_the_caller_has_them() -> None:
    found = opened("ann")
    for number in range(1, 10):
        found.apply("a#1", sent("ann", number, "put", "nail", 1, done=max(0, number - 3)))
    assert sorted(found.callers["ann"].answers) == [7, 8, 9]
    assert found.apply("a#1", sent("ann", 2, "put", "nail", 1)).answer == b""
    assert pieces(found) == {"nail": 9}


def test_an_unknown_or_closed_caller_is_told_so_and_the_oldest_is_forgotten() -> None:
    found = opened("ann")
    assert found.apply("a#1", sent("bo", 1, "put", "nail", 1)).fate == "forgotten"
    found.apply("a#1", sent("ann", 1, "put", "nail", 1))
    for number in range(CALLERS_MAX):
        found.apply("a#1", CallerOpened(f"caller {number}"))
    assert len(found.callers) == CALLERS_MAX
    assert found.apply("a#1", sent("ann", 1, "put", "nail", 1)).fate == "forgotten"
    found.apply("a#1", CallerClosed("caller 7"))
    assert found.apply("a#1", sent("caller 7", 1, "put", "nail", 1)).fate == "forgotten"
    assert pieces(found) == {"nail": 1}


def test_commands_see_index_caller_and_members() -> None:
    found = opened("ann")
    found.apply("a#1", MembersNoted(3, ("a#1", "b#2")))
    assert shown(found.apply("b#2", sent("ann", 1, "place"))) == (3, "b")
    found.apply("a#1", sent("ann", 2, "spoil", "nail"))  # undone: `on_members` is run again, too
    assert isinstance(found.machine, Stock)
    assert found.machine.there == found.members == ("a#1", "b#2")


def test_a_value_that_cannot_travel_changes_nothing() -> None:
    found = opened("ann")
    applied = found.apply("a#1", sent("ann", 1, "give"))
    assert shown(applied) is MachineFailed
    assert "type object cannot travel" in applied.defect
    assert pieces(found) == {}


def test_a_dataclass_travels() -> None:
    found = opened("ann")
    assert shown(found.apply("a#1", sent("ann", 1, "order", Order("nail", 3)))) == Order("nail", 3)
    assert isinstance(found.machine, Stock)
    copy = Replica(STOCK)
    copy.load(found.dump())
    assert isinstance(copy.machine, Stock)
    assert copy.machine.orders == [Order("nail", 3)]


def test_replicas_that_differ_know_which_of_them_is_wrong() -> None:
    kind = MachineKind.of(Dice)
    replicas = {name: Replica(kind) for name in ("a#1", "b#2", "c#3")}
    for found in replicas.values():
        found.apply("a#1", MembersNoted(1, tuple(replicas)))
        found.apply("a#1", CallerOpened("ann"))
    machine = replicas["b#2"].machine
    assert isinstance(machine, Dice)
    machine.sum = 1.0
    for found in replicas.values():
        for number in range(1, BASE_EVERY - 1):
            found.apply("a#1", sent("ann", number, "throw", done=number - 1))
    digests = {name: found.take_digest(found.index) for name, found in replicas.items()}
    wrong = set()
    for name, digest in digests.items():
        assert digest is not None
        wrong |= {it for it, found in replicas.items() if found.on_digest(name, *digest)}
    assert wrong == {"b#2"}


def test_a_state_that_cannot_be_packed_stops_commands_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_module, "BASE_EVERY", 2)
    found = opened("ann")  # index 1
    assert isinstance(found.machine, Stock)
    found.machine.pieces["lock"] = object()  # type: ignore[assignment]
    found.apply("a#1", sent("ann", 1, "put", "nail", 1))
    assert found.broken
    assert shown(found.apply("a#1", sent("ann", 2, "put", "nail", 1))) is MachineFailed
    assert found.machine.pieces["nail"] == 1


@pytest.mark.parametrize("data", [b"", b"x", plain([1, 2]), plain([1, "Stock", 2, [], [b"", [], []], [], ""])])
def test_bytes_that_are_no_state_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedFrame):
        Replica(STOCK).load(data)


def test_a_state_of_another_machine_is_refused_by_name() -> None:
    with pytest.raises(BadValue, match="the state is of a machine 'Dice', not 'Stock'"):
        Replica(STOCK).load(Replica(MachineKind.of(Dice)).dump())


def test_a_state_of_a_newer_version_is_named() -> None:
    with pytest.raises(VersionMismatch, match="a state of format 2: this version of GCom reads format 1"):
        Replica(STOCK).load(plain([2, "whatever"]))


@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_malformed(data: bytes) -> None:
    try:
        decode(data)
    except MalformedFrame:
        return
