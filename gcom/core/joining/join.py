"""Routes of a process that gets in: between the join attempt, the links, and the session (docs/protocols/group.md)."""

from __future__ import annotations

from typing import assert_never

from gcom.core.joining.attempt import JoinAttempt
from gcom.core.joining.steps import Approach, Ask, Failed, First, PreviousSession, ProbePeers, Vow
from gcom.core.joining.steps import Out as EntryOut
from gcom.core.links import Links
from gcom.core.membership.triggers import is_started
from gcom.core.messages import events, frames
from gcom.core.messages.effects import AskRegistry, Effect, EntryFailed, Succeeds
from gcom.core.messages.frames import Control, Decision, Frame, Refused, Reply, Status
from gcom.core.messages.registry import GroupInfo
from gcom.core.state_transfer.transfer import Transfer
from gcom.values import limits
from gcom.values.definition import Definition, Netsplit
from gcom.values.lineage import NO_EXTENT
from gcom.values.names import Address, Process
from gcom.values.view import View


class Joining:
    """A process on its way in. `entered` is the INSTALL by which it is in, once it is; `failed`: it gives up."""

    def __init__(
        self,
        group: str,
        process: Process,
        address: Address,
        create: Definition | None,
        former: PreviousSession | None,
        transfer: Transfer,
        links: Links,
        signs: bool,
    ) -> None:
        self.instance = former.entry.instance if former else ""
        self._has = former.has if former else NO_EXTENT
        self.entered: frames.Install | None = None
        self.failed = False
        self.effects: list[Effect] = []
        self._process = process
        self._address = address
        self._found: GroupInfo | None = None
        self._entering = JoinAttempt(group, process, address, create, former, signs=signs)
        self._reached: dict[Process, int] = {}  # when each member that it was asked to reach answered last
        self._asked: dict[Process, Address] = {}
        self._reach_told: set[Process] = set()  # the reached members that its last Join to all of them named
        self._transfer = transfer
        self._links = links
        self._outside: set[tuple[str, int]] = set()  # the views, by instance, of which it gave its word to be no member
        self._withdrawn_ms = 0  # the time at which it asks no more, as it is to leave; 0: it wants to be in
        self.succeeds: Succeeds | None = None  # what the instance that is entered follows

    @property
    def waits_for(self) -> str:
        return self._entering.waits_for

    @property
    def found(self) -> GroupInfo:
        """The entry of the group to enter: its members were asked last, or this process is its first."""
        assert self._found is not None, "a process enters a group that it found"
        return self._found

    @property
    def discover_request(self) -> frames.DiscoverRequest | None:
        """The message to others that look for an instance; None: this process does not look."""
        return self._entering.discover_request

    def handle(self, event: events.Event, now_ms: int) -> None:
        """Take an event that a process on its way in may meet."""
        match event:
            case events.Start():
                self._follow(self._entering.start(now_ms), now_ms)
            case events.RegistryAnswered(request, answer):
                self._follow(self._entering.on_answer(request, answer, now_ms), now_ms)
            case events.Replied(peer, reply, calls):
                self._links.replied(peer, now_ms, calls)
                self._on_reply(peer, reply, now_ms)
            case events.CallFailed(peer, _, dead):
                self._links.failed(peer, now_ms)
                # Twice: one refused call may be a restart of the node, whose port is back a moment later.
                if peer in self._links and (dead or self._links[peer].failures > 1):
                    self._follow(self._entering.on_unreached(peer, dead, now_ms), now_ms)
            case events.Leave():
                # 1. A member lets this process in. 2. Its application breaks the join off. 3. Gone at once, it would
                # be taken for dead. So it waits for that view, and leaves it.
                self._withdrawn_ms = now_ms + limits.WITHDRAW_MS
                self.failed = not (self._asked or self._entering.called)
            case events.Tick() if 0 < self._withdrawn_ms <= now_ms:
                self.failed = True
            case events.Tick():
                self._follow(self._entering.tick(now_ms), now_ms)
            case events.SequencerAnswered():
                pass
            case _:
                raise AssertionError(f"a driver tells {type(event).__name__} only to a member")

    def receive(self, frame: Frame) -> Reply | None:
        """Take a frame to a process on its way in; return the answer, None if that is the plain one, by the status."""
        # Before the instances are compared: a noted process is asked by survivors of an instance that it never was in.
        prepare = next((item for item in frame.control if isinstance(item, frames.Prepare)), None)
        if prepare:
            answer = self.on_prepare(frame.instance, prepare)
            return Frame(frame.group, frame.instance, self._process, frame.source, Status(0), (answer,))
        joins = any(isinstance(item, frames.Join) for item in frame.control)
        # Not `elsewhere`, which a member says: this process may yet enter the asker's instance.
        if joins or frame.instance != self.instance:
            # To one that enters, too, with what it has: of two that nobody lets in, the one with less is to wait.
            text = f"{self._process} is not in group {frame.group!r} yet"
            return Refused("entering", text, reach=self._transfer.reached(self._has))
        for item in frame.control:
            if not isinstance(item, frames.Install) or self._process not in item.decision.view.members:
                continue
            # It promised survivors not to enter this view. `ended`, so that its members count it as dead there.
            if not self.on_install(item):
                return Refused("ended", f"{self._process} gave its word not to enter view {item.decision.view.number}")
            break
        return None

    def on_install(self, install: frames.Install) -> bool:
        """Take a member's word that this process is in; return False if it is bound not to be."""
        # 1. C, left of view 5, asks this noted process whether it is in view 6. 2. It promises: not yet, nor by any
        # word under way. 3. A late INSTALL of view 6 arrives. C may have begun a successor meanwhile, so this process
        # takes no part in view 6, and the member that sent the INSTALL is to know that. The ballots say nothing: C may
        # have slept through all attempts but the last of those who decided view 6.
        if (self.instance, install.decision.view.number) in self._outside:
            return False
        # A process that has asked nobody to admit it, and only looks for an instance, takes no INSTALL of anybody.
        if self._found is not None:
            self.entered = install
        return True

    def on_prepare(self, instance: str, prepare: frames.Prepare) -> frames.Promise:
        """Promise that this process is neither in that view nor in the next, and will enter neither by an INSTALL.

        Survivors of the view ask, and newcomers, to which the answer is a vow (docs/protocols/continuity.md).
        """
        # Every ballot is answered alike: this process accepts no value, and between two
        # proposers the survivors and the registry decide.
        self._outside |= {(instance, prepare.view), (instance, prepare.view + 1)}
        return frames.Promise(prepare.view, prepare.ballot, {})

    def inherit(self, entry: GroupInfo, install: frames.Install, succeeds: Succeeds) -> None:
        """Enter the instance that succeeds this process's own: it is in already."""
        self._found, self.instance, self.succeeds = entry, entry.instance, succeeds
        self.entered = install

    def on_discovery(
        self, source: Process, instance: str, item: frames.DiscoverRequest | frames.DiscoverReply, now_ms: int
    ) -> None:
        """Take a call of a process that looks for an instance too, or leads one."""
        self._follow(self._entering.on_found(source, instance, item, now_ms), now_ms)

    def _join(self, now_ms: int) -> frames.Join:
        """Return the question, with the members that this process reaches, if it was asked to reach any."""
        # An answer of long ago proves nothing of a link that comes and goes.
        fresh = [peer for peer, at_ms in self._reached.items() if now_ms - at_ms < limits.SILENCE_MS]
        reached = tuple(peer for peer in fresh if peer in self._asked)
        return frames.Join(self._address, self._transfer.takes, reached, self._transfer.own_in(self.instance))

    def _on_reach(self, source: Process, reach: frames.Reach, now_ms: int) -> None:
        """Call all members: this process is admitted when it has reached them."""
        # A late word of a member that it asked before, and does not ask any more.
        if source not in self._entering.targets:
            return
        self._entering.on_put_off(source)
        mine = {peer: at for peer, at in zip(reach.members, reach.addresses, strict=True) if peer != self._process}
        anew = mine.keys() != self._asked.keys()
        self._asked = mine
        # Members that it reached lately still count when another leader asks: the links are the same.
        self._reached = {peer: at_ms for peer, at_ms in self._reached.items() if peer in mine} | {source: now_ms}
        self._prove_links(now_ms, anew)

    def _prove_links(self, now_ms: int, anew: bool = False) -> None:
        """Tell all members which of them this process reaches, where that is news."""
        join = self._join(now_ms)
        reached = set(join.reached)
        # Once per set: a process that is put off for long repeats itself with every heartbeat anyway.
        if anew or (reached == self._asked.keys() and reached != self._reach_told):
            self._reach_told = reached
            for peer, address in self._asked.items():
                self._call(peer, address, join, now_ms)

    def _follow(self, outs: list[EntryOut], now_ms: int) -> None:
        # First close what is not asked any more: an open link calls its peer with every heartbeat.
        for peer in self._links.peers:
            if peer not in self._entering.called and peer not in self._asked:
                self._links.close(peer)
        for out in outs:
            match out:
                case Ask(request):
                    self.effects.append(AskRegistry(request))
                case Approach(process, address):
                    assert self._entering.entry is not None, "only a group that was found has members to ask"
                    self._found = self._entering.entry  # a later look-up says nothing of the members that admit it now
                    self.instance = self._found.instance
                    # The member asked before wanted these reached; the one that is asked now will say so itself.
                    self._asked = {}
                    self._call(process, address, self._join(now_ms), now_ms)
                case Vow(process, address, instance, view):
                    prepare = frames.Prepare(view, frames.NO_BALLOT)  # it proposes nothing
                    self.on_prepare(instance, prepare)  # it vows, too
                    self.instance = instance
                    self._call(process, address, prepare, now_ms)
                case ProbePeers(process, address, request):
                    self._call(process, address, request, now_ms)
                # It vowed before it read the answer to its claim: it claims what comes after, once that lease is over.
                case First(entry) if (entry.instance, entry.view) in self._outside:
                    self._follow(self._entering.on_outside(now_ms), now_ms)
                case First():
                    self._begin(out)
                case Failed(error, final):
                    self.effects.append(EntryFailed(error, final))
                    self.failed = True
                case _:
                    assert_never(out)

    def _call(self, process: Process, address: Address, item: Control, now_ms: int) -> None:
        self._links.open(process, address, now_ms)
        self._links.say(process, item)

    def _begin(self, begun: First) -> None:
        """Be the first member of an instance."""
        self._found = entry = begun.entry
        # The name follows an instance whose processes have all gone: left, dead, or
        # given up. So nobody can say where its streams ended: no cut, no serial.
        if entry.after[0]:
            self.succeeds = Succeeds(*entry.after, {}, 0, "ended", {}, begun.gives_up)
        members = (self._process,)
        # In a total order one of two has a prefix of what the other has.
        beside = self._entering.beside and not entry.definition.total
        merging = entry.definition.netsplit is Netsplit.PARTITIONABLE
        self.effects += self._transfer.found(entry.instance, beside, merging)
        started = is_started(entry.definition, members, before=begun.started)
        first = Decision(View(1, members, (self._address,), started), members, {}, {})
        self.entered = frames.Install(first)

    def _on_reply(self, peer: Process, reply: Reply, now_ms: int) -> None:
        if isinstance(reply, Refused):
            self._follow(self._on_refused(peer, reply, now_ms), now_ms)
            if (discovery := self._entering.discover_request_for(peer)) and peer in self._links:
                self._links.say_later(peer, discovery)
            return
        self._entering.on_heard(peer, now_ms)
        if peer in self._asked:
            self._reached[peer] = now_ms
            self._prove_links(now_ms)
        for item in reply.control:
            # One reply may have several items: what decides ends the walk, as the rest is of a process that was on
            # its way in.
            if self.failed or self.entered:
                return
            if isinstance(item, frames.Redirect | frames.JoinRefused):
                self._follow(self._entering.on_reply(peer, item, now_ms), now_ms)
            elif isinstance(item, frames.Promise):
                self._entering.on_vowed(peer)
            elif isinstance(item, frames.Reach):
                self._on_reach(peer, item, now_ms)
            elif isinstance(item, frames.DiscoverRequest | frames.DiscoverReply):
                self.on_discovery(reply.source, reply.instance, item, now_ms)
        if peer in self._links:  # the leader may die with the Join: every heartbeat repeats it
            self._links.say_later(peer, self._entering.discover_request_for(peer) or self._join(now_ms))

    def _on_refused(self, peer: Process, reply: Refused, now_ms: int) -> list[EntryOut]:
        match reply.code:
            case "version":
                return self._entering.on_version(reply.text, now_ms)
            case "expelled":
                return self._entering.on_gone(peer, reply.text)
            case "ended":
                return self._entering.on_unreached(peer, True, now_ms)
            case "returning":
                return self._entering.on_returning(peer, reply.reach, now_ms)
            case "entering":
                return self._entering.on_entering(peer, reply.reach, now_ms)
            case "elsewhere":  # it lives, and the registry will hear of its instance
                return self._entering.on_unreached(peer, False, now_ms)
            case _:
                # Another life at its address proves that this process is dead: no two have one address at a time.
                other_life = self._links.is_other_life(peer, reply.life)
                return self._entering.on_unreached(peer, other_life, now_ms, absent=True)
