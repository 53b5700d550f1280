"""A member of a group: routes between data, envelopes, links, joiners and view changes.

The parts do not know each other: `Streams` (data), `UnicastEndpoint` (unicast and calls), `ViewChanger`, `Links`.
"""

from __future__ import annotations

from collections.abc import Iterable

from gcom.core.detector.connectivity import within
from gcom.core.heartbeats import Heartbeats, Statuses
from gcom.core.inspection import Inspection, inspect
from gcom.core.intake import Intake
from gcom.core.joining.merge import Merge
from gcom.core.links import ANSWERS, Links
from gcom.core.membership.door import Door
from gcom.core.membership.own_leave import LeaveWish
from gcom.core.membership.registration import Registration, Verdict
from gcom.core.membership.view_change import ViewChanger
from gcom.core.messages import events, frames
from gcom.core.messages.effects import AskRegistry, AskSequencer, Effect, Ended, Installed, Succeeds
from gcom.core.messages.frames import Control, Decision, Frame, Install, Refused, Reply, Status
from gcom.core.messages.registry import Answer, GroupInfo, Note, Register, Request, Unregister
from gcom.core.messages.sequencer import Close, SequencerAnswer, SequencerRequest
from gcom.core.messages.witness import WitnessAccept, WitnessDecided, WitnessPrepare
from gcom.core.multicast.signing import RunSigner
from gcom.core.outgoing import Outgoing
from gcom.core.sequencing import Sequencing
from gcom.core.state_transfer.transfer import Transfer
from gcom.core.streams import Streams
from gcom.core.unicast.endpoint import UnicastEndpoint
from gcom.values import limits
from gcom.values.names import Address, Process
from gcom.values.view import View


class Member:
    """A process in the view. `ended` is set when its session is over: after that it is only read."""

    def __init__(
        self,
        found: GroupInfo,
        process: Process,
        links: Links,
        transfer: Transfer,
        entry: Install,
        now_ms: int,
        away: Iterable[tuple[Process, Address]],
        succeeds: Succeeds | None,
        signer: RunSigner | None,
    ) -> None:
        self.group, self.instance, self.definition = found.definition.group, found.instance, found.definition
        self.process = process
        self._links = links
        made = entry.decision
        self.streams = Streams(process, self.group, self.instance, found.definition, made, entry.serial, signer)
        self.transfer = transfer
        self._view_change = ViewChanger(process, found, links, self.streams, transfer, entry, now_ms)
        self._triggers = self._view_change.triggers
        self._intake = Intake(self.streams, self._view_change)
        self._sequencing = Sequencing(self.streams, links, self._view_change)
        self._door = Door(self.group, self.instance, links, self._view_change)
        self.unicast = UnicastEndpoint(process, made.view)
        self.effects: list[Effect] = self._view_change.effects  # one list, so that their order is that of the steps
        self.outgoing = Outgoing(links, self.streams, self.unicast.channels, transfer, self.effects)
        statuses = Statuses(self.streams, self._view_change, self.unicast.channels, transfer)
        self.heartbeats = Heartbeats(links, self._view_change, self.outgoing, statuses)
        self._marked = -1  # the version at which hold times were marked
        self.registration = Registration(process, found)
        self._merge = Merge(process, found.instance, found.definition.netsplit, links, away)
        self.effects += transfer.enter(made, now_ms, found.instance)  # before Installed, which may have to wait
        self.heartbeats.install(made, now_ms)
        base = {sender: number for sender, number in made.cut.items() if number and sender != frames.ORDER}
        self.effects.append(Installed(made.view, made.joined, made.left, base, entry.serial, succeeds))
        self._register(now_ms)

    @property
    def view(self) -> View:
        return self._view_change.view

    @property
    def ended(self) -> Ended | None:
        return self._view_change.ended

    @property
    def detached(self) -> bool:
        return self._view_change.detached

    @property
    def survivors(self) -> frozenset[Process] | None:
        return self._triggers.survivors

    @property
    def succeeded(self) -> Install | None:
        return self._view_change.succeeded

    @property
    def busy(self) -> bool:
        """Return whether a change is under way or wanted, or the sequencer is to be asked again soon."""
        return self._view_change.busy or bool(self.streams.serials and self.streams.serials.waiting)

    @property
    def tick_ms(self) -> int:
        """The time until the next tick: while something is wanted, that in which joins gather."""
        return limits.JOIN_GATHER_MS if self.busy else self._triggers.detector.tick_ms

    def inspect(self, now_ms: int) -> Inspection:
        return inspect(self.view, self.streams, self._triggers.detector, now_ms)

    @property
    def in_doubt(self) -> tuple[int, int] | None:
        return self._view_change.doubt.span

    def _proceed(self, now_ms: int) -> None:
        """Do what follows from a step: this process's part as a proposer, then what a new view asks for."""
        if self.leaves_for and self._view_change.own_leave.say(self._triggers.leavers, self.transfer):
            self._links.owe_status(self._view_change.others)
        if self._triggers.admission.waiting and not self.ended:
            self._door.note(now_ms)  # before `advance`, which admits only who is noted
        self._view_change.advance(now_ms)
        if not self._view_change.passed or self.ended:
            return
        for old, decision in self._view_change.passed:
            self._merge.install(old, decision)
            self.registration.install(old, decision)
        entered, self._view_change.passed = self._view_change.passed[-1][1], []
        self.effects += self.unicast.install(self.view.members)
        self.heartbeats.install(entered, now_ms)
        if self.leaves_for and not self._view_change.others:
            self._leave_alone()
        else:
            self._register(now_ms)
            self._have_runs_formed()  # the last peer may have gone, and with it the frames to wait for

    def submit(self, payloads: list[bytes | str]) -> None:
        self.streams.submit(payloads)
        self._have_runs_formed()

    def _have_runs_formed(self) -> None:
        """Have the links form runs as they take frames; without a peer, and a frame to wait for, form them here."""
        self._links.wake_all()
        while not self._view_change.others and (formed := self.streams.form(limits.RUN_BYTES_MAX)):
            self.effects += formed

    def on_consumed(self, sender: Process, number: int, size: int) -> None:
        if self.streams.on_consumed(sender, number, size):
            self._links.owe_status([sender])  # a quarter of its window is free again
        if self.streams.unsent and self.streams.may_form:
            self._have_runs_formed()

    def on_sequencer(
        self, request: SequencerRequest, answer: SequencerAnswer | None, refused: bool, now_ms: int
    ) -> None:
        self._sequencing.on_answer(request, answer, refused, now_ms)
        self._proceed(now_ms)

    def settle(self, now_ms: int) -> None:
        """Owe the peers a status if the step had news for them; ask the registry's sequencer for what is due."""
        if self._view_change.ended:
            return
        if self._view_change.doubt.span:
            self._view_change.settle_doubt()
        if self.streams.news:
            self.streams.news = False  # one status, however much the step has done
            self._links.owe_status(self._view_change.others)
        self._sequencing.ask(now_ms)

    def on_state_taken(self, view: int, data: bytes | None, error: str) -> None:
        self.transfer.on_taken(view, data, error)
        self._links.wake_all()  # chunks go unasked

    # envelopes

    def on_unicast(self, event: events.UnicastEvent) -> None:
        self.effects += self.unicast.handle(event)
        for peer in [it for it in self._view_change.others if self.unicast.channels.outboxes[it].has_more]:
            self._links.wake(peer)

    def on_unicast_read(self, sender: Process) -> None:
        urgent, effects = self.unicast.on_read(sender)
        self.effects += effects
        self._links.owe_status([sender] if urgent else [])

    # frames

    def _reply(self, peer: Process, control: tuple[Control, ...] = ()) -> Frame:
        return Frame(self.group, self.instance, self.process, peer, self.heartbeats.tell(peer), control)

    def receive(self, frame: Frame, now_ms: int) -> Reply:
        if frame.source in self._intake.liars:
            return self._reply(frame.source)  # whose status says that it is suspected
        if frame.source in self._view_change.view.members:
            self._on_member_frame(frame, now_ms)
            # A peer that suspects this process may not hear its replies, so the heartbeat is not put off.
            if self.process not in frame.status.suspects and not self.outgoing.is_owed(frame.source):
                self._links.heard(frame.source, now_ms)
            return self._reply(frame.source, self._links.answers(frame.source))
        for item in frame.control:
            if isinstance(item, frames.Join) and not frame.status.view:  # a process that has a view does not enter
                return self._on_join(frame.source, item, now_ms)
            if isinstance(item, frames.Install) and self._view_change.consensus.believes(frame.source, item.decision):
                # A joiner, or one noted for the next view, is in it already: 1. The proposer tells the joiner alone of
                # the decision, and dies. 2. The joiner lacks a quorum until somebody of the old view follows it.
                self._on_control(frame.source, item, now_ms)
                self._proceed(now_ms)
                return self._reply(frame.source)
        # A leaver that has not seen the view which goes on without it.
        if told := self._view_change.tombstones.decision(frame.source):
            self._links.say(frame.source, frames.Install(told))
            self._relay_fetches(frame)  # it still lacks what the cut has of others
        elif 0 < frame.status.view <= self.view.number:  # else this one may be behind (link.md)
            text = f"view {self.view.number} of group {self.group!r} goes on without {frame.source}"
            return Refused("expelled", text, self._view_change.tombstones.settled(frame.source))
        return self._reply(frame.source)

    def _on_member_frame(self, frame: Frame, now_ms: int) -> None:
        self._on_news(frame, now_ms)
        self.heartbeats.on_taken(frame)

    def _on_news(self, frame: Frame, now_ms: int) -> None:
        self._on_status(frame.source, frame.status, now_ms)
        if self.outgoing.has_for(frame.source):  # what it said may let data go to it; a reply wakes its link anyway
            self._links.wake(frame.source)
        if frame.orders and frame.orders.view == self._view_change.view.number:
            self.effects += self.streams.on_orders(frame.orders, fresh=False)
            self._view_change.heard(frames.ORDER, now_ms)
        self.effects += self._intake.take(frame, now_ms)
        if frame.envelopes:
            self.effects += self.unicast.receive(frame.source, frame.envelopes, frame.status.view)
        if frame.status.view == self._view_change.view.number:
            self.effects += self.streams.on_sent(frame.source, frame.status.sent, now_ms)
        if frame.control:
            self._relay_fetches(frame)
        for item in frame.control:
            if not self.ended and frame.source not in self._intake.liars:
                self._on_control(frame.source, item, now_ms)
        self._proceed(now_ms)

    def _relay_fetches(self, frame: Frame) -> None:
        for fetch in [item for item in frame.control if isinstance(item, frames.Fetch)]:
            self._links.relay(frame.source, fetch)

    def _on_join(self, source: Process, join: frames.Join, now_ms: int) -> Reply:
        answer = self._door.answer(source, join, now_ms)
        self._proceed(now_ms)
        return answer if isinstance(answer, Refused) else self._reply(source, answer)

    def _on_status(self, peer: Process, status: Status, now_ms: int) -> None:
        same = status.view == (number := self._view_change.view.number)
        unheard = within(status.unheard, len(self.view.members)) if same and status.unheard else {}
        self._triggers.detector.heard(peer, now_ms, status.suspects if same else (), unheard)
        if same and status.suspects:
            self._view_change.probes.look_at(status.suspects, now_ms)
        self.effects += self.streams.on_status(peer, status)
        self.unicast.channels.outboxes[peer].on_receipt(status.receipt, status.view)
        # In another view it means another donor, or another barrier.
        if same and self.transfer.owes:
            self.transfer.on_status(peer, status.state, status.needs_donor)
        self._triggers.wedged = self.streams.multicast.some_wedged
        self._view_change.probes.on_heard(peer)
        if status.view < number:
            self._view_change.tell(peer)  # it missed the INSTALL: each of its statuses asks again
        elif not same:
            self._view_change.own_leave.went_on(peer)
        else:
            if self._view_change.behind or peer in self._triggers.detector.suspects:
                self._view_change.installed_by(peer, status.arrived)
            if status.leaving:
                self._triggers.leavers[peer] = status.leaving
            if status.cut_off or status.reaches != (peer in self._triggers.reaching):
                self._triggers.on_registry(peer, status.cut_off, status.reaches)
            if status.needs_donor:
                self._view_change.seek(peer)

    def _on_control(self, source: Process, item: Control, now_ms: int) -> None:
        match item:
            case frames.Install(decision, _, ballot):
                self._view_change.on_install(decision, ballot, now_ms, source)
            case frames.StateChunk():
                self.effects += self.transfer.on_chunk(source, item, now_ms)
            case frames.StateRefused():
                self.transfer.on_refused(source, item)
                if self.transfer.needs_donor:
                    self._view_change.seek(self.process)
            case frames.Probe():
                self._view_change.probes.answer(source, item, now_ms)
            case frames.IndirectAck(view, heard):
                if view == self.view.number:
                    self._triggers.detector.on_indirect_ack(heard, now_ms)
            case frames.MergeInto():
                self._merge.on_told(source, item, self.view, now_ms)
            case frames.DiscoverRequest() | frames.DiscoverReply():
                pass  # for a name: answered before the frame's instance is compared
            case frames.Fetch() | frames.Join() | frames.Redirect() | frames.JoinRefused() | frames.Reach():
                pass  # a fetch is relayed for the whole frame; the others are late: that process is in already
            case _:
                self._view_change.on_item(source, item, now_ms)

    def on_replied(self, peer: Process, reply: Reply, now_ms: int) -> None:
        if peer in self._intake.liars and isinstance(reply, Frame):
            return
        members = self._view_change.view.members
        if peer not in members and peer in self._view_change.consensus.noted:
            self._on_noted(peer, reply, now_ms)
            return
        if isinstance(reply, Refused) and self._view_change.tombstones.end(peer):
            self._links.close(peer)  # it was told, and is no more: discovery will tell where its process is now
            return
        if peer not in members:
            if self._door.on_reply(peer, reply):
                self._proceed(now_ms)
            elif self._merge.on_reply(peer, reply, self.view, now_ms) and not self.leaves_for:
                self.leave(now_ms, LeaveWish("merge", self._merge.into))
            return
        self._triggers.detector.answered(peer)  # both directions of the link work; `heard` alone shows one
        self._on_word(peer, reply, now_ms)
        if isinstance(reply, Frame):
            self.heartbeats.on_taken(reply)
        else:
            self.heartbeats.version += 1

    def _on_word(self, peer: Process, reply: Reply, now_ms: int) -> None:
        if isinstance(reply, Frame):
            self._on_status(peer, reply.status, now_ms)
            for item in reply.control:
                if isinstance(item, ANSWERS):
                    self._view_change.on_item(peer, item, now_ms)
                elif isinstance(item, Install):  # it has gone on to a successor
                    self._view_change.on_install(item.decision, item.ballot, now_ms, peer)
            if self._view_change.ended:
                return
            # Not before all is answered: what is still in flight is in no answer yet, and would be put twice.
            if self._links.settled(peer):
                self.streams.on_replied(peer)
                self.unicast.channels.outboxes[peer].on_replied()
        else:
            self._on_refused(peer, reply)
        if not self._view_change.ended:
            self._proceed(now_ms)

    def _on_refused(self, peer: Process, reply: Refused) -> None:
        """Handle a refusal. A member that is `elsewhere` will tell of the successor that it is in."""
        if reply.code == "expelled":
            self._view_change.expel(reply.settled)
        elif reply.code in ("ended", "returning"):
            self._triggers.on_returning(reply.reach)
            self._view_change.proven(peer, frames.ENDED)  # either way that session is over, and votes no more
        elif reply.code == "unknown" and self._links.is_other_life(peer, reply.life):
            self._view_change.proven(peer, frames.DEAD)  # no two lives are at one address at a time
        elif reply.code in ("unknown", "entering"):
            self._view_change.gone(peer)  # no proof: the same life may have forgotten it

    def _on_noted(self, peer: Process, reply: Reply, now_ms: int) -> None:
        """Take the answer of a process that may be in a later view: it promises, or is in that view, or in none."""
        if isinstance(reply, Frame):
            for promise in [item for item in reply.control if isinstance(item, frames.Promise)]:
                self._view_change.on_item(peer, promise, now_ms)
        else:
            self._on_refused(peer, reply)
        if not self.ended:
            self._view_change.ask_noted_again(peer)
            self._proceed(now_ms)

    def on_failed(self, peer: Process, refused: bool, dead: bool, now_ms: int) -> None:
        """Record that a call to a peer failed; `dead`: its own kernel says that its life is over."""
        if dead:
            self._view_change.proven(peer, frames.DEAD)
        if peer in self.view.members:
            self.streams.on_failed(peer)
            self.unicast.channels.outboxes[peer].on_failed()
            self.transfer.on_failed(peer)
            self._view_change.on_failed(peer, refused, now_ms)
        else:
            # An operator gave the silent up; a noted process that fails twice is silent, too.
            if self._triggers.given_up and peer in self._links and self._links[peer].failures > 1:
                self._view_change.consensus.strike_off(peer)
            self._door.on_failed(peer)
            self._merge.on_failed(peer, refused)
        self._proceed(now_ms)

    # leaving, and time

    @property
    def leaves_for(self) -> str:
        return self._view_change.own_leave.wish.reason

    def leave(self, now_ms: int, wish: LeaveWish) -> None:
        """Ask to go: every status says so, and the leader takes it into the next change."""
        self._view_change.own_leave.wish = wish
        if not self._view_change.others:
            self._leave_alone()
            return
        self._proceed(now_ms)

    def _leave_alone(self) -> None:
        """Leave as the last member: take the group along, unless all go over to another instance of it."""
        # The other instance of a PRIMARY group stands above, whatever becomes of it; of sides each may be what is left.
        if self.leaves_for != "merge" or not self._triggers.partitionable:
            last = Unregister(self.group, self.instance, self.view.number, self.process)
            self.effects.append(AskRegistry(last))
        if self.definition.total:
            end = Decision(self.view, (), {}, self.streams.holdings())  # what has no place yet is delivered, too
            self.effects += [*self.streams.close(end), AskSequencer(Close(self.group, self.instance))]
        self._view_change.finish(Ended(self.view.number, self.leaves_for, into=self._view_change.own_leave.wish.into))

    def on_registry(self, request: Request, answer: Answer | None, now_ms: int) -> None:
        match request:
            case WitnessPrepare() | WitnessAccept():
                self.heartbeats.version += 1
                self._view_change.on_witness(answer, now_ms)
            case Note(view=view) if view == self.view.number:
                self._triggers.admission.on_noted(answer, now_ms)
            case Register():
                self._on_registered(request, answer, now_ms)
            case _:
                return
        if not self.ended:
            self._proceed(now_ms)

    def _on_registered(self, request: Register, answer: Answer | None, now_ms: int) -> None:
        # A member that hears a quorum learns of its own instance from the others; else the registry's word counts.
        verdict = self.registration.on_answer(request, answer, self.view, self._view_change.detached)
        # As a rule the registry says again what it said last.
        if verdict is not Verdict.GO_ON or isinstance(answer, WitnessDecided):
            self.heartbeats.version += 1
        if isinstance(answer, WitnessDecided):
            self._view_change.on_witness(answer, now_ms)  # the instance that succeeds this one
        elif verdict is Verdict.GIVE_WAY and isinstance(answer, GroupInfo):
            self._on_rival(answer, now_ms)
        elif verdict is Verdict.GIVE_UP_UNHEARD:
            self._triggers.give_up_unheard()
        elif verdict is not Verdict.GO_ON:
            into = answer.instance if isinstance(answer, GroupInfo) else ""
            self._view_change.end(verdict.value, into if into != self.instance else "")

    def _on_rival(self, rival: GroupInfo, now_ms: int) -> None:
        """Handle that another instance has the name, and stands above."""
        if not self._view_change.detached:
            self._merge.on_registered(rival, self.view, now_ms)
        # A detached member yields only once no quorum of its view can be again: until then its instance may go on.
        elif self.survivors is not None:
            self._view_change.end("merge", rival.instance)

    def on_discovery(self, frame: Frame, discovery: frames.OfDiscovery, now_ms: int) -> frames.OfDiscovery | None:
        """Answer a call from elsewhere in the group; None where this instance may be over soon."""
        if isinstance(discovery, frames.DiscoverReply):
            self._merge.on_discover_reply(frame.instance, discovery, self.view, now_ms)
        hears = self._triggers.partitionable and self._triggers.detector.hears_quorum(now_ms)
        return self._merge.discover_reply(self.view) if hears else None

    @property
    def away(self) -> tuple[tuple[Process, Address], ...]:
        return tuple(self._merge.away)

    def end(self, reason: str, into: str = "") -> None:
        self._view_change.end(reason, into)

    def _register(self, now_ms: int) -> None:
        self.effects += map(
            AskRegistry, self.registration.due(self._view_change.view, self._view_change.detached, now_ms)
        )

    def tick(self, now_ms: int) -> None:
        unheard = self._triggers.unheard
        self._view_change.tick(now_ms)
        if self.ended:
            return
        self._merge.call_rival(now_ms)
        self._merge.discover(self._view_change.view, self._view_change.tombstones.leavers, now_ms)
        self.effects += self.streams.give_up_overdue(now_ms)
        if self._marked != self.heartbeats.version or not self._triggers.detector.far:
            self._marked = self.heartbeats.version
            self.streams.mark_hold_times(now_ms)
        if self.streams.stop_waiting():  # for its order, or for more room: until the next tick or two at most
            self._have_runs_formed()
        self.effects += self.unicast.tick(now_ms)
        if self._view_change.busy or self._triggers.unheard is not unheard:
            self.heartbeats.version += 1
        self._register(now_ms)
        self._proceed(now_ms)
        self.heartbeats.tick(now_ms)
