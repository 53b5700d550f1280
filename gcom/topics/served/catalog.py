"""The catalog: which server owns which topic, decided where an ordered command is delivered, the same at every server.

A new topic goes to the server with the fewest topics, of several to the one with the smallest name. An epoch rises with
each decision. It is in the database, too, as soon as the owner writes: from then on an earlier owner is refused there.
"""

from __future__ import annotations

from dataclasses import dataclass

from gcom.replicated.machine import Machine, command, query


@dataclass(frozen=True, slots=True)
class CatalogServer:
    """A server: its node's name, its address for clients and the name in its certificate, and the store that it has."""

    name: str
    address: str
    member: str
    store: str  # an id: servers of one database may own each other's topics


@dataclass(frozen=True, slots=True)
class TopicOwner:
    """The owner of a topic since a decision; `process` is empty while no server has the topic's store."""

    store: str
    process: str
    epoch: int
    last: str  # the name of the last owner


class TopicCatalog(Machine):
    """Servers by process, and owners by topic. Pure: the same commands make the same catalog."""

    def __init__(self) -> None:
        self.servers: dict[str, CatalogServer] = {}
        self.topics: dict[str, TopicOwner] = {}
        self.epoch = 0

    @command
    def serve(self, address: str, member: str, store: str, epoch: int, topics: list[str]) -> list[str]:
        """Have the caller be a server. `epoch`: the highest in its database; `topics`: those of a file that is its own.

        Return the topics of the file that another store has already: nobody finds them.
        """
        self.epoch = max(self.epoch, epoch)
        self.servers[self.context.process] = CatalogServer(self.context.member, address, member, store)
        hidden = [it for it in topics if it in self.topics and self.topics[it].store != store]
        for topic in topics:
            if topic not in self.topics:
                self._decide(topic, store, self.context.process)
        self._fill()
        self._balance(store)
        return hidden

    @command
    def ensure(self, topic: str, above: int) -> None:
        """Have the topic be owned, and by a decision with an epoch above what a database has."""
        self.epoch = max(self.epoch, above)
        known = self.topics.get(topic)
        if known is None:
            if found := self._fewest(None):
                self._decide(topic, self.servers[found].store, found)
        elif known.process and known.epoch <= above:
            self._decide(topic, known.store, known.process)

    @command
    def move(self, topic: str, name: str) -> bool:
        """Have the topic be owned by the server of a name; False where there is none that has the topic's store."""
        known = self.topics.get(topic)
        if known is None:
            return False
        wanted = [it for it, server in self.servers.items() if (server.name, server.store) == (name, known.store)]
        if not wanted:
            return False
        self._decide(topic, known.store, wanted[0])
        return True

    @command
    def leave(self) -> None:
        """Have the caller be no server any more: its topics go to others."""
        self.servers.pop(self.context.process, None)
        self._fill()

    def on_members(self, members: tuple[str, ...]) -> None:
        """Give the topics of servers that are gone to others."""
        self.servers = {process: it for process, it in self.servers.items() if process in members}
        self._fill()

    @query
    def owner_of(self, topic: str) -> tuple[TopicOwner, CatalogServer | None] | None:
        """Return the owner of a topic, and its server; None for a topic that has none."""
        known = self.topics.get(topic)
        return None if known is None else (known, self.servers.get(known.process))

    @query
    def all_servers(self) -> dict[str, CatalogServer]:
        """Return the servers, by process."""
        return dict(self.servers)

    @query
    def owners(self) -> dict[str, str]:
        """Return the owners' names by topic; empty where no server has it."""
        return {topic: self.servers[it.process].name if it.process else "" for topic, it in self.topics.items()}

    def _decide(self, topic: str, store: str, process: str) -> None:
        self.epoch += 1
        self.topics[topic] = TopicOwner(store, process, self.epoch, self.servers[process].name)

    def _counts(self, store: str | None) -> dict[str, int]:
        """Return the servers of a store (None: of any), with how many topics each owns."""
        counts = {process: 0 for process, it in self.servers.items() if store in (None, it.store)}
        for owner in self.topics.values():
            if owner.process in counts:
                counts[owner.process] += 1
        return counts

    def _fewest(self, store: str | None) -> str | None:
        counts = self._counts(store)
        return min(counts, key=lambda it: (counts[it], self.servers[it].name)) if counts else None

    def _fill(self) -> None:
        """Give each topic that has no server to one of its store, as far as there is one."""
        for topic, known in sorted(self.topics.items()):
            if known.process in self.servers:
                continue
            if found := self._fewest(known.store):
                self._decide(topic, known.store, found)
            else:
                self.topics[topic] = TopicOwner(known.store, "", known.epoch, known.last)

    def _balance(self, store: str) -> None:
        """Move topics of a store until no server has two more than another: for one that came."""
        while len(counts := self._counts(store)) > 1:
            least = min(counts, key=lambda it: (counts[it], self.servers[it].name))
            most = max(counts, key=lambda it: (counts[it], self.servers[it].name))
            if counts[most] - counts[least] < 2:
                return
            self._decide(min(it for it, known in self.topics.items() if known.process == most), store, least)
