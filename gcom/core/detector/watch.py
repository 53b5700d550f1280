"""The watch over one peer: the trust in it, the reason why it is suspected, and what its last status said."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from gcom.core.detector.adaptive_timeout import AdaptiveTimeout
from gcom.core.messages.frames import Misses
from gcom.values.names import Process

LONG_AGO_MS = -(10**9)


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
class PeerWatch:
    """A peer as the detector knows it."""

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
    rests: bool = False  # it is not expected to say anything: its neighbours watch it, and say so if they doubt it
    doubted: bool = False  # it rested, and has said nothing since others found some member silent
    spared_until_ms: int = LONG_AGO_MS  # not suspected of silence before
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

    def speaks(self, now_ms: int, within_ms: int) -> bool:
        """Return whether it was heard within a time, or counts as heard: others watch it, or it was just called."""
        return self.rests or now_ms - self.timeout.heard_ms < within_ms or now_ms < self.spared_until_ms
