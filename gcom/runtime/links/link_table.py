"""The links of one host, by the address and name of the member that each serves. Guarded by the host's lock."""

from __future__ import annotations

from collections.abc import Iterator

from gcom.runtime.links.link import Link, LinkHost
from gcom.runtime.session import Session
from gcom.values import names
from gcom.values.names import Address, Process


class LinkTable:
    """The links; each is made when it is first needed."""

    def __init__(self, host: LinkHost) -> None:
        self._host = host
        # By name as well as address: 1. B dies, and C is given its port. 2. What is owed to B must not go to C as if it
        # were B.
        self._links: dict[tuple[Address, str], Link] = {}

    def __iter__(self) -> Iterator[Link]:
        return iter(self._links.values())

    def __len__(self) -> int:
        return len(self._links)

    def serve(self, session: Session, peer: Process) -> None:
        """Have the link to a peer, if it is one still, take turns for the session."""
        address = session.machine.address_of(peer)
        if address is None:
            return
        key = address, names.name_of(peer)
        link = self._links.get(key)
        if link is None:
            link = self._links[key] = Link(self._host, *key)
            # The reader waits as long as the links of its last tick allow.
            self._host.reader.reschedule()
        link.serve(session, peer)

    def to(self, session: Session, peer: Process) -> Link | None:
        return self._links.get((session.machine.address_of(peer) or "", names.name_of(peer)))

    def forget(self, link: Link) -> None:
        """Let go of a link that has no peer left."""
        self._links.pop((link.address, link.member), None)
