"""The backlog: the topic and the last messages of a group, which a newcomer is given as the group's state."""

from __future__ import annotations

import json
from collections import deque

from gcom_chat.model.wire import MARK, VERSION, ChatMessage, MessageKind, decode, encode

MESSAGES_MAX = 200  # what a newcomer reads up on; it travels with every join
BYTES_MAX = 512 * 1024  # of the texts; the oldest go first


class Backlog:
    """The topic and the last messages, equal at all members of a group with one order; for its receiving thread."""

    def __init__(self) -> None:
        self.topic = ""
        self.said: deque[tuple[str, ChatMessage]] = deque()
        self._names: set[tuple[str, str]] = set()
        self._size = 0

    @property
    def names(self) -> frozenset[tuple[str, str]]:
        """The senders' names with the ids of what they said."""
        return frozenset(self._names)

    def add(self, name: str, message: ChatMessage) -> None:
        """Add a delivered message; one that was sent once more is there already."""
        if (name, message.id) in self._names:
            return
        if message.kind is MessageKind.TOPIC:
            self.topic = message.text
        elif message.kind in (MessageKind.TEXT, MessageKind.ACTION):
            self.said.append((name, message))
            self._names |= {(name, message.id)} if message.id else set()
            self._size += len(message.text)
            while len(self.said) > MESSAGES_MAX or self._size > BYTES_MAX:
                first, oldest = self.said.popleft()
                self._names.discard((first, oldest.id))
                self._size -= len(oldest.text)

    def get_state(self) -> bytes:
        """Return all as one state."""
        said = [[name, encode(message)] for name, message in self.said]
        # JSON, although all are of one program: a state comes from
        # a peer, and must not be able to build anything but text.
        return json.dumps({MARK: VERSION, "topic": self.topic, "said": said}, ensure_ascii=False).encode()

    def set_state(self, data: bytes) -> None:
        """Replace all by a member's state; one that cannot be read changes nothing, since it is a peer's word."""
        try:
            fields = json.loads(data)
            topic, said = str(fields["topic"]), [(str(name), decode(str(payload))) for name, payload in fields["said"]]
        except (ValueError, TypeError, KeyError, RecursionError):
            return
        # Only when all of it could be read: half of a state would be told to newcomers as the whole.
        self.topic, self._size = topic, 0
        self.said.clear()
        self._names.clear()
        for name, message in said:
            self.add(name, message)

    def merge_states(self, mine: bytes, theirs: bytes) -> bytes:
        """Return one state for two instances that have met: by the senders' clocks, each message once."""
        both = Backlog(), Backlog()
        for backlog, data in zip(both, (mine, theirs), strict=True):
            backlog.set_state(data)
        merged, seen = Backlog(), set()
        # Any rule will do that gives all members the same one, whichever state is theirs.
        merged.topic = max(both[0].topic, both[1].topic)
        for name, message in sorted(
            # Down to the text, so that the order is the same everywhere for messages that share a time, a name and an
            # id.
            [*both[0].said, *both[1].said],
            key=lambda pair: (pair[1].at_ms, pair[0], pair[1].id, pair[1].text),
        ):
            if (name, message) not in seen:
                seen.add((name, message))
                merged.add(name, message)
        return merged.get_state()
