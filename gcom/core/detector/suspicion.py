"""Suspicion: which members this process suspects, and why (Chandra and Toueg 1996; memberlist's Lifeguard).

Evidence is a refused connection after one redial, a node that says it does not know the process, or silence. None of
these is *proof*, which only a member's own kernel or node gives (docs/protocols/continuity.md). A suspicion is never an
expulsion by itself: it makes the oldest member that is not suspected propose a view change, which needs a quorum. A
suspicion is taken back when the process is heard again; once this process has promised to a change, only if too few for
a quorum are left unsuspected.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from operator import attrgetter

from gcom.core.detector.adaptive_timeout import AdaptiveTimeout, Meaning
from gcom.core.detector.connectivity import as_bits
from gcom.core.messages.frames import Misses
from gcom.core.quorum import is_quorum
from gcom.values import limits
from gcom.values.definition import TieBreaker
from gcom.values.detection import LAN, Detection
from gcom.values.names import Process
from gcom.values.view import View

CUT_OFF = "cut off"  # the reason of a suspicion that others contradict
_UNHEARD = attrgetter("unheard")


class Trust(Enum):
    """The state of this process's trust in a peer."""

    HEARD = "heard"  # it says something often enough
    ASKED = "asked"  # silent for longer than it may: others were asked whether they hear it
    SUSPECTED = "suspected"  # until its reason is over; after a promise kept while the unsuspected are a quorum


# Every state and what may follow it.
TRUSTS: dict[Trust, tuple[Trust, ...]] = {
    Trust.HEARD: (Trust.HEARD, Trust.ASKED, Trust.SUSPECTED),
    Trust.ASKED: (Trust.HEARD, Trust.ASKED, Trust.SUSPECTED),
    Trust.SUSPECTED: (Trust.HEARD,),
}


@dataclass(slots=True)
class _Watch:
    timeout: AdaptiveTimeout
    trust: Trust = Trust.HEARD
    spoke_ms: int = -1  # when it was last heard; no pause of this process moves it, as it does the timeout's
    spoke_here_ms: int = -1  # when it was last heard in this group
    failures: int = 0  # refused connections in a row
    unanswered_ms: int | None = None  # since when it is heard, but answers no call
    deaf: bool = False  # suspected because it answers no call
    suspects: frozenset[Process] = frozenset()  # the peers that it suspects, by its last status
    unheard: Misses = field(default_factory=dict)  # which member misses which, by its last status
    reason: str = ""  # why it is suspected; empty while it is not
    mended: bool = False  # its cause is over, and only a promise keeps the suspicion
    absent: bool = False  # nobody listens at its address, or a node that does not know it: no proof
    proof: str = ""  # that it will never vote again, once there is one

    def become(self, trust: Trust, reason: str = "") -> None:
        assert trust in TRUSTS[self.trust], f"{self.trust} to {trust}"
        assert bool(reason) == (trust is Trust.SUSPECTED), "a suspicion has a reason, and nothing else has"
        self.trust, self.reason, self.mended = trust, reason, False

    @property
    def missed(self) -> bool:
        """Return whether it is suspected, and still for cause."""
        return self.trust is Trust.SUSPECTED and not self.mended


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
        self._view: View | None = None
        self._watched: dict[Process, _Watch] = {}
        self.suspects: dict[Process, str] = {}  # by this process, and why
        self.dead: dict[Process, str] = {}  # will never vote again, with the proof; silence is none
        self.named: frozenset[Process] = frozenset()  # suspected by somebody, this process or another
        self._ticked_ms: int | None = None
        self._lag_ms = 0  # how late this process ran lately
        self.sticky = False  # promised to a change: a suspicion stays until the next view

    def install(self, view: View, now_ms: int) -> None:
        """Watch the members of `view`; what was known of those who stay is kept, suspicions too."""
        others = [member for member in view.members if member != self._process]
        self._watched = {
            peer: self._watched.get(peer) or _Watch(AdaptiveTimeout(now_ms, self._detection), spoke_here_ms=now_ms)
            for peer in others
        }
        for watch in self._watched.values():
            watch.unheard = {}  # by ranks, which are of the view that is left
        self._view = view
        self.sticky = False
        self._review()
        if self._ticked_ms is None:
            self._ticked_ms = now_ms

    def heard(self, peer: Process, now_ms: int, suspects: Iterable[Process], unheard: Misses | None = None) -> None:
        """Record that something came from a peer, whose status has these suspects and misses."""
        watch = self._watched.get(peer)
        if watch:
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
        watch.timeout.heard(now_ms)
        watch.spoke_ms = now_ms
        return watch.unanswered_ms is None and not watch.failures

    def caught_up(self, peer: Process) -> None:
        """Record that a peer has installed the view: hearing it alone would not end that suspicion."""
        watch = self._watched.get(peer)
        if watch and watch.reason == "stuck":
            self._forgive(watch)

    def _forgive(self, watch: _Watch) -> None:
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
        quiet: list[Process] = []
        for peer, watch in self._watched.items():
            if watch.unanswered_ms is not None and self._is_deaf(watch, now_ms) and self.suspect(peer, CUT_OFF):
                watch.deaf = True
                suspected.append(peer)
            # Nearly all were heard lately: asked here, they cost no call.
            heard_ms, min_ms = watch.timeout.heard_ms, watch.timeout.min_ms
            if now_ms < heard_ms + min_ms or not watch.timeout.is_long(now_ms, self._lag_ms):
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
                watch.become(Trust.ASKED)
                # Asked below in one frame per helper: 1. A switch fails, and 30 members are silent. 2. Each
                # would be asked about by a call of its own.
                quiet.append(peer)
        asked: dict[Process, tuple[Process, ...]] = {}
        for peer in quiet:
            for helper in self._helpers(peer, now_ms)[: limits.PROBE_HELPERS]:
                asked[helper] = (*asked.get(helper, ()), peer)
        return suspected, asked

    def _is_deaf(self, watch: _Watch, now_ms: int) -> bool:
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
        return watch is not None and watch.trust is not Trust.SUSPECTED and now_ms - watch.timeout.heard_ms < within_ms

    def indirect_ack(self, peers: tuple[Process, ...], now_ms: int) -> tuple[Process, ...]:
        """Return those of these peers that this process hears."""
        return tuple(peer for peer in peers if self._hears(peer, now_ms, self._ack_within_ms))

    def on_indirect_ack(self, peers: tuple[Process, ...], now_ms: int) -> None:
        """Record that a member hears these peers."""
        for peer in peers:
            if peer in self._watched:
                self._watched[peer].timeout.on_indirect_ack(now_ms)

    def _forgive_own_lag(self, now_ms: int) -> None:
        """Count own lag: ticks are due every half a heartbeat, and a late one says that this process did not run."""
        since_ms = now_ms - self._ticked_ms if self._ticked_ms is not None else 0
        self._ticked_ms = now_ms
        late_ms = min(since_ms - limits.HEARTBEAT_MS // 2, self._lag_max_ms)
        # Fades by an eighth per tick: one late tick is forgotten after some two seconds.
        self._lag_ms = max(late_ms, self._lag_ms * 7 // 8)
        # Without this a process that wakes from a pause of 5 s would suspect everybody at once.
        if since_ms > limits.HEARTBEAT_MS + limits.LAG_MS:
            for watch in self._watched.values():
                watch.timeout.forgive(since_ms - limits.HEARTBEAT_MS, now_ms)
                watch.unanswered_ms = None

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
            if not watch.missed and now_ms - watch.timeout.heard_ms < self._ack_within_ms
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
        """Return the time when the peer was last heard, in ms."""
        return self._watched[peer].spoke_ms

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
        found = {self._process}
        for peer, watch in self._watched.items():
            silent_ms = now_ms - watch.timeout.heard_ms
            if not watch.proof and (
                silent_ms < within_ms or silent_ms < watch.timeout.limit_ms(self._lag_ms) + self._grace_ms
            ):
                found.add(peer)
        return found
