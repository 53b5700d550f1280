"""Applications of a PARTITIONABLE group: the state of each is the set of all texts that it, or who merged, has read.

One application a name, whatever incarnation it is in: the process image goes on. At the barrier of a view all that have
the state have the same, which is checked at every step.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field

from gcom.core.delivery_queue import DeliveryQueue, Handed
from gcom.core.machine import GroupMachine
from gcom.core.messages import events
from gcom.core.messages.effects import (
    Deliver,
    Effect,
    Ended,
    Installed,
    MergeState,
    OfState,
    SetState,
    Skip,
    StateUnavailable,
    TakeState,
)
from gcom.core.state_transfer.reconciliation import StateReconciliation
from gcom.values.definition import Definition
from gcom.values.names import Process, name_of
from gcom.values.run import StateToMerge
from tests.core.making import address
from tests.core.network import Network


def merged(mine: bytes, theirs: bytes) -> bytes:
    return json.dumps(sorted({*json.loads(mine), *json.loads(theirs)})).encode()


@dataclass
class Application:
    texts: set[str] = field(default_factory=set)
    reconciliation: StateReconciliation = field(default_factory=StateReconciliation)
    merges: list[tuple[str, int, Process]] = field(default_factory=list)  # instance, view, who brought it

    def state(self) -> bytes:
        return json.dumps(sorted(self.texts)).encode()

    def set(self, data: bytes) -> None:
        self.texts = set(json.loads(data))


class Islands(Network):
    """Every process gives, takes and merges state, and comes back by itself."""

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition)
        self.returning = True
        self.applications: dict[str, Application] = {}
        self.stalled: set[Process] = set()  # their applications read nothing
        self.handovers: dict[Process, DeliveryQueue[Ended]] = {}
        self._entered: set[Process] = set()
        self._before: Counter[Process] = Counter()  # ends that they have not read: what comes first is of a predecessor
        self._at: dict[tuple[str, int], tuple[Process, bytes]] = {}

    def machine(self, process: Process) -> GroupMachine:
        group = self.definition.group
        return GroupMachine(group, process, address(process), self.definition, gives_state=True, takes_state=True)

    def application(self, who: Process) -> Application:
        return self.applications.setdefault(name_of(who), Application())

    def texts(self, who: Process) -> set[str]:
        return self.application(who).texts

    def hand_over(self, who: Process, effect: Effect) -> None:
        queue = self.handovers.setdefault(who, DeliveryQueue())
        if isinstance(effect, Ended):
            self._before[who] += 1
            queue.end(effect, goes_on=effect.reason == "succession")
        elif isinstance(
            effect,
            Deliver | Skip | Installed | OfState,
        ):
            if isinstance(effect, Installed) and who not in self._entered:
                self._entered.add(who)
                brought = self.application(who).reconciliation.enter(
                    self.machines[who].instance, effect.view.members == (who,)
                )
                self._bring(who, brought)
            reconciliation = self.application(who).reconciliation
            match effect:
                case MergeState(_, sender, data):
                    reconciliation.merged(who, sender, data, awaiting=not queue.is_open)
                case SetState():
                    reconciliation.given()
                case StateUnavailable():
                    self._bring(who, reconciliation.lost())
                case _:
                    pass
            for covered in queue.put(effect):
                self._done(who, covered)

    def _bring(self, who: Process, brought: StateToMerge | None) -> None:
        if brought is not None:
            self.later(who, events.Submit([brought]))

    def _done(self, who: Process, done: Deliver | Skip) -> None:
        sender, last = (done.run.sender, done.run.last) if isinstance(done, Deliver) else (done.sender, 0)
        if isinstance(done, Deliver):
            self.later(who, events.Consumed(sender, last, len(done.run.encoded)))
        else:
            self.later(who, events.Consumed(sender, done.first + done.count - 1, 0))

    def _credit(self, who: Process, read: Deliver | Skip) -> None:
        if not self._before[who]:  # else the machine that delivered it is no more
            self._done(who, read)

    def step(self) -> None:
        super().step()
        for who, queue in list(self.handovers.items()):
            while queue.queued and self.alive(who) and who not in self.stalled:
                item = queue.queued.popleft()
                self._before[who] -= isinstance(item, Ended)
                self._read(who, self.application(who), item)

    def _read(self, who: Process, application: Application, item: Handed | Ended) -> None:
        machine = self.machines[who]
        match item:
            case Deliver(run):
                application.texts |= {str(it) for it in run.payloads if not isinstance(it, StateToMerge)}
                self._credit(who, item)
            case Skip():
                self._credit(who, item)
            case TakeState(view) if machine.transfer.asks(view):
                self.later(who, events.StateTaken(view, application.state()))
            case SetState(_, data):
                application.set(data)
            case StateUnavailable():
                application.texts.clear()
            case MergeState(view, sender, data):
                application.set(merged(application.state(), data))
                application.merges.append((machine.instance, view, sender))
            case Installed(view_now) if not self._before[who]:
                other, state = self._at.setdefault((machine.instance, view_now.number), (who, application.state()))
                assert application.state() == state, f"{who} {application.texts} and {other} {state!r} in {view_now}"
            case Ended():
                application.reconciliation.leave(machine.instance, application.state(), merged)
            case _:
                pass
