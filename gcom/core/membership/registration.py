"""Registration of a group by a member, one request at a time, and what the registry's answer means (ARCHITECTURE 10,
11).

A leader registers each view at once, and every RENEW_MS; so does every detached member, and says that it is detached.
Other members register seldom: enough for the registry to know of the group where its leader does not reach it. (In a
PARTITIONABLE group, whose sides go on by themselves, only leaders register.)
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from gcom.core.messages.frames import DEAD, LEAVES_FOR, Decision
from gcom.core.messages.registry import Answer, GroupInfo, Refusal, Register
from gcom.values import limits
from gcom.values.definition import Netsplit
from gcom.values.lineage import descends, precedence
from gcom.values.names import Address, InstanceId, Process, name_of
from gcom.values.view import View

OVER = (*LEAVES_FOR, DEAD)  # reasons of members that will never come back with what they had


class Verdict(Enum):
    """The demand that the registry's answer makes on a member; the value of an end is its reason."""

    GO_ON = "go on"  # it is soft state: a refusal or no answer changes nothing here, and is put right later
    GIVE_WAY = "give way"  # another instance has the name, and stands above
    GIVE_UP_UNHEARD = "give up unheard"  # an operator orders what is left to go on without the others
    DISSOLVED = "dissolved"  # all others have left
    EXPELLED = "expelled"  # a later view, or a successor, goes on without it


class Registration:
    """A member's requests to the table of groups."""

    def __init__(self, process: Process, found: GroupInfo) -> None:
        self._process = process
        self._definition = found.definition
        self._instance = found.instance
        self._listed = found.alive  # by the registry, as far as it knows: not where it was found by discovery
        self._told: View | None = None
        self._told_detached = False
        self._told_ms = 0
        self._unanswered = False  # a registry that hangs must not make requests pile up
        self._away: dict[Process, Address] = {}  # put out, and not back; at most MEMBERS_MAX, the latest

    def install(self, old: View, decision: Decision) -> None:
        """Begin a view: remember who was put out and may live, until its life is back under its name."""
        if self._definition.netsplit is Netsplit.PARTITIONABLE:
            return  # sides go on by themselves, and merge
        # 1. C is paused, and A and B go on without it. 2. Both are killed. 3. C runs again, with what all three had. A
        # registry that knew of A and B alone would find the group dead, and give its name, empty, to the next newcomer.
        out = [who for who, reason in decision.left.items() if reason not in OVER and who in old.members]
        self._away |= {who: old.address(who) for who in out}
        back = decision.view.lives
        kept = [(who, at) for who, at in self._away.items() if (name_of(who), at) not in back]
        self._away = dict(kept[-limits.MEMBERS_MAX :])

    def is_last(self, view: View, away: Collection[object]) -> bool:
        """Return whether nobody else is in the instance, and others of the group, `away` perhaps, may be in another."""
        # 1. A and B of a PARTITIONABLE group; A is killed, and B begins an instance of its own, of which the registry
        # has not heard yet. 2. B leaves, and has heard of nobody who is away. 3. Z founds the name, with nothing.
        return view.members == (self._process,) and (bool(away) or not self._listed)

    def due(self, view: View, detached: bool, now_ms: int) -> list[Register]:
        """Return the request to put now, if any."""
        leads = view.leader == self._process
        if not leads and self._definition.netsplit is Netsplit.PARTITIONABLE:
            return []
        # Half a lease for ordinary members: where the leader does not reach the
        # registry, one request of theirs may be lost, and the lease does not run out.
        # Of a large group not all: as many as if it were the largest in which all watch all.
        share = max(1, len(view.members) // limits.WATCH_ALL_MAX)
        every_ms = limits.RENEW_MS if leads or detached else limits.LEASE_MS // 2 * share
        news = self._told_detached != detached or (leads and self._told != view)
        # One request at a time: a registry that hangs must not make requests pile up.
        if self._unanswered or not (news or now_ms - self._told_ms >= every_ms):
            return []
        self._told, self._told_detached, self._told_ms, self._unanswered = view, detached, now_ms, True
        away = tuple(self._away.items())
        return [Register(self._definition, self._instance, view, self._process, detached, away)]

    def on_answer(self, request: Register, answer: Answer | None, view: View, detached: bool) -> Verdict:
        """Return what the answer, or its absence, asks of the member; `view` and `detached` are the member's now."""
        self._unanswered = False
        # Before anything is compared: an instance that all have left is over whatever this member hears. It
        # keeps what it has.
        if isinstance(answer, Refusal) and answer.code in ("Dissolved", "Superseded"):
            # Not on the registry's word alone: an instance whose members hear each other has not been left by all.
            doubtful = answer.code == "Dissolved" and not detached and len(view.members) > 1
            return Verdict.GO_ON if doubtful else Verdict.DISSOLVED
        if not isinstance(answer, GroupInfo):
            return Verdict.GO_ON
        self._listed = answer.instance == self._instance
        # Another instance has the name.
        if not self._listed:
            return self._on_other(answer.instance, detached)
        # The answer is about a view that is over, or about a member that hears a quorum: the group is the truth
        # (ARCHITECTURE 11).
        if not detached or request.view != view:
            return Verdict.GO_ON
        # 1. This process is cut off from the others, and detached. 2. They go on in a later view without it, and
        # register that. 3. It reaches the registry before it reaches any of them, and hears it there first.
        if answer.view > view.number and self._process not in answer.members:
            # A registry that forgot the group has this from whoever came first: the members themselves will tell.
            return Verdict.GO_ON if answer.forgot else Verdict.EXPELLED
        return Verdict.GIVE_UP_UNHEARD if answer.forked else Verdict.GO_ON

    def _on_other(self, other: InstanceId, detached: bool) -> Verdict:
        """Return what it asks of the member that another instance has the name."""
        # A detached member is out if a successor was begun. One that hears a quorum was forked away by order while
        # it lived: it goes over to the successor in good order.
        if detached:
            return Verdict.EXPELLED if descends(other, self._instance) else Verdict.GIVE_WAY
        # 1. A registry forgot the group, and a stranger founds its name there. 2. Only the group's home can tell that
        # this instance is the older one, and it is down. In service a member gives way to no instance below its own.
        sides = self._definition.netsplit is Netsplit.PARTITIONABLE
        return Verdict.GIVE_WAY if sides or precedence(other) < precedence(self._instance) else Verdict.GO_ON
