"""A process's session in one group: the machine that drivers hold (docs/protocols/group.md).

    ENTERING ── first, or installed ──► MEMBER ── left, expelled, succeeded, exit ──► TIME_WAIT ── all told ──► ENDED
        └── refused ──────────────────────────────────────────────────────────────────────────────────────────┘

A driver calls `handle`, `receive` and `take`, carries out the effects in order, and asks `woken`,
`due_ms` and `deadline_ms` what to do next; where processes share several groups, `heartbeats`. One call at a time: the
driver holds a lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import assert_never

from gcom.core.heartbeats import Heartbeats
from gcom.core.inspection import Inspection
from gcom.core.joining.join import Joining
from gcom.core.joining.steps import PreviousSession
from gcom.core.links import Links
from gcom.core.member import Member
from gcom.core.membership.own_leave import LeaveWish
from gcom.core.membership.succession import first_view, told_of_successor
from gcom.core.messages import events, frames
from gcom.core.messages.effects import Effect, Ended
from gcom.core.messages.frames import LEAVES_FOR, Frame, Refused, Reply, Status
from gcom.core.messages.registry import GroupInfo
from gcom.core.multicast.signing import RunSigner
from gcom.core.ordering.order_log import OrderLog
from gcom.core.outgoing import EMPTY, size_of
from gcom.core.state_transfer.transfer import OwnState, Transfer
from gcom.core.unicast.channel import UnicastEnd
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.lineage import NO_EXTENT, Extent
from gcom.values.names import Address, Process, name_of
from gcom.values.run import Payload
from gcom.values.view import View


class Stage(Enum):
    """The stage of a process in a group."""

    ENTERING = "entering"  # asks the registry and members to be let in
    MEMBER = "member"  # in the view, by a claim that was granted or by an INSTALL that names it
    TIME_WAIT = "time_wait"  # out of the view, and still telling others which view goes on
    ENDED = "ended"  # it did not get in, or its time-wait is over: all were told, nobody was to be told, or 5 s passed


# Every stage and what may follow it.
STAGES: dict[Stage, tuple[Stage, ...]] = {
    Stage.ENTERING: (Stage.MEMBER, Stage.ENDED),
    Stage.MEMBER: (Stage.TIME_WAIT,),
    Stage.TIME_WAIT: (Stage.ENDED,),
    Stage.ENDED: (),
}

RETURNS = ("expelled", "succession", "fork", "merge")  # ends that the application did not ask for: it goes on
TELLS = (*LEAVES_FOR, "succession")  # ends whose decision the others may not have heard of


class GroupMachine:
    """A process's session in one group, from the first question to the registry until the end."""

    def __init__(
        self,
        group: str,
        process: Process,
        address: Address,
        create: Definition | None = None,
        former: PreviousSession | None = None,
        gives_state: bool = False,
        takes_state: bool = False,
        lacking: bool = False,
        own: OwnState | None = None,
        signer: RunSigner | None = None,
    ) -> None:
        self.group, self.process = group, process
        self.stage, self.instance = Stage.ENTERING, ""
        self.definition: Definition | None = None  # None while entering
        self.answers_decide = False  # in a total order, and with SAFE: the answer to data says what may be delivered
        self._address, self._former = address, former
        self._state_callbacks, self._signer = (gives_state, takes_state), signer
        self.transfer = Transfer(process, gives_state, takes_state, lacking, own)
        self._links = Links(process)
        self.links_woken = self._links.woken_peers  # looked at first: most steps wake nobody
        self.woken = self._links.woken  # peers for which `take` may have something new; opened and closed ones too
        self.bring_forward = self._links.bring_forward  # a heartbeat, as one of another group goes to the same node
        self._joining = Joining(group, process, address, create, former, self.transfer, self._links, signer is not None)
        self._member: Member | None = None
        self.heartbeats: Heartbeats | None = None  # of a member; None: it is none, or no more
        self._effects: list[Effect] = []
        self._ticked_ms = self._time_wait_until_ms = 0
        self._leaves_for = ""  # why it leaves as soon as it is in

    def again(self, process: Process) -> GroupMachine:
        """Return the machine that goes on where this session ended for a reason in RETURNS, or could not get in again.

        After a succession it is this process in the successor, else the next incarnation, which does not give up.
        """
        if self.succeeded:
            return self._successor(self.succeeded)
        former = self._former
        if self._member:
            view = self._member.view
            entry = GroupInfo(self._member.definition, self.instance, view.number, view.members, view.addresses, False)
            former = PreviousSession(self.process, entry, view.started, self._member.away, self.reach)
        assert former is not None, "who was never in does not come again"
        had = (*self._state_callbacks, self.transfer.lacking, self.transfer.own)
        return GroupMachine(self.group, process, self._address, None, former, *had, self._signer)

    @property
    def succeeded(self) -> frames.Install | None:
        """The decision that ended this process's instance, if another one succeeds it and this process is in that."""
        return self._member.succeeded if self._member else None

    def _successor(self, decided: frames.Install) -> GroupMachine:
        """Return the machine of this process in the instance that succeeds its own."""
        # The same process, unlike a return: all who go on enter view 1 together, so no number of it can be given twice.
        member = self._member
        assert member is not None, "only a member is succeeded"
        had = (*self._state_callbacks, False, None)  # `inherit` tells the rest
        machine = GroupMachine(self.group, self.process, self._address, None, None, *had, self._signer)
        entry, first, follows = first_view(member.definition, self.instance, decided)
        machine.transfer.inherit(self.transfer, entry.instance)
        machine._joining.inherit(entry, first, follows)
        started, has = first.decision.view.started, self.reach
        machine._former = PreviousSession(self.process, entry, started, member.away, has)
        machine.instance, machine._leaves_for = entry.instance, member.leaves_for
        return machine

    @property
    def reach(self) -> Extent:
        """The extent of the group's history that this process has."""
        former = self._former.has if self._former else NO_EXTENT
        return self.transfer.reached(self._member.streams.extent(self.instance) if self._member else former)

    @property
    def leaving(self) -> bool:
        """Return whether this process has asked to go."""
        return self._member is not None and bool(self._member.leaves_for)

    @property
    def detached(self) -> bool:
        """Return whether this process is a member that hears no quorum of its view."""
        return self._member is not None and self.stage is Stage.MEMBER and self._member.detached

    @property
    def ends_a_side(self) -> bool:
        """Return whether it was the last of its instance, and others of the group may be in another one."""
        return self._member is not None and self._member.registration.is_last(self._member.view, self._member.away)

    @property
    def survivors(self) -> frozenset[Process] | None:
        """The members left of a view in which no quorum can be again: they need the registry to go on; else None."""
        return self._member.survivors if self._member else None

    @property
    def returns(self) -> bool:
        """Return whether this process was in the group before."""
        return self._former is not None

    # the driver's side

    def handle(self, event: events.Event, now_ms: int) -> list[Effect]:
        """Take one event; return the effects in the order in which they must be carried out."""
        if self.stage is Stage.ENTERING:
            self._handle_entering(event, now_ms)
        elif self._member is not None and self.stage is Stage.MEMBER:
            self._handle_member(self._member, event, now_ms)
        elif self.stage is Stage.TIME_WAIT:
            self._handle_time_wait(event, now_ms)
        if isinstance(event, events.Tick):
            self._ticked_ms = now_ms  # in every stage, or its deadline would stay in the past and the driver spin
        return self._settle(now_ms)

    def receive(self, frame: Frame, now_ms: int) -> tuple[Reply, list[Effect]]:
        """Take a frame that a peer put to this process; return the reply to it."""
        return self._on_frame(frame, now_ms), self._settle(now_ms)

    def take(self, peer: Process, now_ms: int) -> tuple[Frame | None, list[Effect]]:
        """Return the next frame for a peer; None: nothing is due, or as many as may be are in flight.

        Each is put once, in order; its end is a Replied, its own or a later one's, or a CallFailed for all unanswered.
        """
        link, member = self._links.get(peer), self._member if self.stage is Stage.MEMBER else None
        # Several frames in flight are for members only; another peer is called again once it has answered.
        if link is None or not link.callable(now_ms, member is not None and member.outgoing.is_beside(peer)):
            return None, []
        # A CUT or PROMISE of a full group takes up to 40 KiB of the frame: no data goes with it, or it might not fit.
        member = member if not (link.control and link.fills_frame) else None
        loads = member is not None and link.takes_load(member.streams.paced, now_ms)
        due = bool(link.control if self.stage is Stage.TIME_WAIT else link.due(now_ms, loads))
        load, envelopes, state = member.outgoing.cargo_for(peer, due, now_ms) if member and loads else EMPTY
        if not (due or load.size or envelopes or state):
            return None, [] if member and not member.effects else self._settle(now_ms)
        # What a failed call carried is put again as it was, so control is taken only when the frame is sure to go.
        control = self._links.begin(peer, now_ms, size_of(load, envelopes, state)) + state
        orders = member.outgoing.orders_for(peer) if member else None
        bare = not (load.size or control or orders or envelopes)
        status = self.heartbeats.put(peer, now_ms, bare) if self.heartbeats else self._status(peer)
        head = (self.group, self.instance, self.process, peer, status)
        frame = Frame(*head, control, load.runs, load.fragments, orders, tuple(envelopes))
        if link.control or (member and member.outgoing.has_more(peer, now_ms)):
            self._links.wake(peer)  # there is more than this frame holds
        return frame, self._settle(now_ms)

    def due_ms(self, peer: Process) -> int | None:
        """Return the time to `take` for a peer at the latest; None: it is a peer no more."""
        if (link := self._links.get(peer)) is None:
            return None
        return self._time_wait_until_ms if self.stage is Stage.TIME_WAIT and not link.control else link.due_ms

    def address_of(self, peer: Process) -> Address | None:
        """Return where a peer is called; None: it is a peer no more."""
        return link.address if (link := self._links.get(peer)) else None

    @property
    def peers(self) -> list[Process]:
        return self._links.peers

    @property
    def deadline_ms(self) -> int | None:
        """The time of the next Tick; None: never again."""
        if self.stage is Stage.ENDED:
            return None
        member = self._member if self.stage is Stage.MEMBER else None
        return self._ticked_ms + (member.tick_ms if member else limits.JOIN_GATHER_MS)

    @property
    def view(self) -> View | None:
        """The view in force, the last one after the end; None while entering."""
        return self._member.view if self._member else None

    @property
    def unsent_count(self) -> int:
        """The number of submitted messages that have no number yet."""
        return len(self._member.streams.unsent) if self._member else 0

    @property
    def number(self) -> int:
        """The last number that a message of this process got."""
        return self._member.streams.multicast.out.number if self._member else 0

    def lacking(self, number: int) -> list[Process]:
        """Return the members, but newcomers, that are not known to hold this process's messages up to `number`."""
        return self._member.streams.holders.lacking(number) if self._member else [self.process]

    def newcomers(self, number: int) -> list[Process]:
        """Return the members that came after a message of this process: they hold it with the state, or never."""
        return self._member.streams.holders.newcomers(number) if self._member else []

    def placed(self, number: int) -> bool:
        """Return whether this process's messages up to `number` have a place in the total order, if there is one."""
        member = self._member
        return member is None or not member.definition.total or member.streams.delivered >= number

    def inspect(self, now_ms: int) -> Inspection | None:
        """Return one look at this member, for a snapshot; the last one after the end, None while entering."""
        return self._member.inspect(now_ms) if self._member else None

    @property
    def order_log(self) -> OrderLog | None:
        """The order of the view as it is known here; None without a total order."""
        serials = self._member.streams.serials if self._member else None
        return serials.log if serials else None

    @property
    def clocks(self) -> dict[Process, dict[Process, int]]:
        """The vector clock of each member, as a snapshot has it."""
        return self._member.streams.clocks() if self._member else {}

    @property
    def in_doubt(self) -> tuple[int, int] | None:
        """The first and last of this process's messages that are in doubt, that is, not settled yet; None: none is."""
        return self._member.in_doubt if self._member else None

    @property
    def unsent(self) -> list[Payload]:
        """The submitted messages that have no number yet."""
        return list(self._member.streams.unsent) if self._member else []

    def unicast_ends(self) -> dict[Process, UnicastEnd]:
        """Return, per other member, the end of what has been sent to it."""
        return self._member.unicast.channels.ends() if self._member else {}

    def unicasts_held(self, ends: Mapping[Process, UnicastEnd] | None = None) -> bool:
        """Return whether the members hold what was sent to them: up to these ends, of those named, or all of it."""
        return self._member is None or self._member.unicast.channels.held(ends)

    @property
    def undelivered(self) -> int:
        """The number of unicasts that their receivers are not known to hold."""
        return self._member.unicast.channels.undelivered if self._member else 0

    def data_waits(self, peer: Process) -> bool:
        """Return whether there is data for a peer that has not been put to it."""
        return self._member is not None and bool(self._member.streams.unsent or self._member.outgoing.has_for(peer))

    def has_room_for(self, peer: Process) -> bool:
        """Return whether one more unicast to a member of the view may wait."""
        return self._member is not None and self._member.unicast.channels.outboxes[peer].room

    @property
    def waits_for(self) -> str:
        """The reason why an entering process is not in yet, or why a member can number nothing now; empty: it can."""
        if self._member is None:
            return self._joining.waits_for
        return self._member.streams.waits_for

    def _settle(self, now_ms: int) -> list[Effect]:
        """Draw the consequences of a step; return its effects."""
        if self._member:
            self._member.settle(now_ms)
            if self._member.effects:
                self._member.heartbeats.version += 1  # what has effects may be news
                self._effects += self._member.effects
                self._member.effects.clear()
                # The end is an effect, too: without effects it needs no look.
                if self._member.ended and self.stage is Stage.MEMBER:
                    self._become_time_wait(self._member.ended, now_ms)
        if self.stage is Stage.TIME_WAIT and (self._links.idle or now_ms >= self._time_wait_until_ms):
            self._become_ended()
        effects, self._effects = self._effects, []
        return effects

    def _become(self, stage: Stage) -> None:
        assert stage in STAGES[self.stage], f"{self.stage} to {stage}"
        self.stage = stage

    def _become_time_wait(self, ended: Ended, now_ms: int) -> None:
        self._become(Stage.TIME_WAIT)
        self.heartbeats = None
        self._links.keep_only(frames.Install)  # of the session nothing else concerns anybody now
        self.transfer.end(self._member.streams.extent(self.instance) if self._member else NO_EXTENT)
        # 5 s for ends whose decision this process alone may know, as a leader that decided its own leave does.
        self._time_wait_until_ms = now_ms + limits.TIME_WAIT_MS if ended.reason in TELLS else now_ms

    def _become_ended(self) -> None:
        self._become(Stage.ENDED)
        for peer in self._links.peers:
            self._links.close(peer)

    # entering

    def _handle_entering(self, event: events.Event, now_ms: int) -> None:
        if isinstance(event, events.Exit):
            self._become_ended()
            return
        if isinstance(event, events.Leave):
            self._leaves_for = "request"  # once it is in, if a member lets it in just now
        # It is in the successor of its instance from the start (`inherit`), and asks nobody.
        if not self._joining.entered:
            self._joining.handle(event, now_ms)
        self._arrive(now_ms)

    def _arrive(self, now_ms: int) -> None:
        """Take over the effects of a step on the way in; become a member if it succeeded, end if it failed."""
        joining = self._joining
        self.instance = joining.instance
        self._effects += joining.effects
        joining.effects.clear()
        if joining.failed:
            self._become_ended()
        elif joining.entered:
            self._enter(joining.entered, now_ms)

    def _enter(self, install: frames.Install, now_ms: int) -> None:
        entry = self._joining.found
        self.instance, self.definition = entry.instance, entry.definition
        self.answers_decide = entry.definition.total or entry.definition.safe
        self._become(Stage.MEMBER)
        away = self._former.seats if self._former else ()
        parts = (self._links, self.transfer, install, now_ms, away, self._joining.succeeds, self._signer)
        self._member = Member(entry, self.process, *parts)
        self.heartbeats = self._member.heartbeats
        # It had asked to leave, and was needed for the succession, so it leaves there.
        if self._leaves_for:
            self._member.leave(now_ms, LeaveWish(self._leaves_for))

    # members

    def _handle_member(self, member: Member, event: events.Event, now_ms: int) -> None:
        # Of these the member says what is news.
        member.heartbeats.version += not isinstance(event, events.Tick | events.Replied | events.RegistryAnswered)
        match event:
            case events.Submit(payloads):
                member.submit(payloads)
            case events.Consumed(sender, number, size):
                member.on_consumed(sender, number, size)
            case events.SendUnicast() | events.GroupCall() | events.Served() | events.EndGroupCall():
                member.on_unicast(event)
            case events.UnicastRead(sender):
                member.on_unicast_read(sender)
            case events.StateTaken(view, data, error):
                member.on_state_taken(view, data, error)
            case events.Replied(peer, reply, calls):
                self._links.replied(peer, now_ms, calls)
                member.on_replied(peer, reply, now_ms)
                if member.outgoing.has_for(peer):
                    self._links.wake(peer)
            case events.CallFailed(peer, refused, dead):
                self._links.failed(peer, now_ms)
                member.on_failed(peer, refused, dead, now_ms)
            case events.Tick():
                member.tick(now_ms)
            case events.Leave(reads_on, at_once):
                member.leave(now_ms, LeaveWish("request", reads_on=reads_on, at_once=at_once))
            case events.Exit():
                member.end("exit")
            case events.RegistryAnswered(asked, said):
                member.on_registry(asked, said, now_ms)
            case events.SequencerAnswered(request, answer, refused):
                member.on_sequencer(request, answer, refused, now_ms)
            case events.Start():
                pass
            case _:
                assert_never(event)

    def _handle_time_wait(self, event: events.Event, now_ms: int) -> None:
        match event:
            case events.Replied(peer, reply, calls):
                self._links.replied(peer, now_ms, calls)
                if isinstance(reply, Refused):
                    self._links.close(peer)  # it refuses: it knows, or is no more
            case events.CallFailed(peer, refused, dead):
                self._links.failed(peer, now_ms)
                # It is gone, and needs to be told nothing.
                if refused or dead:
                    self._links.close(peer)
            case events.Exit():
                self._become_ended()
            case _:
                pass  # the application's session is over

    def _on_frame(self, frame: Frame, now_ms: int) -> Reply:
        # Before the target is compared: a discovery message is for the name, whatever process has it now.
        discovery = frame.discovery if frame.control else None
        if discovery and frame.group == self.group and name_of(frame.target) == name_of(self.process):
            return self._on_discovery(frame, discovery, now_ms)
        # A frame from oneself is a peer's mistake: it would be this process's own stream, coming back.
        mine = frame.target == self.process != frame.source and frame.group == self.group
        if not mine:
            return Refused("unknown", f"{frame.target} is not in group {frame.group!r} here")
        if self._member and self.stage is Stage.MEMBER and frame.instance == self.instance:
            return self._member.receive(frame, now_ms)
        # It was in that instance and has gone on: it tells all that ask, for as long as the node lives.
        if self.succeeded and frame.instance == self.instance:
            return told_of_successor(frame, self.succeeded)
        if self.stage is Stage.ENDED:
            return Refused("ended", f"{frame.target} is no more in group {frame.group!r}, and will not be")
        if self.stage is Stage.ENTERING:
            if answer := self._joining.receive(frame):
                return answer
            self._arrive(now_ms)
        elif frame.instance != self.instance:
            code = "elsewhere" if self.stage is Stage.MEMBER else "unknown"
            return Refused(code, f"{self.process} is in another instance of group {self.group!r}")
        elif any(isinstance(item, frames.Join) for item in frame.control):
            return Refused("unknown", f"{self.process} is no longer in group {self.group!r}")
        return Frame(self.group, self.instance, self.process, frame.source, self._status(frame.source))

    def _on_discovery(self, frame: Frame, discovery: frames.OfDiscovery, now_ms: int) -> Reply:
        """Answer a process of the group, in another instance or in none, that calls this process by its name."""
        answer: frames.OfDiscovery | None = None
        if self._member and self.stage is Stage.MEMBER:
            answer = self._member.on_discovery(frame, discovery, now_ms)
        elif self.stage is Stage.ENTERING and self._joining.discover_request:
            self._joining.on_discovery(frame.source, frame.instance, discovery, now_ms)
            self._arrive(now_ms)
            answer = self._joining.discover_request
        else:
            return Refused("unknown", f"{self.process} is not, or no longer, in group {self.group!r}")
        head = (self.group, self.instance, self.process, frame.source)
        return Frame(*head, Status(self.view.number if self.view else 0), (answer,) if answer else ())

    def _status(self, peer: Process) -> Status:
        return self._member.heartbeats.tell(peer) if self._member else Status(0)
