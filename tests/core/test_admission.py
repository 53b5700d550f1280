"""Admission: which processes may come in."""

from __future__ import annotations

import pytest

from gcom.core.detector.suspicion import CUT_OFF, Detector
from gcom.core.membership.admission import Admission
from gcom.core.messages.frames import Join, JoinRefused, Reach
from gcom.core.messages.registry import Done, Refusal
from gcom.values import limits
from gcom.values.definition import Definition
from tests.core.making import A, B, C, address, view

VIEW = view(A, B)
AGAIN = "b#2"  # comes back under b's name
ASKED = 1_000


class Leader:
    """A, which leads A and B, with what its admission needs."""

    def __init__(self, static: tuple[str, ...] = (), netsplit: str = "PRIMARY", notes: bool = True) -> None:
        self.admission = Admission(Definition.parse("g", static=static, netsplit=netsplit), A)
        self.notes = notes  # the registry notes at once whom it is asked to
        self.detector = Detector(A)
        self.detector.install(VIEW, 0)
        self.detector.heard(B, 500, ())

    def ask(self, who: str, now_ms: int = ASKED) -> str:
        """The code of the refusal, or nothing."""
        refusal = self.answer(who, now_ms)
        return refusal.code if isinstance(refusal, JoinRefused) else ""

    def answer(self, who: str, now_ms: int = ASKED, reached: tuple[str, ...] = ()) -> JoinRefused | Reach | None:
        answer = self.admission.ask(who, Join(address(who), reached=reached), VIEW, self.detector, now_ms)
        if self.notes and self.noting(now_ms):
            self.admission.on_noted(Done(), now_ms)
        return answer

    def noting(self, now_ms: int = ASKED) -> list[str]:
        """Return the processes that the registry is asked to note now."""
        return [process for process, _ in self.admission.to_note(now_ms)]

    def ready(self, *staying: str, left: dict[str, str] | None = None) -> list[str]:
        return [joiner.process for joiner in self.admission.ready(set(staying), left or {})]


def test_a_name_waits_until_its_holder_was_heard_after_the_question() -> None:
    leader = Leader()
    assert leader.ask(AGAIN) == ""  # b may be dead: it was heard before only
    assert leader.admission.holders_asked_for(VIEW) == [B]
    leader.detector.heard(B, ASKED, ())  # the very same moment is not after
    assert leader.ask(AGAIN, ASKED + 10) == ""
    leader.detector.heard(B, ASKED + 1, ())
    assert leader.ask(AGAIN, ASKED + 20) == "NameTaken"
    assert not leader.admission.waiting


def test_a_name_goes_over_in_the_change_that_takes_its_holder_out() -> None:
    leader = Leader()
    leader.ask(AGAIN)
    assert leader.ready(A, B) == []
    leader.detector.suspect(B, "refused")
    assert leader.ask(AGAIN, ASKED + 300) == ""
    assert leader.ready(A) == [AGAIN]


def test_who_follows_one_that_is_cut_off_must_reach_all() -> None:
    leader = Leader()
    assert isinstance(leader.answer(AGAIN), Reach)
    leader.detector.suspect(B, "silence")
    assert leader.ready(A, left={B: "silence"}) == []
    leader.admission.install(view(A, number=2), {B: "silence"}, ASKED)
    assert not leader.admission.waiting
    assert isinstance(leader.answer(AGAIN), Reach)
    assert leader.answer(AGAIN, reached=(A,)) is None
    assert leader.ready(A, left={B: "silence"}) == [AGAIN]


def test_who_reaches_all_but_its_holder_comes_in_where_that_goes_out() -> None:
    leader = Leader()
    assert leader.answer(AGAIN, reached=(A,)) is None
    leader.detector.suspect(B, "silence")
    assert leader.ready(A, left={B: "silence"}) == [AGAIN]


def test_whose_link_fails_again_and_again_stays_out_longer_each_time() -> None:
    leader = Leader()
    now_ms = ASKED
    waits: list[int] = []
    for number in range(2, 8):
        who = f"b#{number}"
        leader.admission.install(view(A, number=number), {B: CUT_OFF}, now_ms)
        gone_ms = now_ms
        while leader.answer(who, now_ms, reached=(A,)) is not None:
            assert leader.ready(A) == []
            now_ms += 500
        waits.append(now_ms - gone_ms)
        assert leader.ready(A) == [who]
        assert leader.ready(A, left={B: CUT_OFF}) == []  # another time
        leader.admission.install(view(A, who, number=number), {}, now_ms)
        leader.admission.tick(now_ms)
    assert waits == [0, 4_000, 8_000, 16_000, 32_000, 32_000]
    leader.admission.tick(gone_ms + 2 * limits.FLAP_MAX_MS)
    leader.admission.install(view(A, number=9), {B: CUT_OFF}, now_ms)
    assert leader.answer("b#9", now_ms, reached=(A,)) is None


def test_who_was_silent_to_all_is_back_at_once_however_often() -> None:
    leader = Leader()
    for number in range(2, 6):
        leader.admission.install(view(A, number=number), {B: "silence"}, ASKED)
        assert leader.answer(AGAIN, reached=(A,)) is None
        leader.admission.install(view(A, AGAIN, number=number), {}, ASKED)


def test_the_leaders_own_name_is_taken_at_once() -> None:
    assert Leader().ask("a#2") == "NameTaken"


def test_of_two_with_one_name_the_first_to_ask_comes_in() -> None:
    leader = Leader()
    assert (leader.ask("c#1"), leader.ask("c#2")) == ("", "")
    assert leader.ready(A, B) == ["c#1"]


def test_who_asks_twice_keeps_its_place() -> None:
    leader = Leader()
    for who in ("d#1", C, "d#1"):
        leader.ask(who)
    assert leader.ready(A, B) == ["d#1", C]


def test_a_static_group_lets_only_its_own_in() -> None:
    leader = Leader(static=("a", "b", "c"))
    assert leader.ask("d#1") == "NotInvited"
    assert leader.ask(C) == ""
    assert leader.ready(A, B) == [C]


def test_joins_wait_a_little_for_one_another() -> None:
    leader = Leader()
    leader.ask(C)
    assert not leader.admission.gathered({A, B}, ASKED + limits.JOIN_GATHER_MS - 1)
    assert leader.admission.gathered({A, B}, ASKED + limits.JOIN_GATHER_MS)


def test_each_that_asks_is_waited_for_but_not_for_ever() -> None:
    leader = Leader()
    for place, who in enumerate((C, "d#1", "e#1", "f#1", "g#1", "h#1")):
        asked_ms = ASKED + 10 * place
        leader.ask(who, now_ms=asked_ms)
        assert not leader.admission.gathered({A, B}, asked_ms + 9)
    assert leader.admission.gathered({A, B}, ASKED + limits.JOINS_GATHER_MAX_MS)


def test_who_is_being_noted_is_waited_for_but_not_for_ever() -> None:
    leader = Leader()
    leader.ask(C)
    leader.notes = False
    leader.ask("d#1")
    assert leader.noting() == [C, "d#1"]  # one request at a time, and each repeats all
    assert leader.ready(A, B) == [C]
    assert not leader.admission.gathered({A, B}, ASKED + limits.JOINS_GATHER_MAX_MS - 1)
    assert leader.admission.gathered({A, B}, ASKED + limits.JOINS_GATHER_MAX_MS)


def test_who_waits_behind_a_holder_of_its_name_makes_no_change_ripe() -> None:
    leader = Leader()
    leader.ask(AGAIN)
    assert not leader.admission.gathered({A, B}, ASKED + limits.JOIN_GATHER_MS)
    assert leader.admission.gathered({A}, ASKED + limits.JOIN_GATHER_MS)


def test_who_asks_no_more_waits_no_more() -> None:
    leader = Leader()
    leader.ask(C)
    leader.ask("d#1")
    leader.ask(C, ASKED + 100)
    leader.admission.tick(ASKED + limits.SILENCE_MS)
    assert leader.ready(A, B) == [C]


def test_who_is_in_waits_no_more() -> None:
    leader = Leader()
    leader.ask(C)
    leader.admission.install(view(A, B, C, number=2), {}, ASKED)
    assert not leader.admission.waiting


def test_a_full_view_takes_nobody() -> None:
    members = tuple(f"m{index}#1" for index in range(limits.MEMBERS_MAX))
    detector = Detector(members[0])
    detector.install(view(*members), 0)
    admission = Admission(Definition.parse("g"), members[0])
    refusal = admission.ask(C, Join(address(C)), view(*members), detector, ASKED)
    assert isinstance(refusal, JoinRefused)
    assert "full" in refusal.text


def test_no_more_come_in_than_the_view_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MEMBERS_MAX", 3)
    leader = Leader()
    leader.ask(C)
    leader.ask("d#1")
    assert leader.ready(A, B) == [C]


def test_no_more_wait_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "JOINS_PENDING_MAX", 1)
    leader = Leader()
    assert leader.ask(C) == ""
    assert leader.ask("d#1") == "Unavailable"
    assert leader.ask(C) == ""  # it waits already


# notes at the registry


def test_nobody_is_ready_whom_the_registry_has_not_noted() -> None:
    leader = Leader(notes=False)
    leader.ask(C)
    assert leader.ready(A, B) == []
    assert not leader.admission.gathered({A, B}, ASKED + limits.JOIN_GATHER_MS)
    assert leader.admission.to_note(ASKED) == ((C, address(C)),)
    assert leader.ready(A, B) == []  # asked is not noted
    leader.admission.on_noted(Done(), ASKED + 50)
    assert leader.ready(A, B) == [C]
    assert leader.noting(ASKED + 60) == []


def test_one_note_at_a_time_and_who_came_meanwhile_is_in_the_next() -> None:
    leader = Leader(notes=False)
    leader.ask(C)
    assert leader.noting() == [C]
    leader.ask("d#1")
    assert leader.noting() == []
    leader.admission.on_noted(Done(), ASKED + 50)
    assert leader.ready(A, B) == [C]  # d was in no question that was answered
    assert leader.noting(ASKED + 50) == [C, "d#1"]
    leader.admission.on_noted(Done(), ASKED + 60)
    assert leader.ready(A, B) == [C, "d#1"]


def test_a_note_that_was_not_made_is_asked_for_again_after_a_while() -> None:
    leader = Leader(notes=False)
    leader.ask(C)
    leader.noting()
    leader.admission.on_noted(None, ASKED)
    assert leader.ready(A, B) == []
    assert leader.noting(ASKED + limits.JOIN_RETRY_MS - 1) == []
    assert leader.noting(ASKED + limits.JOIN_RETRY_MS) == [C]


def test_a_note_is_of_one_view() -> None:
    leader = Leader()
    leader.ask(C)
    assert leader.ready(A, B) == [C]
    leader.notes = False
    leader.admission.install(view(A, number=2), {B: "request"}, ASKED)
    assert leader.ready(A) == []
    assert leader.noting() == [C]
    leader.admission.install(view(A, number=3), {}, ASKED)  # a view came before the answer, which is of the last
    assert leader.noting() == [C]


def test_a_note_is_of_one_address() -> None:
    """A note must name the address at which this process is found."""
    leader = Leader()
    leader.ask(C)
    leader.notes = False
    leader.admission.ask(C, Join("elsewhere:1"), VIEW, leader.detector, ASKED)
    assert leader.ready(A, B) == []
    assert leader.admission.to_note(ASKED) == ((C, "elsewhere:1"),)


def test_where_sides_merge_nobody_is_noted() -> None:
    leader = Leader(netsplit="PARTITIONABLE", notes=False)
    leader.ask(C)
    assert leader.noting() == []
    assert leader.ready(A, B) == [C]


def test_a_joiner_that_the_disk_of_the_registry_does_not_take_is_told_so() -> None:
    leader = Leader(notes=False)
    leader.ask(C)
    leader.noting()
    leader.admission.on_noted(Refusal("StorageUnavailable", "the disk is full"), ASKED)
    assert leader.ask("d#1") == ""  # it was in no note: the next one may succeed
    assert leader.ask(C) == "StorageUnavailable"
    assert leader.noting(ASKED + limits.JOIN_RETRY_MS) == ["d#1"]
    assert leader.ask("d#1") == ""
    leader.admission.on_noted(Done(), ASKED + limits.JOIN_RETRY_MS)
    assert leader.ready(A, B) == ["d#1"]


def test_a_registry_that_starts_turns_nobody_away() -> None:
    leader = Leader(notes=False)
    leader.ask(C)
    leader.noting()
    leader.admission.on_noted(Refusal("RegistryStarting", "wait"), ASKED)
    assert leader.ask(C) == ""
