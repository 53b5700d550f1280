"""Being a member: routes between data, failure detection, admission and the change to the next view.

The parts do not know each other: `Streams` (data), `ViewChange` (consensus on the next view), `Obtaining` (the cut's
payloads), `Detector` (who is suspected), `Admission` (who may join), `Links` (what is owed to whom).
"""

from __future__ import annotations

from typing import assert_never

from gcom.core import frames
from gcom.core.change import Freeze, Obtain, Out, Say, State, ViewChange
from gcom.core.directory import Entry, Unregister
from gcom.core.effects import AskRegistry, Effect, Ended, Installed, Suspected
from gcom.core.farewells import Farewells
from gcom.core.frames import Control, Decision, Frame, Refused, Reply, Status
from gcom.core.links import Links
from gcom.core.obtain import Obtaining, relay
from gcom.core.proposing import Grounds
from gcom.core.registering import Registering
from gcom.core.streams import Streams
from gcom.values import limits
from gcom.values.names import Process
from gcom.values.run import Run


class Member:
    """A process in the view. `ended` is set when its stay is over; nothing is to be called after that."""

    def __init__(self, found: Entry, process: Process, links: Links, entry: Decision, now_ms: int) -> None:
        self.group, self.instance, self.definition = found.definition.group, found.instance, found.definition
        self.process = process
        self.effects: list[Effect] = []
        self.ended: Ended | None = None
        self.leaving = False
        self.view = entry.view
        self._decision = entry  # that made the view
        self._links = links
        self._change = ViewChange(process)
        self._obtaining = Obtaining()
        self._grounds = Grounds(process, found.definition, entry.view)
        self._farewells = Farewells()
        self.registering = Registering(process, found.definition, found.instance)
        self._behind: set[Process] = set()  # members that have not installed the view, as far as is known
        self._promised_ms = 0
        self._retry_ms = 0  # a proposer that met a higher ballot waits until then
        base = {sender: number for sender, number in entry.cut.items() if number}
        self.streams = Streams(process, found.definition, entry.view, base)
        self._begin_view(entry, now_ms)
        self.effects.append(Installed(entry.view, entry.joined, entry.left, base))
        self._register(now_ms)

    # data

    def submit(self, payloads: list[bytes | str]) -> None:
        self.streams.submit(payloads)
        self._links.wake_all()
        self._form_alone()

    def _form_alone(self) -> None:
        """Without a peer there is no frame to wait for."""
        while not self._others and self.streams.may_form:
            self.effects += self.streams.form(limits.RUN_BYTES_MAX)

    def on_consumed(self, sender: Process, number: int, size: int) -> None:
        if self.streams.on_consumed(sender, number, size):
            self._links.owe_status([sender])
        if self.streams.may_form:
            self._links.wake_all()
            self._form_alone()

    def runs_for(self, peer: Process) -> list[Run]:
        """What to put to a peer now: what it asked for, else what follows in this process's stream."""
        budget = limits.FRAME_BYTES_MAX - limits.FRAME_HEADER_BYTES
        multicast = self.streams.multicast
        relayed = relay(self._links[peer].relays, multicast, budget)
        if relayed or not multicast.open_to(peer):
            return relayed
        if self.streams.may_form and not multicast.has_for(peer):
            self.effects += self.streams.form(limits.RUN_BYTES_MAX)
            self._links.wake_all()
        return multicast.take(peer, budget)

    # frames

    def status(self, peer: Process) -> Status:
        return self.streams.status(peer, self.leaving, tuple(self._grounds.detector.suspects))

    def _reply(self, peer: Process, control: tuple[Control, ...] = ()) -> Frame:
        return Frame(self.group, self.instance, self.process, peer, self.status(peer), control)

    def receive(self, frame: Frame, now_ms: int) -> Reply:
        """Take a frame of this group; returns the reply."""
        if frame.source in self.view.members:
            self._on_member_frame(frame, now_ms)
            return self._reply(frame.source)
        for item in frame.control:
            if isinstance(item, frames.Join) and not frame.status.view:  # who has a view does not enter
                return self._on_join(frame.source, item, now_ms)
        if told := self._farewells.decision(frame.source):  # it has not seen the view that goes on without it
            self._links.say(frame.source, frames.Install(told))
            self._relay_fetches(frame)
        elif 0 < frame.status.view <= self.view.number:
            text = f"view {self.view.number} of group {self.group!r} goes on without {frame.source}"
            return Refused("expelled", text)
        return self._reply(frame.source)

    def _on_member_frame(self, frame: Frame, now_ms: int) -> None:
        self._on_status(frame.source, frame.status, now_ms)
        for run in frame.runs:
            self.effects += self.streams.receive(run, now_ms)
            self._obtaining.heard(run.sender, now_ms)
        if frame.status.view == self.view.number:
            self.streams.on_sent(frame.source, frame.status.sent, now_ms)
        self._relay_fetches(frame)
        for item in frame.control:
            if not self.ended:
                self._on_control(frame.source, item, now_ms)
        self._advance(now_ms)

    def _relay_fetches(self, frame: Frame) -> None:
        for item in frame.control:
            if isinstance(item, frames.Fetch):
                self._links.relay(frame.source, item)

    def _on_join(self, source: Process, join: frames.Join, now_ms: int) -> Reply:
        if self._farewells.is_gone(source):
            return Refused("unknown", f"{source} was in group {self.group!r}: it enters again as a new process only")
        leader = next(member for member in self.view.members if not self._grounds.detector.suspected(member))
        if leader != self.process:
            return self._reply(source, (frames.Redirect(leader, self.view.address(leader)),))
        refusal = self._grounds.admission.ask(source, join.address, self.view, self._grounds.detector, now_ms)
        self._links.owe_status(self._grounds.admission.holders_asked_for(self.view))
        self._advance(now_ms)
        return self._reply(source, (refusal,) if refusal else ())

    def _on_status(self, peer: Process, status: Status, now_ms: int) -> None:
        same = status.view == self.view.number
        self._grounds.detector.heard(peer, now_ms, status.suspects if same else ())
        self.streams.multicast.on_status(peer, status)
        self._grounds.frozen = self.streams.multicast.some_frozen
        if status.view < self.view.number:
            self._links.say(peer, frames.Install(self._decision))
        if same:
            self._installed_by(peer)
            if status.leaving:
                self._grounds.leavers[peer] = None
        if self.streams.may_form or self.streams.multicast.has_for(peer):
            self._links.wake(peer)
            self._form_alone()

    def _installed_by(self, peer: Process) -> None:
        self._behind.discard(peer)
        self._grounds.detector.caught_up(peer)
        if not self._behind & self._grounds.live:
            self.streams.multicast.release_previous()

    def _on_control(self, source: Process, item: Control, now_ms: int) -> None:
        match item:
            case frames.Install(decision):
                self._on_install(decision, now_ms)
            case frames.Fetch() | frames.Join() | frames.Redirect() | frames.JoinRefused():
                pass  # a fetch is relayed for the whole frame; the others are late: that process is in already
            case _:
                if item.view == self.view.number:
                    self._on_change(source, item, now_ms)

    def _on_change(self, source: Process, item: Control, now_ms: int) -> None:
        match item:
            case frames.Prepare(_, ballot):
                held = self.streams.multicast.holdings()
                self._carry_out(
                    self._change.on_prepare(source, ballot, self._grounds.permits(source), held),
                    now_ms,
                )
            case frames.Promise():
                self._change.on_promise(source, item)
            case frames.Nack():
                self._change.on_nack(item)
                self._retry_ms = now_ms + limits.RESEND_MS * (1 + self._rank)
            case frames.Cut():
                self._carry_out(self._change.on_cut(source, item), now_ms)
            case frames.CutOk():
                self._change.on_cut_ok(source, item)

    def on_replied(self, peer: Process, reply: Reply, now_ms: int) -> None:
        """A call to a peer was answered."""
        if peer not in self.view.members:
            if isinstance(reply, Refused):
                self._links.close(peer)  # it left, and knows that
            return
        if isinstance(reply, Frame):
            self._on_status(peer, reply.status, now_ms)
            self.streams.multicast.on_replied(peer)
        elif reply.code == "expelled":
            self.end("expelled")
        elif reply.code == "unknown":
            self._suspect([peer] if self._grounds.detector.suspect(peer, "gone") else [])
        self._advance(now_ms)

    def on_failed(self, peer: Process, refused: bool, now_ms: int) -> None:
        """A call to a peer failed."""
        if peer in self.view.members:
            self.streams.multicast.on_failed(peer)
            self._suspect([peer] if self._grounds.detector.failed(peer, refused) else [])
            self._advance(now_ms)
        elif refused:
            self._links.close(peer)  # it left, and is gone

    # the change to the next view

    @property
    def busy(self) -> bool:
        """Whether a change is under way or wanted."""
        return self._change.state is not State.NORMAL or self._grounds.any

    @property
    def _live_others(self) -> list[Process]:
        """By rank; a set would not do, since hash order would decide who is called first."""
        return [member for member in self._others if member in self._grounds.live]

    def _suspect(self, peers: list[Process]) -> None:
        suspects = self._grounds.detector.suspects
        self.effects += [Suspected(peer, self.view.number, suspects[peer]) for peer in peers]
        if peers:
            self._links.owe_status(self._live_others)

    def _advance(self, now_ms: int) -> None:
        while not self.ended and self._step(now_ms):
            pass

    def _step(self, now_ms: int) -> bool:
        """One step of this process as a proposer; whether there may be another."""
        promises = self._change.promises(self._grounds.live)
        if promises is not None:
            self._carry_out(self._change.decide(self._grounds.fresh(promises)), now_ms)
            return True
        decision = self._change.decided(self._grounds.live)
        if decision is not None:
            self._install_everywhere(decision, now_ms)
            return True
        stale = self._change.is_stale(self._grounds.live) and self._grounds.has_quorum
        if stale or (not self._change.proposing and self._should_propose(now_ms)):
            ask, held = self._live_others, self.streams.multicast.holdings()
            self._carry_out(self._change.propose(held, ask, now_ms), now_ms)
            return True
        return False

    def _should_propose(self, now_ms: int) -> bool:
        """The lowest rank that a quorum does not suspect proposes, once all members are in the view that is left."""
        if not self._grounds.any or now_ms < self._retry_ms or self._behind & self._grounds.live:
            return False
        if self._change.state is not State.NORMAL and not self._may_supersede(now_ms):
            return False
        return self._grounds.may_propose(now_ms)

    def _may_supersede(self, now_ms: int) -> bool:
        """Whether a promise that this process made needs not be waited for.

        1. C is paused; B and A suspect it, B (next in rank) promises to itself. 2. C runs again, A hears it and takes
        its suspicion back before B's PREPARE comes. 3. A does not promise, and B stays frozen. So who may propose does
        so when a change has stalled; the higher ballot takes the frozen ones along.
        """
        gone = self._change.proposer not in self._grounds.live - {self.process}
        return gone or now_ms - self._promised_ms >= limits.STALL_MS * (1 + self._rank)

    def _carry_out(self, outs: list[Out], now_ms: int) -> None:
        for out in outs:
            match out:
                case Say(to, item):
                    self._links.say(to, item)
                case Freeze():
                    self.streams.multicast.freeze()
                    self._grounds.detector.sticky = True
                    self._promised_ms = now_ms
                    if not self._obtaining.decided:
                        self._obtaining.clear()
                case Obtain(decision, holders):
                    self._obtaining.want(decision, holders, decided=False)
                    self._obtain(now_ms)
                case _:
                    assert_never(out)

    def _obtain(self, now_ms: int) -> None:
        """Ask for what the wanted cut still misses; once it misses nothing, accept or install."""
        wanted = self._obtaining.wanted
        if wanted is None or self.ended:
            return
        missing = self.streams.multicast.missing(wanted.cut, now_ms)
        if missing:
            for say in self._obtaining.ask(missing, self.view.number, self._live_others, now_ms):
                self._links.say(say.to, say.item)
        elif not self.streams.multicast.can_end(wanted.cut):
            self.end("expelled")  # no honest proposer cuts a run
        elif self._obtaining.decided:
            self._install(wanted, now_ms)
        else:
            self._obtaining.clear()
            self._carry_out(self._change.complete(), now_ms)

    def _install_everywhere(self, decision: Decision, now_ms: int) -> None:
        """This process's proposal is decided: tell all who take part, and those who come."""
        for joiner in decision.joined:
            self._links.open(joiner, decision.view.address(joiner), now_ms)
        for peer in [*self._live_others, *decision.joined]:
            self._links.say(peer, frames.Install(decision))
        self._on_install(decision, now_ms)

    def _on_install(self, decision: Decision, now_ms: int) -> None:
        if decision.view.number != self.view.number + 1:
            if self.process in decision.joined and decision.view.number > self.view.number:
                self.end("expelled")  # whoever admits it again takes it for a newcomer
            return
        takes_part = self.process in decision.view.members or decision.left.get(self.process) == "request"
        if not takes_part or not self.streams.multicast.within(decision.cut):
            self.end("expelled")
            return
        self._carry_out([Freeze()], now_ms)
        self._obtaining.want(decision, dict.fromkeys(decision.cut, self._others), decided=True)
        self._obtain(now_ms)

    def _install(self, decision: Decision, now_ms: int) -> None:
        self.effects += self.streams.close(decision)
        if self.process not in decision.view.members:
            self._finish(Ended(self.view.number, "request", decision.view.number))
            return
        self._farewells.left_view(decision, self._behind)
        self.streams.install(decision)
        self._begin_view(decision, now_ms)
        self.effects.append(Installed(decision.view, decision.joined, decision.left))
        if self.leaving and not self._others:
            self._leave_alone()
        else:
            self._register(now_ms)
            self._form_alone()

    def _begin_view(self, decision: Decision, now_ms: int) -> None:
        view = self.view = decision.view
        self._decision = decision
        self._obtaining.clear()
        self._change.install(view)
        self._grounds.install(view, now_ms)
        self._rank = view.rank(self.process)
        self._others = tuple(member for member in view.members if member != self.process)
        self._behind = set(self._others)
        self._installed_ms = now_ms
        self._farewells.install(decision, now_ms)
        members = {peer: view.address(peer) for peer in self._others}
        self._links.rewire(members, self._farewells.leavers, now_ms)
        self._installed_by(self.process)

    # leaving, and time

    def leave(self, now_ms: int) -> None:
        """Ask to go: every status says so, and the leader takes it into the next change."""
        self.leaving = True
        if not self._others:
            self._leave_alone()
            return
        self._grounds.leavers[self.process] = None
        self._links.owe_status(self._others)
        self._advance(now_ms)

    def _leave_alone(self) -> None:
        """The last member takes the group along."""
        self.effects.append(AskRegistry(Unregister(self.group, self.instance, self.view.number)))
        self._finish(Ended(self.view.number, "request"))

    def end(self, reason: str) -> None:
        """The stay is over without a cut: say what of this process's messages may not have arrived."""
        self._finish(Ended(self.view.number, reason, None, self.streams.unconfirmed))

    def _finish(self, ended: Ended) -> None:
        self.ended = ended
        self.effects.append(ended)

    def _register(self, now_ms: int) -> None:
        self.effects += [AskRegistry(request) for request in self.registering.due(self.view, now_ms)]

    def tick(self, now_ms: int) -> None:
        self._suspect(self._grounds.detector.tick(now_ms))
        self._grounds.admission.tick(now_ms)
        if not self._grounds.detector.has_quorum(now_ms):
            self.end("quorum")
            return
        if now_ms - self._installed_ms >= 2 * limits.SILENCE_MS:
            self._suspect([peer for peer in sorted(self._behind) if self._grounds.detector.suspect(peer, "stuck")])
        for leaver in self._farewells.forget(now_ms):
            self._links.close(leaver)
        self.effects += self.streams.give_up_overdue(now_ms)
        self._carry_out(self._change.ask_again(self._live_others, now_ms), now_ms)
        self._obtain(now_ms)
        if self.ended:
            return
        self._register(now_ms)
        self._advance(now_ms)
