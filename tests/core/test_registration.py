"""What a member makes of the registry's word about its instance: it does not end on that alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gcom.core.membership.registration import Registration, Verdict
from gcom.core.messages.registry import Answer, GroupInfo, Refusal
from tests.core.registry import AWAY, HOME, NEWS, SIDES, A, B, register

MINE = GroupInfo(NEWS, "k2-1-a", 3, (A, B), (HOME, AWAY), alive=True)
LATER = replace(MINE, view=9, members=(B,), addresses=(AWAY,))


def _verdict(answer: Answer | None, *, detached: bool = False, members: tuple[str, ...] = (A, B)) -> Verdict:
    asked = register(3, *members, instance="k2-1-a", detached=detached)
    found = replace(MINE, definition=SIDES) if isinstance(answer, GroupInfo) and answer.definition == SIDES else MINE
    return Registration(A, found).on_answer(asked, answer, asked.view, detached)


def other(instance: str) -> GroupInfo:
    return GroupInfo(NEWS, instance, 1, ("zoe#1",), (HOME,), alive=True)


@pytest.mark.parametrize(
    ("answer", "in_service", "detached"),
    [
        (None, Verdict.GO_ON, Verdict.GO_ON),
        (MINE, Verdict.GO_ON, Verdict.GO_ON),
        (Refusal("Stale", "a lie of somebody's"), Verdict.GO_ON, Verdict.GO_ON),
        (Refusal("Dissolved", "all have left"), Verdict.GO_ON, Verdict.DISSOLVED),
        (Refusal("Superseded", "an operator gave up its members"), Verdict.DISSOLVED, Verdict.DISSOLVED),
        (LATER, Verdict.GO_ON, Verdict.EXPELLED),
        (replace(LATER, forgot=True), Verdict.GO_ON, Verdict.GO_ON),
        (other("k1"), Verdict.GIVE_WAY, Verdict.GIVE_WAY),  # founded earlier
        (other("k3"), Verdict.GO_ON, Verdict.GIVE_WAY),  # founded later: a detached one waits until its own are dead
        (other("k2-2-b"), Verdict.GIVE_WAY, Verdict.EXPELLED),
        (replace(other("k3"), definition=SIDES), Verdict.GIVE_WAY, Verdict.GIVE_WAY),
    ],
)
def test_the_registrys_word_in_service_and_detached(
    answer: Answer | None, in_service: Verdict, detached: Verdict
) -> None:
    assert (_verdict(answer), _verdict(answer, detached=True)) == (in_service, detached)


def test_the_only_member_believes_that_all_have_left() -> None:
    assert _verdict(Refusal("Dissolved", "all have left"), members=(A,)) is Verdict.DISSOLVED
