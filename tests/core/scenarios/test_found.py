"""Scenarios that simulation found: getting in, and views that come late."""

from __future__ import annotations

from gcom.core.machine import GroupMachine, Stage
from gcom.core.messages import events, frames
from gcom.core.messages.effects import AskRegistry, Effect
from gcom.core.messages.frames import Frame, Status
from gcom.core.messages.registry import Claim, GroupInfo, Refusal, Request
from gcom.values.definition import Definition
from gcom.values.view import View
from tests.core.making import A, C, address


def test_one_that_looks_again_gets_in_where_it_is_admitted_meanwhile() -> None:
    """Found by simulation. 1. C asks A to be admitted. 2. A's kernel says that it is dead, and A's lease has run out:
    C claims the group. 3. The registry has heard of another, and refuses; C will look the group up anew. 4. A's
    INSTALL comes, sent before it died. 5. C enters what it had found when it asked, whatever it has looked up since.
    """
    definition = Definition.parse("g")
    machine = GroupMachine("g", C, address(C), definition)
    (create,) = asked(machine.handle(events.Start(), 0))
    found = GroupInfo(definition, "i1", 1, (A,), (address(A),), alive=False)
    machine.handle(events.RegistryAnswered(create, found), 0)
    assert machine.woken() == [A]
    now_ms, effects = 0, list[Effect]()
    while not asked(effects):
        now_ms += 50
        if machine.take(A, now_ms)[0]:
            effects += machine.handle(events.CallFailed(A, refused=True, dead=True), now_ms)
        effects += machine.handle(events.Tick(), now_ms)
    (claim,) = asked(effects)
    assert isinstance(claim, Claim)
    assert claim.gone == (A,)
    machine.handle(events.RegistryAnswered(claim, Refusal("Stale", "too early")), now_ms)
    view = View(2, (A, C), (address(A), address(C)), True)
    install = frames.Install(frames.Decision(view, (C,), {}, {}))
    _, effects = machine.receive(Frame("g", "i1", A, C, Status(2), (install,)), now_ms)
    assert (machine.stage, machine.instance, machine.view) == (Stage.MEMBER, "i1", view)


def asked(effects: list[Effect]) -> list[Request]:
    return [effect.request for effect in effects if isinstance(effect, AskRegistry)]
