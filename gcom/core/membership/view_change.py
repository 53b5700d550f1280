"""Routes of a view change: between failure detection, consensus, payloads and streams (ARCHITECTURE 8, 9).

The parts do not know each other: `Consensus` (agreement on the next view), `Flush` (the cut's payloads), `Triggers`
(why there should be another view, who may propose it, and what), `Tombstones` (who left). Views begin in `_begin_view`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from gcom.core.detector.probes import IndirectProbes
from gcom.core.links import Links
from gcom.core.membership.arrivals import Arrivals
from gcom.core.membership.consensus import AskWitness, Consensus, ConsensusState, Out, Say, StartFlush, Wedge
from gcom.core.membership.flush import Flush
from gcom.core.membership.in_doubt import InDoubt
from gcom.core.membership.own_leave import OwnLeave
from gcom.core.membership.tombstones import Tombstones
from gcom.core.membership.triggers import Triggers
from gcom.core.messages import frames
from gcom.core.messages.effects import AskRegistry, Effect, Ended, Installed, MergeState, Quorum, Suspected
from gcom.core.messages.frames import LEAVES_FOR, Ballot, Decision, Install, OfChange
from gcom.core.messages.registry import Answer, GroupInfo, Refusal
from gcom.core.messages.witness import (
    WitnessAccept,
    WitnessDecided,
    WitnessNack,
    WitnessPassed,
    WitnessPrepare,
    WitnessPromised,
)
from gcom.core.state_transfer.transfer import Transfer
from gcom.core.streams import Streams
from gcom.values import limits
from gcom.values.names import Process
from gcom.values.view import View


class ViewChanger:
    """A member's way through its views. Once `ended` is set its session is over, and it is only read."""

    def __init__(
        self,
        process: Process,
        found: GroupInfo,
        links: Links,
        streams: Streams,
        transfer: Transfer,
        entry: Install,
        now_ms: int,
    ) -> None:
        self.process = process
        self.view = entry.decision.view
        self.ended: Ended | None = None
        self.busy = False  # a change is under way or wanted, as it was when the last step had done all that it could
        self.effects: list[Effect] = []
        self.triggers = Triggers(process, found.definition, found.instance, entry.decision.view)
        self.tombstones = Tombstones()
        self.passed: list[tuple[View, Decision]] = []  # views that were left, and how, since the member asked last
        self._entry = entry  # that made the view
        self._group, self._instance = found.definition.group, found.instance
        self.succeeded: Install | None = None  # how this instance ended, if another one succeeds it
        self.detached = False  # hears no quorum of its view: a state, not an end (ARCHITECTURE 10)
        self.doubt = InDoubt()  # of this process's messages
        self._decided_by = entry.ballot  # the ballot of what is decided and not yet installed
        self._links = links
        self._streams = streams
        self._transfer = transfer
        self.own_leave = OwnLeave(process)
        self.consensus = Consensus(process, found.definition.tie_breaker)
        timing = found.definition.detection
        self._stall_ms, self._silence_max_ms = timing.extended_ms(limits.STALL_MS), timing.silence_max_ms
        self._detach_ms = timing.scaled_ms(limits.DETACH_MS)
        self._flush = Flush()
        self._promised_ms = 0  # when this process was wedged last: a stalled change is outbid
        self._begin_view(entry, now_ms)

    def review(self) -> None:
        """See whether a change is under way or wanted; `advance` does so itself."""
        self.busy = self.consensus.state is not ConsensusState.NORMAL or self.triggers.wants()

    def promised_to(self, now_ms: int, lately: bool) -> Process | None:
        """Return the proposer of a change to which this process has promised, unless it is suspected."""
        if self.consensus.state is ConsensusState.NORMAL or self.triggers.detector.suspected(self.consensus.proposer):
            return None
        is_late = now_ms - self._promised_ms >= limits.WAKE_MS
        return None if lately and is_late else self.consensus.proposer

    @property
    def live_others(self) -> list[Process]:
        """The unsuspected members but this one, by rank."""
        # A list: the hash order of a set would decide who is called first, and a seed would not replay.
        return [member for member in self.others if member in self.triggers.live]

    def tell(self, peer: Process) -> None:
        """Tell a peer, which has not installed this view, how it was decided."""
        # Its every reply asks for this: a peer that still fetches the cut is told again with each heartbeat only.
        self._links.repeat(peer, self._entry)

    def heard(self, sender: Process, now_ms: int) -> None:
        """Record that a run of a sender came, or a fragment of one."""
        if self._flush.wanted:
            self._flush.heard(sender, now_ms)

    def suspect(self, peer: Process, reason: str) -> None:
        """Record evidence against a peer."""
        if self.triggers.detector.suspect(peer, reason):
            self._say_suspected([peer])

    def on_failed(self, peer: Process, refused: bool, now_ms: int) -> None:
        """Record that a call to a peer failed."""
        if self.triggers.detector.failed(peer, refused, now_ms):
            self._say_suspected([peer])

    def gone(self, peer: Process) -> None:
        """Record that the node at a peer's address does not know the peer."""
        if self.triggers.detector.gone(peer, "gone"):
            self._say_suspected([peer])

    def proven(self, peer: Process, proof: str) -> None:
        """Record proof that a process will never vote again: a member, or one that may be in a later view."""
        self.consensus.strike_off(peer)
        if self.triggers.detector.proven(peer, proof):
            self._say_suspected([peer])

    def _say_suspected(self, peers: list[Process]) -> None:
        """Tell the application and the others whom the detector began to suspect."""
        suspects = self.triggers.detector.suspects
        self.effects += [Suspected(peer, self.view.number, suspects[peer]) for peer in peers]
        if peers:
            self._links.owe_status(self.arrivals.first_told(self.live_others))

    def installed_by(self, peer: Process, bits: int = 0) -> None:
        """Record that a peer, or this process, is in this view, and those others that a leader's status names."""
        self.triggers.detector.caught_up(peer)
        told = self.arrivals.told(bits) if bits else []
        for arrived in told:
            self._streams.on_installed(arrived)
        # Suspected ones are waited for too: one of them may be the member without which there is no quorum.
        if sum(self.arrivals.add(arrived) for arrived in (peer, *told)) and not self.behind:
            self._streams.release_previous()
            self._links.owe_status(self.others if self.arrivals.tells_all else ())
        if told:
            self._links.wake_all()  # what waits for them to be in the view may go

    @property
    def behind(self) -> set[Process]:
        """The members that are not known to have installed the view."""
        return self.arrivals.behind

    def seek(self, member: Process) -> None:
        """Record that a member, this one perhaps, waits for state that its donor cannot give."""
        if member not in self.triggers.seekers:
            self.triggers.seekers[member] = None
            if member == self.process:
                self._links.owe_status(self.live_others)

    # the next view

    def on_item(self, source: Process, item: OfChange, now_ms: int) -> None:
        """Handle a control item of the change out of this view."""
        # The fence of ARCHITECTURE 4: a vote of another view counts for nothing in this one.
        if item.view != self.view.number:
            return
        match item:
            case frames.Prepare(_, ballot, succession):
                # What is held is read in the very step that wedges: a run that
                # came in between would be delivered here, and be in no union.
                stands = (self._streams.holdings(), self._transfer.standing, self._streams.agreed, succession)
                permitted = self.triggers.permits(source)
                self._carry_out(self.consensus.on_prepare(source, ballot, permitted, *stands), now_ms)
            case frames.Promise():
                self.consensus.on_promise(source, item)
            case frames.Nack(_, promised):
                self._on_nack(promised, now_ms)
            case frames.Cut():
                self._carry_out(self.consensus.on_cut(source, item), now_ms)
            case frames.CutOk():
                self.consensus.on_cut_ok(source, item)
            case _:
                assert_never(item)

    def on_install(self, decision: Decision, ballot: Ballot, now_ms: int, source: Process = "") -> None:
        """Take a value that was decided under a ballot; without a `source`, the registry says so."""
        # 1. A sends INSTALL, decided by A and B, which both die. 2. C promises to a succession. 3. A's INSTALL arrives.
        # No survivor has installed it and they go on otherwise, so it is void, whatever its ballot (continuity.md,
        # story 3). A source that lives is in that view: then there is no succession, and it counts.
        late = self.consensus.fenced and decision.succession is None
        if late and (source in self.triggers.detector.dead or source in self.consensus.gone):
            return
        if decision.view.number != self.view.number + 1:
            if self.process in decision.joined and decision.view.number > self.view.number:
                self.end("expelled")  # a member that admits it again takes it for a newcomer
            return
        takes_part = self.process in decision.view.members or decision.left.get(self.process) in LEAVES_FOR
        # Not `within`: it has delivered, or numbered, what the cut leaves out, so its promise was not in the union.
        if not takes_part or not self._streams.within(decision.cut):
            into = decision.succession.instance if decision.succession else ""
            # A successor gives up what is in the cut and has no place in the order: its cut settles nothing here.
            self.expel(None if into else decision.cut.get(self.process), into)
            return
        self._decided_by = ballot
        self.own_leave.begin(decision, set(self.others), now_ms)
        self._carry_out([Wedge()], now_ms)  # it may never have promised
        self._flush.want(decision, dict.fromkeys(decision.cut, self.others), decided=True)
        self._fetch_cut(now_ms)

    def on_witness(self, answer: Answer | None, now_ms: int) -> None:
        """Take the registry's answer as a witness; a proposer that gets none, or none that helps, asks again."""
        match answer:
            case WitnessDecided(number, decision, ballot) if number == self.view.number:
                if self.process in decision.view.members:
                    # Its proposer may have died after the registry accepted: so this process tells the others.
                    self._install_everywhere(decision, ballot, now_ms)
                else:
                    self.on_install(decision, ballot, now_ms)
            case WitnessPromised(number) if number == self.view.number:
                self.consensus.on_witness(answer)
                self.ask_noted(now_ms)
            case WitnessPassed(number) if number > self.view.number and self.consensus.survivors is not None:
                # A later view goes on, or went on, without this process. What it sent since in this view the others do
                # not have, so it must not deliver that as agreed: it enters again, with what it has.
                self.end("expelled")
            case WitnessNack(number, promised) if number == self.view.number:
                self._on_nack(promised, now_ms)
            case Refusal("NoVote"):
                self.triggers.ties_refused = True

    def ask_noted(self, now_ms: int) -> None:
        """Ask for the promise of processes that may be in a later view: from then on they take no INSTALL of before."""
        for who, address in self.consensus.noted.items():
            self._links.open(who, address, now_ms)
            if self.consensus.prepare:
                self._links.say(who, self.consensus.prepare)

    def ask_noted_again(self, who: Process) -> None:
        """Repeat the question with the next heartbeat, where its answer did not come with the reply."""
        if self.consensus.prepare and who in self.consensus.noted:
            self._links.say_later(who, self.consensus.prepare)

    def _on_nack(self, promised: Ballot, now_ms: int) -> None:
        """Give the proposer of a higher ballot time, RESEND_MS per rank, so that two do not outbid each other."""
        if self.consensus.on_nack(promised):
            self._retry_ms = now_ms + limits.RESEND_MS * (1 + self._rank)

    def advance(self, now_ms: int) -> None:
        """Take all the steps that this process can take now, as a proposer or a leaver."""
        self.triggers.merges = bool(self._streams.states_to_merge)
        if self.own_leave.awaited:
            self._fetch_cut(now_ms)  # those who stay may have the cut by now
            self.review()
            return
        if self.consensus.state is ConsensusState.NORMAL and not self.triggers.wants():
            # Where no quorum can be again, a change is always wanted: so here one can be, and there are no survivors.
            self.busy, self.consensus.survivors = False, None
            return
        self.consensus.survivors = self.triggers.survivors
        if self.triggers.outlived:
            self.end("expelled")
        view = self.view
        while not self.ended and self.view is view and self._step(now_ms):
            pass
        self.review()

    def _step(self, now_ms: int) -> bool:
        """Take one step as a proposer; return whether there may be another in this view."""
        if not (self.consensus.proposing or self.triggers.wants()):
            return False
        live, spared = self.triggers.live, self._spared(now_ms)
        promises = self.consensus.promises(live, spared)
        if promises is not None:
            fresh = self.triggers.fresh(promises)
            if self.triggers.owed_state(fresh, promises):
                return False
            self._carry_out(self.consensus.decide(fresh), now_ms)
            return True
        decision = self.consensus.decided(live)
        if decision is not None:
            self._install_everywhere(decision, self.consensus.ballot, now_ms)
            return False
        self._carry_out(self.consensus.ask_witness(live, now_ms, spared), now_ms)
        stale = self.consensus.is_stale(live) and self.triggers.may_decide
        if stale or (not self.consensus.proposing and self._should_propose(now_ms)):
            if self.consensus.spent:
                self.end("expelled")  # no honest member drives a ballot so high
                return False
            ask, held, agreed = self.live_others, self._streams.holdings(), self._streams.agreed
            self._carry_out(self.consensus.propose(held, ask, now_ms, self._transfer.standing, agreed), now_ms)
            return True
        return False

    def _spared(self, now_ms: int) -> set[Process]:
        """Return the members whose promise is waited for no longer: one that is to go may not know who may propose."""
        return set(self.triggers.dropped) if now_ms - self._promised_ms >= self._stall_ms else set()

    def _should_propose(self, now_ms: int) -> bool:
        """Return whether to begin an attempt: this process may, and all who live are in the view that is left."""
        if not self.triggers.wants() or now_ms < self._retry_ms or self.behind & self.triggers.live:
            return False
        free = self.consensus.state is ConsensusState.NORMAL or self._may_supersede(now_ms)
        return free and self.triggers.may_propose(now_ms)

    def _may_supersede(self, now_ms: int) -> bool:
        """Return whether the change that this process promised to may be outbid."""
        # 1. C is paused; A and B suspect it; B, next in rank, promises to itself. 2. C runs again; A hears it and takes
        # its suspicion back before B's PREPARE comes. 3. A does not promise, and B stays wedged. So a change that has
        # stalled is outbid by the member that may propose, and the higher ballot takes the wedged ones along.
        gone = self.consensus.proposer not in self.triggers.live - {self.process}
        return gone or now_ms - self._promised_ms >= self._stall_ms * (1 + self._rank)

    def _carry_out(self, outs: list[Out], now_ms: int) -> None:
        for out in outs:
            match out:
                case Say(to, item):
                    self._links.say(to, item)
                case Wedge():
                    self._streams.wedge()
                    self._transfer.wedge(now_ms)
                    # Suspicions are kept from here on, or a member that flaps would make the change start over.
                    self.triggers.detector.sticky = True
                    self._promised_ms = now_ms
                    if not self._flush.decided:
                        self._flush.clear()
                case AskWitness(ballot, decision, succession):
                    where = (self._instance, self.view.number, ballot)
                    group, process = (self._group, self.process) if succession else ("", "")
                    ask = WitnessAccept(*where, decision, group) if decision else WitnessPrepare(*where, group, process)
                    self.effects.append(AskRegistry(ask))
                case StartFlush(decision, holders):
                    self._flush.want(decision, holders, decided=False)
                    self._fetch_cut(now_ms)
                case _:
                    assert_never(out)

    def _fetch_cut(self, now_ms: int) -> None:
        """Ask for what the wanted cut still misses; once it misses nothing, accept or install."""
        wanted = self._flush.wanted
        if wanted is None or self.ended:
            return
        missing = self._streams.missing(wanted.cut, now_ms)
        if missing and self._flush.decided and self.triggers.left_alone:
            self.expel(wanted.cut.get(self.process))
        elif missing:
            for say in self._flush.ask(missing, self.view.number, self.live_others, now_ms):
                self._links.say(say.to, say.item)
        elif not self._streams.can_end(wanted):
            self.end("expelled")  # no honest proposer cuts a run, or runs out of serials
        elif not self._flush.decided:
            self._flush.clear()
            self._carry_out(self.consensus.complete(), now_ms)
        elif self.own_leave.may_go(self.triggers.detector.dead.keys()):
            self._install(wanted, now_ms)
        elif self.own_leave.is_late(now_ms):
            self.end(self.own_leave.wish.reason or "request", self.own_leave.wish.into)

    def _install_everywhere(self, decision: Decision, ballot: Ballot, now_ms: int) -> None:
        """Tell all who take part, and the joiners, a value that was decided."""
        # Not if the registry told it and the cut is not all here: the serial after it is unknown then, and joiners
        # would begin with a wrong one. They are told after the install, since their statuses say that they are behind.
        if not self._streams.missing(decision.cut, now_ms):
            for joiner in decision.joined:  # no member until now, so there is no link to it
                self._links.open(joiner, decision.view.address(joiner), now_ms)
            install = Install(decision, self._streams.serial_after(decision), ballot)
            # Suspects that stay, too: this process may leave, and be the only one that knows the decision.
            told = [peer for peer in self.others if peer in self.triggers.live or peer in decision.view.members]
            for peer in [*told, *decision.joined]:
                self._links.say(peer, install)
        self.on_install(decision, ballot, now_ms)

    def _install(self, decision: Decision, now_ms: int) -> None:
        serial = self._streams.serial_after(decision)
        unconfirmed = self._streams.unconfirmed
        self.effects += (closed := self._streams.close(decision))
        if decision.succession:
            self.effects += self.doubt.succeed(self.process, unconfirmed, closed)
        if self.process not in decision.view.members:
            # None: the views of a successor have numbers of their own.
            settled = None if decision.succession else decision.view.number
            why, into = self.own_leave.wish.reason or "request", self.own_leave.wish.into
            self.finish(Ended(self.view.number, why, settled, into=into))
            return
        install = Install(decision, serial, self._decided_by)
        if decision.succession:
            self.succeeded = install
            # Members of the successor must hear of it from a survivor: the registry is asked by newcomers only.
            self._links.rewire({peer: self.view.address(peer) for peer in self.live_others}, (), now_ms)
            for peer in self.live_others:
                self._links.say(peer, install)
            self.effects += self._transfer.succeed(decision)
            self.finish(Ended(self.view.number, "succession", into=decision.succession.instance))
            return
        number = decision.view.number
        self.passed.append((self.view, decision))
        # Before the barrier's TakeState, which `transfer.install` gives: who enters with this view is then given a
        # state that has the merge in it, and merges nothing (netsplit.md, "Why it is the same everywhere", 4).
        self.effects += [MergeState(number, sender, state) for sender, state in self._streams.take_states_to_merge()]
        # One that is told late who has arrived takes all that go for such that were in: they enter as other processes.
        self.tombstones.left_view(decision, set() if self.arrivals.is_told else self.behind)
        never_in = self.arrivals.stuck.intersection(self._entry.decision.joined, decision.left)
        self.triggers.admission.on_never_in(sorted(never_in))
        self._streams.install(decision, serial)
        self.effects += self._transfer.install(decision, now_ms)
        self._begin_view(install, now_ms)
        # Last of all: what the application reads before this event is of the old view.
        self.effects.append(Installed(decision.view, decision.joined, decision.left))

    def _begin_view(self, entry: Install, now_ms: int) -> None:
        decision, self._entry = entry.decision, entry
        view = self.view = decision.view
        self._flush.clear()
        self.consensus.install(view)
        self.triggers.install(decision, now_ms)
        self._rank, self._retry_ms = view.rank(self.process), now_ms
        self.others = tuple(member for member in view.members if member != self.process)
        self.probes = IndirectProbes(self.triggers.detector, self._links, view.number)
        self.arrivals = Arrivals(self.process, view, self.triggers.detector.far)
        self.own_leave.clear()
        self._installed_ms = now_ms  # who is behind for too long since is `stuck`
        self.tombstones.install(decision, now_ms)
        members = {peer: view.address(peer) for peer in self.others}
        self._links.rewire(members, self.tombstones.leavers, now_ms)
        # Each member must hear which others have installed the view: until all have, it keeps the last view's payloads.
        self._links.owe_status(self.arrivals.first_told(self.others))
        self.installed_by(self.process)

    # the end, and time

    def end(self, reason: str, into: str = "") -> None:
        """End the session without a cut; say which of this process's messages may not have arrived."""
        self.finish(Ended(self.view.number, reason, None, self._streams.unconfirmed, into))

    def expel(self, arrived: int | None, into: str = "") -> None:
        """End: the group goes on without this process, with its messages up to `arrived`; None: that is not known."""
        ended = Ended(self.view.number, "expelled", None, self._streams.unconfirmed, into, arrived)
        if arrived is not None:
            self.effects += self.doubt.settle_by_cut(self.process, ended.unconfirmed, arrived, ended.view)
        self.finish(ended if arrived is None else replace(ended, unconfirmed=None))

    def settle_doubt(self) -> None:
        """Settle what was in doubt while this process was detached, once every member of the view holds it."""
        if not self.detached:
            self.effects += self.doubt.confirm(self._streams.unconfirmed)

    def _look_for_quorum(self, now_ms: int) -> None:
        """Become detached, or attached again."""
        if stranded := not self.triggers.partitionable and self._transfer.is_stranded(now_ms, self._detach_ms):
            # If `a`, which alone has the state, is heard again, those who promised must not suspect it for that.
            self.triggers.detector.sticky = False
        detached = stranded or self.triggers.is_detached(now_ms)
        if detached or self.detached:
            self.doubt.add(unconfirmed := self._streams.unconfirmed)
        if detached != self.detached:
            self.detached = detached
            self.effects.append(Quorum(self.view.number, not detached, unconfirmed))

    def finish(self, ended: Ended) -> None:
        """End the session; a process that had asked to leave has left, also where the others expelled it."""
        left = ended.reason == "expelled" and self.own_leave.wish.reason == "request"
        self.ended = replace(ended, reason="request") if left else ended
        self.effects += [*self.doubt.end(ended.unconfirmed), self.ended]

    def tick(self, now_ms: int) -> None:
        """Suspect silent members, see whether a quorum is heard, ask again what was not answered."""
        suspected, asked = self.triggers.detector.tick(now_ms)
        if suspected:
            self._say_suspected(suspected)
        self.probes.ask(asked)
        self.triggers.judge_links(now_ms)
        self.triggers.admission.tick(now_ms)
        self._transfer.tick(now_ms, self.triggers.detector.suspects)
        if self._transfer.needs_donor:
            self.seek(self.process)
        if self.triggers.partitionable and (self.triggers.is_detached(now_ms) or self.triggers.detector.alone):
            self.end("fork")  # this side begins anew (docs/protocols/netsplit.md)
            return
        self._look_for_quorum(now_ms)
        # A member that is heard, and yet does not get this view's decision, would hold up every later change.
        if self.behind and now_ms - self._installed_ms >= self._silence_max_ms:
            for peer in sorted(self.arrivals.stuck):
                self.suspect(peer, "stuck")
        for leaver in self.tombstones.forget(now_ms):
            self._links.close(leaver)
        if self.consensus.proposing:
            self._carry_out(self.consensus.ask_again(self._links.served(self.live_others), now_ms), now_ms)
        if self.own_leave.awaited:
            self._links.owe_status(sorted(self.own_leave.awaited))  # their replies tell
        self._fetch_cut(now_ms)
