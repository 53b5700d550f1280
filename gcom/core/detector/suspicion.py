"""Suspicion: which members this process suspects, and why (Chandra and Toueg 1996; memberlist's Lifeguard).

Evidence is a refused connection after one redial, a node that says it does not know the process, or silence. None of
these is *proof*, which only a member's own kernel or node gives (docs/protocols/continuity.md). A suspicion is never an
expulsion by itself: it makes the oldest member that is not suspected propose a view change, which needs a quorum. A
suspicion is taken back when the process is heard again; once this process has promised to a change, only if too few for
a quorum are left unsuspected.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from operator import attrgetter

from gcom.core.detector.adaptive_timeout import AdaptiveTimeout, Meaning
from gcom.core.detector.connectivity import as_bits
from gcom.core.detector.neighbours import neighbours
from gcom.core.detector.watch import LONG_AGO_MS, PeerWatch, Trust
from gcom.core.messages.frames import Misses
from gcom.core.quorum import is_quorum
from gcom.values import limits
from gcom.values.definition import TieBreaker
from gcom.values.detection import LAN, Detection
from gcom.values.names import Process
from gcom.values.view import View

CUT_OFF = "cut off"  # the reason of a suspicion that others contradict
_UNHEARD = attrgetter("unheard")


class Detector:
    """The watch over the other members of the view."""

    def __init__(
        self,
        process: Process,
        tie_breaker: TieBreaker = TieBreaker.LEADER,
        detection: Detection = LAN,
    ) -> None:
        self._process = process
        self._tie_breaker = tie_breaker
        self._detection = detection
        # Peers heard within this time are acknowledged indirectly. Not below three heartbeats, or few would be.
        self._ack_within_ms = detection.extended_ms(3 * limits.HEARTBEAT_MS)
        # Where more silence than 3 s is usual, a peer is not given up for it before it is suspected.
        self._detach_ms, self._tie_ms, self._grace_ms = map(
            detection.scaled_ms, (limits.DETACH_MS, limits.TIE_MS, limits.DETACH_MS - limits.SILENCE_MS)
        )
        self._lag_max_ms = detection.scaled_ms(limits.SILENCE_MS)
        self._wake_ms = detection.extended_ms(limits.WAKE_MS)
        self._view: View | None = None
        self._watched: dict[Process, PeerWatch] = {}
        self._awake: dict[Process, PeerWatch] = {}  # those of which something is expected
        self.far: dict[Process, None] = {}  # peers that others watch, by rank: their links may rest
        self.suspects: dict[Process, str] = {}  # by this process, and why
        self.dead: dict[Process, str] = {}  # will never vote again, with the proof; silence is none
        self.named: frozenset[Process] = frozenset()  # suspected by somebody, this process or another
        self._ticked_ms: int | None = None
        self.tick_ms = limits.HEARTBEAT_MS // 2  # until the next tick
        self._lag_ms = 0  # how late this process ran lately
        self.sticky = False  # promised to a change: a suspicion stays until the next view

    def install(self, view: View, now_ms: int) -> None:
        """Watch the members of `view`; what was known of those who stay is kept, suspicions too."""
        others = [member for member in view.members if member != self._process]
        self._watched = {
            peer: self._watched.get(peer) or PeerWatch(AdaptiveTimeout(now_ms, self._detection), spoke_here_ms=now_ms)
            for peer in others
        }
        for peer, watch in self._watched.items():
            watch.unheard = {}  # by ranks, which are of the view that is left
            self.wake(peer, now_ms)
        self._view, self._awake = view, dict(self._watched)
        near = neighbours(view, self._process)
        self.far = dict.fromkeys(peer for peer in others if peer not in near)
        self.sticky = False
        self._review()
        if self._ticked_ms is None:
            self._ticked_ms = now_ms

    def heard(self, peer: Process, now_ms: int, suspects: Iterable[Process], unheard: Misses | None = None) -> None:
        """Record that something came from a peer, whose status has these suspects and misses."""
        watch = self._watched.get(peer)
        if watch:
            if watch.rests or watch.doubted:
                watch.timeout.begin_anew(now_ms)
                watch.doubted = False
            watch.timeout.heard(now_ms)
            watch.spoke_ms, watch.spoke_here_ms, watch.unheard = now_ms, now_ms, unheard or {}
            watch.failures, watch.absent = 0, False
            if watch.suspects != (named := frozenset(suspects)):
                watch.suspects = named
                self._review()
            # It is dead all the same: the call was made before, and came late.
            if watch.proof:
                return
            # Being heard mends neither: a stuck peer must install, and a deaf one must answer a call.
            if watch.trust is not Trust.HEARD and watch.reason != "stuck" and not watch.deaf:
                self._forgive(watch)

    def heard_in_another_group(self, peer: Process, now_ms: int) -> bool:
        """Record that a peer's process spoke in another group; return whether it need say nothing in this one."""
        watch = self._watched.get(peer)
        # It forgives no suspicion. And it counts only while the peer speaks in this group, too: 1. A rule keeps B out
        # of one group. 2. All refuse its calls there, and it lives in the others. 3. It must be put out of the one.
        own_max_ms = limits.OWN_EXCHANGE_MS + 2 * limits.HEARTBEAT_MS
        if watch is None or watch.trust is not Trust.HEARD or now_ms - watch.spoke_here_ms > own_max_ms:
            return False
        if not watch.rests:
            watch.timeout.heard(now_ms)
        watch.spoke_ms = now_ms
        return watch.unanswered_ms is None and not watch.failures

    def caught_up(self, peer: Process) -> None:
        """Record that a peer has installed the view: hearing it alone would not end that suspicion."""
        watch = self._watched.get(peer)
        if watch and watch.reason == "stuck":
            self._forgive(watch)

    def _forgive(self, watch: PeerWatch) -> None:
        """Take a suspicion back, where that is possible; its cause is over either way."""
        if watch.trust is Trust.HEARD or watch.proof:
            return
        if self._may_forgive:
            watch.become(Trust.HEARD)
            self._review()
        watch.mended = watch.trust is Trust.SUSPECTED

    @property
    def _may_forgive(self) -> bool:
        """Return whether a suspicion may be taken back."""
        # After a promise only where too few for a quorum are left, so that a peer which flaps does not start the change
        # over. 1. Of A, B and C, C dies and B is paused; A has promised and suspects both. 2. B runs again and answers.
        # 3. If A's suspicion stayed, A would wait for a quorum that it does not count, and B for A's change: for ever.
        return not self.sticky or not self._leaves_quorum

    @property
    def _leaves_quorum(self) -> bool:
        """Return whether the members that this process does not suspect are a quorum."""
        assert self._view is not None, "only a member watches"
        return self._is_quorum(set(self._view.members) - set(self.suspects))

    def answered(self, peer: Process) -> None:
        """Record that a call to a peer was answered."""
        watch = self._watched.get(peer)
        if watch:
            watch.unanswered_ms = None
            if watch.deaf:
                watch.deaf = False
                self._forgive(watch)

    def failed(self, peer: Process, refused: bool, now_ms: int) -> bool:
        """Record that a call failed; return whether the peer became suspected."""
        watch = self._watched.get(peer)
        if watch is None:
            return False
        # Not heard either: silence decides, and the time in which only calls fail begins anew.
        if not self._hears(peer, now_ms, self._ack_within_ms):
            watch.unanswered_ms = None
        elif watch.unanswered_ms is None:
            watch.unanswered_ms = now_ms
        # A call that was lost or not answered says nothing of the process: silence has its own limit.
        if not refused:
            return False
        watch.failures += 1
        # One refusal is redialled at once, since it may be a restart.
        return watch.failures > 1 and self.gone(peer, "refused")

    def gone(self, peer: Process, reason: str) -> bool:
        """Record that a peer is not at its address, which is no proof of death; return whether it became suspected."""
        watch = self._watched.get(peer)
        if watch:
            watch.absent, watch.mended = True, False
        return self.suspect(peer, reason)

    def proven(self, peer: Process, proof: str) -> bool:
        """Record proof that a peer will never vote again; return whether it became suspected."""
        watch = self._watched.get(peer)
        if watch:
            watch.proof = watch.proof or proof
            self._review()
        return self.gone(peer, proof)

    def suspect(self, peer: Process, reason: str) -> bool:
        """Suspect a peer; return whether that is new."""
        watch = self._watched.get(peer)
        if watch is None or watch.trust is Trust.SUSPECTED:
            return False
        watch.rests, self._awake[peer] = False, watch
        watch.become(Trust.SUSPECTED, reason)
        self._review()
        return True

    def _review(self) -> None:
        """Compute `suspects`, `dead` and `named` anew: kept, since every step reads them and few things change them."""
        watched = self._watched.items()
        self.suspects = {peer: watch.reason for peer, watch in watched if watch.trust is Trust.SUSPECTED}
        self.dead = {peer: watch.proof for peer, watch in watched if watch.proof}
        self.named = frozenset(self.suspects).union(*(watch.suspects for _, watch in watched))

    def tick(self, now_ms: int) -> tuple[list[Process], dict[Process, tuple[Process, ...]]]:
        """Return the peers that became suspected, silent or deaf; and by helper, the peers to ask it about."""
        self._forgive_own_lag(now_ms)
        suspected: list[Process] = []
        quiet: dict[Process, bool] = {}  # whether all are to be asked
        for peer, watch in self._awake.items():
            if watch.unanswered_ms is not None and self._is_deaf(watch, now_ms) and self.suspect(peer, CUT_OFF):
                watch.deaf = True
                suspected.append(peer)
            # Nearly all were heard lately: asked here, they cost no call.
            heard_ms, min_ms = watch.timeout.heard_ms, watch.timeout.min_ms
            if now_ms < max(heard_ms + min_ms, watch.spared_until_ms):
                continue
            if not watch.timeout.is_long(now_ms, self._lag_ms):
                continue
            if watch.trust is Trust.SUSPECTED:
                watch.mended = watch.mended and watch.reason == "stuck"  # its link fails again
                continue
            meaning = watch.timeout.meaning(now_ms, can_ask=bool(self._helpers(peer, now_ms)))
            # Somebody hears it: the link is bad, not the peer. Alone, such a suspicion changes no view (`contested`).
            reason = CUT_OFF if watch.timeout.has_indirect_ack(now_ms) else "silence"
            if meaning is Meaning.SILENT and self.suspect(peer, reason):
                suspected.append(peer)
            elif meaning is Meaning.ASK:
                # Asked below in one frame per helper: 1. A switch fails, and 30 members are silent. 2. Each
                # would be asked about by a call of its own.
                quiet[peer] = watch.trust is Trust.HEARD and bool(self.far) and peer not in self.far
                watch.become(Trust.ASKED)
        asked: dict[Process, tuple[Process, ...]] = {}
        for peer, by_all in quiet.items():
            for helper in self._helpers(peer, now_ms)[: None if by_all else limits.PROBE_HELPERS]:
                asked[helper] = (*asked.get(helper, ()), peer)
        if any(quiet.values()):
            self.doubt(now_ms)
        return suspected, asked

    # links that rest

    def rests(self, peer: Process) -> bool:
        """Return whether a peer is not expected to say anything."""
        watch = self._watched.get(peer)
        return watch is not None and watch.rests

    def rest(self, peer: Process, quiet: bool) -> None:
        """Expect nothing of a peer any more, since others watch it; `quiet`: nobody doubts anybody."""
        watch = self._watched[peer]
        watch.rests, watch.doubted = True, watch.doubted and not quiet
        self._awake.pop(peer, None)

    def wake(self, peer: Process, now_ms: int) -> bool:
        """Expect to hear a peer again, which counts as heard until now; return whether it rested."""
        if not self.rests(peer):
            return False
        watch = self._awake[peer] = self._watched[peer]
        watch.rests = False
        if watch.doubted:
            watch.spared_until_ms = now_ms + self._wake_ms
        else:
            watch.timeout.begin_anew(now_ms)
        return True

    def spare(self, peer: Process, until_ms: int) -> None:
        """Expect to hear a peer after a time, and not before."""
        self._watched[peer].spared_until_ms = until_ms + self._wake_ms

    def doubt(self, now_ms: int) -> None:
        """Count those that rest as heard no longer: a member is silent, and they may be behind the same cut."""
        # As long ago as that one. So where no quorum is left, this process is detached as soon as if it had watched
        # all. But each has time to say something before it is suspected.
        for watch in [self._watched[peer] for peer in self.far if self.wake(peer, now_ms)]:
            watch.doubted, watch.spared_until_ms = True, now_ms + self._wake_ms
            watch.timeout.begin_anew(now_ms - watch.timeout.min_ms)

    def on_asked(self, silent: Collection[Process], now_ms: int) -> list[Process]:
        """Take the word of a member that watches these, and hears nothing; return those that are to be called."""
        if any(map(self.rests, silent)):
            self.doubt(now_ms)
        found = [(peer, self._watched[peer]) for peer in silent if peer in self.far]
        called = [(peer, watch) for peer, watch in found if watch.doubted and now_ms < watch.spared_until_ms]
        # Their neighbours have waited already: what they do not say now they are suspected for.
        for _, watch in called:
            watch.spared_until_ms = LONG_AGO_MS
            watch.timeout.on_asked(now_ms)
        return [peer for peer, _ in called]

    @property
    def is_quiet(self) -> bool:
        """Return whether nobody doubts anybody, as far as is known here."""
        return not self.named and self.is_calm and all(watch.trust is Trust.HEARD for watch in self._awake.values())

    def _is_deaf(self, watch: PeerWatch, now_ms: int) -> bool:
        """Return whether a peer is heard, has long answered no call, and does not suspect this process in turn."""
        # Only its side can open a connection (a firewall, say): it would hear replies for ever, and no call.
        since_ms = watch.unanswered_ms
        late = since_ms is not None and now_ms - since_ms >= self._detection.silence_max_ms
        return late and self._process not in watch.suspects

    def _helpers(self, quiet: Process, now_ms: int) -> list[Process]:
        """Return the helpers to ask about a peer: well heard members, the next in rank after this process first."""
        assert self._view is not None, "only a member watches"
        rank = self._view.rank(self._process)
        # By rank from here, so that not all members ask the oldest ones at once.
        order = (*self._view.members[rank + 1 :], *self._view.members[:rank])
        well_ms = self._detection.extended_ms(2 * limits.HEARTBEAT_MS)
        return [peer for peer in order if peer != quiet and self._hears(peer, now_ms, well_ms)]

    def _hears(self, peer: Process, now_ms: int, within_ms: int) -> bool:
        watch = self._watched.get(peer)
        return watch is not None and watch.trust is not Trust.SUSPECTED and watch.speaks(now_ms, within_ms)

    def indirect_ack(self, peers: tuple[Process, ...], now_ms: int) -> tuple[Process, ...]:
        """Return those of these peers that this process hears."""
        heard = [peer for peer in peers if self._hears(peer, now_ms, self._ack_within_ms)]
        # Of one that others watch its own word counts, and not that nobody doubts it.
        since_ms = now_ms - self._ack_within_ms
        return tuple(peer for peer in heard if peer not in self.far or self._watched[peer].spoke_ms > since_ms)

    def on_indirect_ack(self, peers: tuple[Process, ...], now_ms: int) -> None:
        """Record that a member hears these peers."""
        for peer in peers:
            if peer in self._watched:
                self._watched[peer].timeout.on_indirect_ack(now_ms)

    def _forgive_own_lag(self, now_ms: int) -> None:
        """Count own lag: a late tick says that this process did not run."""
        since_ms = now_ms - self._ticked_ms if self._ticked_ms is not None else 0
        self._ticked_ms = now_ms
        late_ms = min(since_ms - self.tick_ms, self._lag_max_ms)
        # Fades by an eighth per tick: one late tick is forgotten after some two seconds.
        self._lag_ms = max(late_ms, self._lag_ms * 7 // 8)
        # Without this a process that wakes from a pause of 5 s would suspect everybody at once.
        usual_ms = self.tick_ms + limits.HEARTBEAT_MS // 2
        if since_ms > usual_ms + limits.LAG_MS:
            for watch in self._watched.values():
                watch.timeout.forgive(since_ms - usual_ms, now_ms)
                watch.unanswered_ms = None
        # While most rest there is less to look at: it is done with the heartbeats, and costs no wake of its own.
        rests = len(self._awake) < len(self._watched)
        self.tick_ms = limits.HEARTBEAT_MS if rests else limits.HEARTBEAT_MS // 2

    def contested(self, peer: Process) -> bool:
        """Return whether this process suspects a peer that others heard and that some member does not suspect."""
        # 1. A, B and C suspect D, each while another hears it. 2. D dies. 3. If each went on to believe that
        # others hear D, each would think that its own link is bad, and nobody would propose a view without D.
        if self._watched[peer].reason != CUT_OFF or self.by_quorum(peer):
            return False
        return any(not watch.reason and peer not in watch.suspects for watch in self._watched.values())

    @property
    def is_calm(self) -> bool:
        """Return whether nobody is suspected here, and nobody says that one does not hear another."""
        return not self.suspects and not any(map(_UNHEARD, self._watched.values()))

    def unheard(self, now_ms: int) -> dict[int, int]:
        """Return which member misses which now, by rank, as a status tells it.

        These are the peers that this process misses, and of each peer that it hears, the misses that the peer knows at
        first hand: of members that this process hears as well, and of this process.
        """
        # Not the suspicions: a process that has promised keeps its own. Two sides that met in the middle of a change
        # took each other for badly linked, and waited for ever (simulation).
        present = self._present(now_ms)
        near = self._as_bits([self._process, *present])
        found = {self._rank(peer): self._watched[peer].unheard.get(self._rank(peer), 0) & near for peer in present}
        found[self._rank(self._process)] = self._as_bits(peer for peer, watch in self._watched.items() if watch.missed)
        return {one: others for one, others in found.items() if others}

    def contradicted(self, now_ms: int) -> dict[int, int]:
        """Return which member misses which now, by rank, although others reach both.

        That is: this process hears both, or a peer that it hears says that it does, or this process is one of the two
        and some member does not suspect the other (docs/protocols/connectivity.md).
        """
        # What others know at first hand counts, since this process may not hear the one that misses somebody. What they
        # know from others does not, or it would go round for ever.
        missed = self._as_bits(peer for peer, watch in self._watched.items() if watch.missed and self.contested(peer))
        found = self.unheard(now_ms) | {self._rank(self._process): missed}
        for peer in self._present(now_ms):
            for one, others in self._watched[peer].unheard.items():
                if one == self._rank(peer):
                    # Of the source's own word only peers that this process misses as well: others hear them, and
                    # neither of the two.
                    others &= missed
                found[one] = found.get(one, 0) | others
        # A member that a quorum suspects is in no conflict: it goes anyway.
        out = self._as_bits(self.accused)
        return {one: others & ~out for one, others in found.items() if others & ~out and not out >> one & 1}

    def _rank(self, who: Process) -> int:
        assert self._view is not None, "only a member watches"
        return self._view.rank(who)

    def _as_bits(self, members: Iterable[Process]) -> int:
        return as_bits(map(self._rank, members))

    def _present(self, now_ms: int) -> list[Process]:
        """Return the peers that this process hears now, also those whose suspicion only a promise keeps."""
        return [
            peer
            for peer, watch in self._watched.items()
            if not watch.missed and watch.speaks(now_ms, self._ack_within_ms)
        ]

    @property
    def alone(self) -> bool:
        """Return whether too few for a quorum are left, and nobody listens where the others were."""
        assert self._view is not None, "only a member asks"
        absent = {peer for peer, watch in self._watched.items() if watch.absent}
        present = set(self._view.members) - absent
        return not self._is_quorum(present, witness=True) and absent.issuperset(self.suspects)

    @property
    def accused(self) -> list[Process]:
        """The members that a quorum suspects, though this process may not; by rank."""
        assert self._view is not None, "only a member asks"
        return [member for member in self._view.members if member in self.named and self.by_quorum(member)]

    def by_quorum(self, who: Process, witness: bool = False) -> bool:
        """Return whether a quorum of the view suspects `who`; with the `witness`, if that may vote with them."""
        accusers = {peer for peer, watch in self._watched.items() if who in watch.suspects}
        if self.suspected(who):
            accusers.add(self._process)
        return bool(accusers) and self._is_quorum(accusers, witness)

    def _is_quorum(self, present: set[Process], witness: bool = False) -> bool:
        assert self._view is not None, "only a member asks"
        return is_quorum(self._view, present, self._tie_breaker, witness)

    def suspected(self, who: Process) -> bool:
        watch = self._watched.get(who)
        return watch is not None and watch.trust is Trust.SUSPECTED

    def spoke_ms(self, peer: Process) -> int:
        """Return the time when the peer was last heard, in ms; where it rests, when one that watches others was."""
        spoke = [self._watched[peer].spoke_ms]
        return max(spoke + [watch.spoke_ms for watch in self._awake.values()] if self.rests(peer) else spoke)

    def spoke_here_ms(self, peer: Process) -> int:
        """Return when a peer was last heard in this group."""
        return self._watched[peer].spoke_here_ms

    def hears_quorum(self, now_ms: int) -> bool:
        """Return whether a quorum of the view, this process included, was heard just now."""
        heard = {peer for peer in self._watched if self._hears(peer, now_ms, self._ack_within_ms)}
        return self._is_quorum(heard | {self._process})

    def heard_quorum(self, now_ms: int, patient: bool = False) -> bool:
        """Return whether a quorum of the view, this process included, was heard within DETACH_MS."""
        # Half of the view is a quorum if the registry votes with it. A `patient` process has until TIE_MS to find out
        # which members it goes on without, and to ask.
        near = self._heard_within(self._detach_ms, now_ms)
        # Nearly always it is all of them.
        if len(near) > len(self._watched) or self._is_quorum(near):
            return True
        return (
            patient
            and self._is_quorum(near, witness=True)
            and self._is_quorum(self._heard_within(self._tie_ms, now_ms))
        )

    def _heard_within(self, within_ms: int, now_ms: int) -> set[Process]:
        found = {self._process, *(self._watched.keys() - self._awake.keys())}
        for peer, watch in self._awake.items():
            limit_ms = max(within_ms, watch.timeout.limit_ms(self._lag_ms) + self._grace_ms)
            if not watch.proof and watch.speaks(now_ms, limit_ms):
                found.add(peer)
        return found
