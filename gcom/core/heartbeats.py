"""Heartbeats that wait, since the peer is known to live without them, and there is nothing to tell it.

Two processes that are in several groups together live, or do not, in all of them: a message in one is a sign of life in
each, so a heartbeat waits while another group's goes (decision 0023). In a large view a member watches its neighbours
alone: the links to the others rest (decision 0024). Either way only what the peer has acknowledged is not repeated, and
each link has an exchange of its own now and then.
"""

from __future__ import annotations

from operator import attrgetter

from gcom.core.detector.neighbours import rest_ms
from gcom.core.links import Links, PeerLink, Readiness
from gcom.core.membership.view_change import ViewChanger
from gcom.core.messages.frames import Decision, Frame, Status
from gcom.core.outgoing import Outgoing
from gcom.core.state_transfer.transfer import Transfer
from gcom.core.streams import Streams
from gcom.core.unicast.channel import Channels
from gcom.values import limits
from gcom.values.names import Process

_BARE = ((), (), (), None, ())  # what a heartbeat has behind its status
# The fields of a status that do not follow from the view that was installed. One that is missing here is not told over
# a link that rests, until something else has it say something.
_apart_from_view = attrgetter(
    "consumed", "cut_off", "reaches", "leaving", "suspects", "receipt", "state", "needs_donor", "unheard"
)


def _is_used(link: PeerLink) -> bool:
    """Return whether a frame is unanswered, or something other than a status is owed."""
    free = link.readiness is Readiness.FREE
    return not free or bool(link.control or link.later or link.owed or link.relays)


class Statuses:
    """The status of one member for each of its peers."""

    def __init__(self, streams: Streams, view_change: ViewChanger, channels: Channels, transfer: Transfer) -> None:
        self._streams = streams
        self._view_change = view_change
        self._triggers = view_change.triggers
        self._channels = channels
        self._transfer = transfer

    def for_peer(self, peer: Process) -> Status:
        """Return the status for a peer as it is now; to ask tells nothing."""
        return self._streams.status(
            peer,
            leaving=self._triggers.leavers.get(self._view_change.process, ""),
            suspects=tuple(self._triggers.detector.suspects),
            unheard=self._triggers.unheard,
            receipt=self._channels.receipt(peer),
            state=self._transfer.held(peer) if self._transfer.takes else 0,
            needs_donor=self._transfer.takes and self._transfer.needs_donor,
            arrived=self._view_change.arrivals.bits,
        )

    def on_told(self, peer: Process, status: Status) -> None:
        """Record that a status goes to a peer, in a frame or in a reply."""
        self._streams.on_told(peer, status.consumed)
        self._channels.on_told(peer)


class Heartbeats:
    """The heartbeats of one member, as far as they may wait.

    `version` counts what has happened here but repetitions of what was known: while it stands, no status changes.
    """

    def __init__(self, links: Links, view_change: ViewChanger, outgoing: Outgoing, statuses: Statuses) -> None:
        self.version = 0
        self._links = links
        self._view_change = view_change
        self._outgoing = outgoing
        self._statuses = statuses
        self._seen = -1  # the version at which `tick` looked at all links
        self._stirred: set[Process] = set()  # peers whose links had an exchange since
        self._began_ms = 0  # the view
        self._suspects: dict[Process, str] = {}  # as they were when `version` was looked at last
        self._said: dict[Process, Status] = {}  # by peer, last
        self._is_large = False  # the view: some links rest

    # what is said, and what is said again

    def tell(self, peer: Process) -> Status:
        """Return the status for a frame or a reply to a peer, which is told it."""
        self._look_at_suspects()
        link = self._links.get(peer)
        known = link.told if link and link.seen == self.version else None
        status = known or self._statuses.for_peer(peer)
        self._statuses.on_told(peer, status)
        if link and not self._is_large:
            link.told = status  # though its answer may be lost: in a small view it is repeated soon
        return status

    def _look_at_suspects(self) -> None:
        """Count it as news that a suspicion began or ended: that may be in a step that has no other effect."""
        detector = self._view_change.triggers.detector
        # In a small view all counts as news: nothing that is said there rests on this count.
        if detector.suspects != self._suspects or not detector.far:
            self._suspects = detector.suspects
            self.version += 1

    def put(self, peer: Process, now_ms: int, bare: bool) -> Status:
        """Return the status for the frame that begins a call to a member; `bare`: it is a heartbeat."""
        self._view_change.triggers.detector.wake(peer, now_ms)
        if bare:
            self._stir(peer)
        else:
            self.version += 1
        status = self.tell(peer)
        if self._is_large:
            self._links[peer].unanswered[-1].status = status
        return status

    def on_taken(self, frame: Frame) -> None:
        """Record that a member's frame was taken in, which is news unless it says what the last one said."""
        if frame[5:] != _BARE or self._said.get(frame.source) != frame.status:
            self.version += 1
        self._said[frame.source] = frame.status
        self._stir(frame.source)

    # links that rest

    def install(self, decision: Decision, now_ms: int) -> None:
        """Begin a view: take for told what each member knows of each other one once both have installed it."""
        process, change = self._view_change.process, self._view_change
        self.version += 1
        self._began_ms = now_ms
        self._said.clear()
        far = change.triggers.detector.far
        was_large, self._is_large = self._is_large, bool(far)
        for peer in far:
            link, status = self._links[peer], self._statuses.for_peer(peer)
            link.told = link.told if was_large else None  # else it may be in a reply that was lost
            enters = process in decision.joined or peer in decision.joined
            told = link.told or (Status(0, consumed=status.consumed) if enters else None)
            if told and _apart_from_view(told) == _apart_from_view(status):
                link.told = status._replace(sent=decision.cut.get(process, 0))

    def tick(self, now_ms: int) -> None:
        """Let the links rest over which there is nothing to say; wake them all where somebody is doubted."""
        change, detector = self._view_change, self._view_change.triggers.detector
        if not detector.far:
            return
        self._look_at_suspects()
        quiet = detector.is_quiet
        proposer = change.promised_to(now_ms, lately=not quiet)
        seen, self._seen = self._seen, self.version if quiet and not proposer else -1
        stirred, self._stirred = self._stirred, set()
        if not quiet:
            detector.doubt(now_ms)
        for peer in sorted(stirred) if seen == self._seen != -1 else detector.far:
            link = self._links[peer]
            if proposer and peer not in (proposer, *change.live_others[:1]):
                # That this process has promised would be news to all. As a rule the change is over before it matters.
                rests = not _is_used(link)
            else:
                rests = quiet and not self._has_something_to_say(peer, link)
            if rests:
                self._let_rest(peer, link, quiet)
            else:
                self._stirred.add(peer)
                self._keep_awake(peer, link, now_ms, quiet)

    def _let_rest(self, peer: Process, link: PeerLink, quiet: bool) -> None:
        view, process = self._view_change.view, self._view_change.process
        self._view_change.triggers.detector.rest(peer, quiet)
        since_ms = link.exchanged_ms if link.exchanged_ms > 0 else self._began_ms
        link.due_ms = since_ms + rest_ms(view, process, peer) - link.lead_ms

    def _keep_awake(self, peer: Process, link: PeerLink, now_ms: int, quiet: bool) -> None:
        detector = self._view_change.triggers.detector
        if quiet:
            detector.wake(peer, now_ms)
        if link.readiness is not Readiness.FREE:
            return
        # What is new goes at once. Where somebody is doubted, a change of the view may come before all have called all.
        due_ms = now_ms + (limits.HEARTBEAT_MS // 2 if quiet else limits.HEARTBEAT_MS)
        # If 64 called each other every half second the calls would take longer than what they are to find.
        pause_ms = 0 if quiet else limits.HEARTBEAT_MS * len(self._view_change.view.members) // limits.BEATS_MAX
        if link.due_ms > due_ms:
            link.due_ms = due_ms
            self._links.wake(peer)
            detector.spare(peer, now_ms + max(limits.HEARTBEAT_MS, pause_ms))
        elif link.due_ms < link.exchanged_ms + pause_ms:
            link.due_ms = link.exchanged_ms + pause_ms
            detector.spare(peer, link.due_ms)

    def _stir(self, peer: Process) -> None:
        """Look at the link to a peer with the next tick: it had an exchange, whatever was said."""
        if peer in self._view_change.triggers.detector.far:
            self._stirred.add(peer)

    # heartbeats of several groups

    def put_off(self, peer: Process, now_ms: int) -> bool:
        """Let the heartbeat to a peer wait, since one of another group goes or came; return whether it may."""
        link, change = self._links.get(peer), self._view_change
        if link is None or change.busy or change.behind or not self._may_wait(link, now_ms):
            return False
        if peer not in change.view.members or self._has_something_to_say(peer, link):
            return False
        link.due_ms = max(link.due_ms, now_ms + limits.HEARTBEAT_MS - link.lead_ms)
        return True

    @staticmethod
    def _may_wait(link: PeerLink, now_ms: int) -> bool:
        # 1. The other group is over at the peer, which refuses its calls. 2. Too few are left here to change its view.
        # 3. So its heartbeats go, and are no sign of life.
        shown_alive = now_ms <= link.heard_ms + limits.HEARTBEAT_MS + limits.HEARTBEATS_TOGETHER_MS
        # A period early: at the limit itself the peer's heartbeat would be due, too.
        return shown_alive and now_ms + limits.HEARTBEAT_MS <= link.exchanged_ms + limits.OWN_EXCHANGE_MS

    def _has_something_to_say(self, peer: Process, link: PeerLink) -> bool:
        if _is_used(link):
            return True
        self._look_at_suspects()
        # What the peer has acknowledged: an answer of this process may have been lost.
        if link.seen != self.version and link.told == self._statuses.for_peer(peer):
            link.seen = self.version
        return link.seen != self.version or self._outgoing.is_owed(peer)

    def shows_life(self, peer: Process) -> bool:
        """Return whether the heartbeat to a peer may stand for those of other groups: it will be answered here."""
        # 1. The group is over at the peer, which refuses. 2. Too few are left here to put it out. 3. If this group
        # spoke for the others, every second heartbeat of theirs would be in vain.
        change = self._view_change
        return peer in change.view.members and peer not in change.triggers.detector.suspects

    def heard(self, peer: Process, now_ms: int) -> None:
        """Take a sign of life that a peer's process gave in another group."""
        link = self._links.get(peer)
        if link and self._view_change.triggers.detector.heard_in_another_group(peer, now_ms):
            link.heard_ms = now_ms
            # Where this process calls, it was put off as it was due.
            if link.due_ms < now_ms + limits.HEARTBEATS_TOGETHER_MS:
                self.put_off(peer, now_ms)
