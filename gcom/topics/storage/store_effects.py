"""Effects in the store's own database: how far a shard is, and what a handler sends, commit with the effects.

So there is neither inbox nor outbox.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gcom.topics.storage import appends, subscriptions, topics
from gcom.topics.storage.appends import Target
from gcom.topics.storage.effects import EFFECTS, TABLES, EffectDatabase
from gcom.topics.storage.sqlite_effects import EffectFile
from gcom.topics.storage.subscriptions import Sub
from gcom.topics.values import Entry


class InStore(EffectDatabase):
    """The rows of a store in place of an inbox and an outbox. `sub` is set before the first batch."""

    in_store: ClassVar[bool] = True
    sub: Sub

    def tables(self) -> Sequence[str]:
        """Return the tables that are missing in a store: for the audit alone."""
        return (TABLES[0], EFFECTS) if self._audited else ()

    def floor(self, _sub: str, shard: int) -> int | None:
        self._staged: dict[str, list[Entry]] = {}  # a batch begins here: nothing is left of one that failed
        return subscriptions.look_at(self.tx, self.sub, shard)

    def advance(self, sub: str, shard: int, previous: int | None, floor: int) -> bool:
        assert previous is not None, "a shard of a store has a row from the beginning"
        moved = subscriptions.move(self.tx, self.sub, shard, previous, floor)
        if moved and self._audited:
            is_first = previous < self.sub.start
            super().advance(sub, shard, None if is_first else previous, floor)
        return moved

    def put(self, _producer: str, topic: str, entry: Entry) -> None:
        self._staged.setdefault(topic, []).append(entry)

    def seal(self) -> None:
        """Store what the handler sent: at the end, so that no row of a topic is locked for long."""
        staged, self._staged = self._staged, {}
        for topic, entries in sorted(staged.items()):
            target = Target(topics.ensure(self.tx, topic), topic, "")
            appends.add(self.tx, target, entries)

    def waiting(self, _producer: str, _count: int) -> dict[str, list[Entry]]:
        return {}

    def sent(self, _producer: str, _upto: Sequence[tuple[str, int]]) -> None:
        """Do nothing: there is no outbox."""


class StoreEffectFile(InStore, EffectFile):
    """The file of a store, for effects."""
