"""A conversation: the rows of one group, in the order of their delivery here, and what of them is new.

Own messages stand in the outbox until they are delivered; only then they have a place among the others', as every
message has. What is older than the bound goes; who reads it has it in the view's own list meanwhile.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from datetime import datetime, tzinfo

from chat_gui.model.query import Query
from chat_gui.model.rows import ChatRow, MessageState, RowKind
from chat_gui.model.text import mentions, shown
from chat_gui.model.texts.words import translate
from chat_gui.model.wire import ChatMessage, MessageKind

ROWS_MAX = 10_000  # some megabytes per tab; older rows are on the disk
_KINDS = {MessageKind.ACTION: RowKind.ACTION, MessageKind.TEXT: RowKind.MESSAGE, MessageKind.UNKNOWN: RowKind.NOTICE}


class Conversation:
    """The rows of one group. `news` gives what was appended since it was last asked; `changed` the keys of rows that
    changed.
    """

    def __init__(self, group: str, first_key: int = 1, rows_max: int = ROWS_MAX, zone: tzinfo | None = None) -> None:
        self.group = group
        self.rows: deque[ChatRow] = deque(maxlen=rows_max)
        self.outbox: dict[str, ChatRow] = {}  # by id, oldest first
        self.unsent: dict[str, tuple[ChatMessage, str]] = {}  # by id: not sent yet; the addressee, "" for all
        self.topic = ""
        self.unread = 0
        self.mentioned = 0
        self.marker: int | None = None  # the key of the first row that was not seen
        self.watched = False  # its tab is in front, and the window is active
        self._next_key = first_key
        self._news: list[ChatRow] = []
        self._changed: set[int] = set()
        self._own: dict[int, ChatRow] = {}  # by number: own messages that not all are known to hold
        self._held = 0  # all members hold the own messages up to this number
        self._seen_ids: dict[str, None] = {}  # of the backlog: a state that comes again brings them again
        self._day = ""
        self._zone = zone

    # what comes

    def on_message(
        self, process: str, number: int, view: int, message: ChatMessage, now_ms: int, own: bool, words: frozenset[str]
    ) -> ChatRow:
        """Append a delivered message; one of the own leaves the outbox."""
        name = process.partition("#")[0]
        if message.kind is MessageKind.TOPIC:
            return self._on_topic(name, message.text, now_ms)
        if message.kind is MessageKind.NICK:
            return self.notice(translate("chat", "{} comes back as {}").format(name, shown(message.text)[:40]), now_ms)
        row = self._row(_KINDS[message.kind], now_ms, name, shown(message.text))
        row.process, row.number, row.view, row.id, row.sent_ms = process, number, view, message.id, message.at_ms
        row.own, row.mention = own, not own and mentions(row.text, words)
        if message.kind is MessageKind.UNKNOWN:
            row.text = translate("chat", "{} sent {}").format(name, row.text)
        # Out of the outbox, by its id: the number is not known
        # there when a delivery is faster than the answer of `send`.
        if own:
            self.outbox.pop(message.id, None)
            self.unsent.pop(message.id, None)
            row.delivery = MessageState.HELD if number <= self._held else MessageState.ORDERED
            # That all hold it may be told before it is delivered here: there is nothing more to wait for then.
            if number > self._held:
                self._own[number] = row
        self._remember(message.id)
        return self._append(row)

    def on_private(self, name: str, message: ChatMessage, now_ms: int, own: bool, peer: str) -> ChatRow:
        """Append a private message, from `name` to `peer`."""
        self.unsent.pop(message.id, None)
        row = self._row(RowKind.PRIVATE, now_ms, name, shown(message.text))
        row.own, row.peer, row.id, row.sent_ms, row.mention = own, peer, message.id, message.at_ms, not own
        return self._append(row)

    @property
    def last_is_view(self) -> bool:
        """Return whether the last row is a separator for a view change."""
        return bool(self.rows) and self.rows[-1].kind is RowKind.VIEW

    def on_view(self, text: str, view: int, now_ms: int, again: bool = False) -> ChatRow:
        """Append a separator for a view change; `again`: the last row's text now tells this change too."""
        # A change in place, not a second line: a member that
        # comes and goes would push the talk off the screen.
        if again and self.last_is_view:
            row = self.rows[-1]
            row.text, row.view, row.at_ms = text, view, now_ms
            self._changed.add(row.key)
            return row
        row = self._row(RowKind.VIEW, now_ms, "", text)
        row.view = view
        return self._append(row)

    def notice(self, text: str, now_ms: int) -> ChatRow:
        """Append a line of the chat's own."""
        return self._append(self._row(RowKind.NOTICE, now_ms, "", text))

    def _on_topic(self, name: str, topic: str, now_ms: int) -> ChatRow:
        self.topic = shown(topic).replace("\n", " ")[:500]
        text = (
            translate("chat", "{} set the topic: {}").format(name, self.topic)
            if self.topic
            else translate("chat", "{} removed the topic").format(name)
        )
        return self.notice(text, now_ms)

    def on_backlog(self, topic: str, said: Iterable[tuple[str, ChatMessage]], now_ms: int) -> None:
        """Append what was said before this process came and is not here yet, as a member's state tells it."""
        self.topic = shown(topic).replace("\n", " ")[:500]
        # Messages of other programs have no id: of those as many count as known as there are rows with their words.
        plain = Counter((row.name, row.text) for row in self.rows if not row.id)
        told: list[tuple[str, ChatMessage, bool]] = []
        for name, message in said:
            known = message.id in self._seen_ids if message.id else plain[name, shown(message.text)] > 0
            plain[name, shown(message.text)] -= not message.id
            told.append((name, message, known))
        here = [at for at, (_, _, known) in enumerate(told) if known] or [-1]
        for at, (name, message, known) in enumerate(told):
            # Before the first that is here: it is older than the rows read from disk. Without an id nobody
            # can tell it from one of the same words: what is before the last that is here is taken for that.
            if known or at < (here[0] if message.id else here[-1]):
                continue
            row = self._row(
                _KINDS.get(message.kind, RowKind.NOTICE), message.at_ms or now_ms, name, shown(message.text)
            )
            row.id, row.sent_ms, row.earlier = message.id, message.at_ms, True
            self._remember(message.id)
            self._append(row)

    def restore(self, rows: Iterable[ChatRow]) -> None:
        """Take rows of the scrollback on disk, oldest first, before anything else comes."""
        for row in rows:
            # What became of it in a session that is over is not known
            # any more: a sign would claim what nobody can say.
            row.earlier, row.delivery = True, MessageState.NONE
            self._remember(row.id)
            self.rows.append(row)
            self._news.append(row)
            # Keys go on over restarts, so that a row on the disk
            # is never replaced by another one of the same key.
            self._next_key = max(self._next_key, row.key + 1)
            if row.kind is RowKind.DAY:
                self._day = row.text

    # own messages

    def sending(self, message: ChatMessage, name: str, now_ms: int, to: str = "") -> None:
        """Put an own message into the outbox; one `to` a single member is shown once it is out."""
        self.unsent[message.id] = message, to
        kind = _KINDS.get(message.kind)
        if kind is not None and not to:
            row = ChatRow(
                0, kind, now_ms, name, shown(message.text), id=message.id, own=True, delivery=MessageState.WAITING
            )
            self.outbox[message.id] = row

    def on_sent(self, identity: str, number: int) -> None:
        """Record that an own message went into the group."""
        self.unsent.pop(identity, None)
        if row := self.outbox.get(identity):
            row.number, row.delivery = number, MessageState.SENT

    def on_failed(self, identity: str) -> None:
        """Take an own message out of the outbox that cannot be sent."""
        self.outbox.pop(identity, None)
        self.unsent.pop(identity, None)

    def on_held(self, up_to: int) -> None:
        """Record that all members hold the own messages up to a number, also those that are delivered here later."""
        self._held = max(self._held, up_to)
        for number in [number for number in self._own if number <= up_to]:
            self._mark(self._own.pop(number), MessageState.HELD)

    def on_returned(self) -> None:
        """Record that this process is another one now, whose numbers begin at 1."""
        # Left as it was, it would mark the first messages of the new stream as held that nobody has.
        self._held = 0
        self._own.clear()

    def on_doubt(self, first: int, last: int, delivery: MessageState) -> int:
        """Record what is known of own messages first … last while or after no quorum was heard; return how many."""
        rows = [row for number, row in self._own.items() if first <= number <= last]
        # In the outbox, too: what was sent and not delivered
        # here before the quorum was lost is in doubt as well.
        rows += [row for row in self.outbox.values() if first <= row.number <= last]
        for row in rows:
            self._mark(row, delivery)
        return len(rows)

    @property
    def awaited(self) -> list[int]:
        """The numbers of own messages that not all are known to hold."""
        return list(self._own)

    # what is new

    def news(self) -> list[ChatRow]:
        """Return the rows appended since the last call, oldest first."""
        news, self._news = self._news, []
        return news

    def changed(self) -> set[int]:
        """Return the keys of the rows that changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def seen(self) -> None:
        """Record that all rows were seen; the marker stays until the next absence."""
        self.unread = self.mentioned = 0

    def left(self) -> None:
        """Record that the reader turned away: the next row is the first that is not seen."""
        self.watched, self.marker = False, None

    def before(self, key: int, count: int) -> list[ChatRow]:
        """Return the last rows before a key that are in memory, oldest first."""
        return [row for row in self.rows if row.key < key][-count:]

    def find(self, text: str) -> list[int]:
        """Return the keys of the rows for which a query holds, oldest first."""
        return Query.parse(text).find(self.rows)

    # rows

    def _row(self, kind: RowKind, at_ms: int, name: str, text: str) -> ChatRow:
        return ChatRow(0, kind, at_ms, name, text)

    def _append(self, row: ChatRow) -> ChatRow:
        day = datetime.fromtimestamp(row.at_ms / 1000, self._zone).strftime("%Y-%m-%d")
        if day != self._day:
            self._day = day
            self._put(ChatRow(0, RowKind.DAY, row.at_ms, "", day))
        self._put(row)
        if not self.watched and not row.own and row.kind in (RowKind.MESSAGE, RowKind.ACTION, RowKind.PRIVATE):
            # Backlog was said before this process came: as news it would ring for hours that are over.
            self.unread += not row.earlier
            self.mentioned += row.mention
            self.marker = self.marker or row.key
        return row

    def _put(self, row: ChatRow) -> None:
        row.key, self._next_key = self._next_key, self._next_key + 1
        self.rows.append(row)
        self._news.append(row)

    def _mark(self, row: ChatRow, delivery: MessageState) -> None:
        row.delivery = delivery
        self._changed.add(row.key)

    def _remember(self, identity: str) -> None:
        if identity:
            self._seen_ids[identity] = None
            # As many as there are rows: a backlog repeats what is shown, and nothing older.
            if len(self._seen_ids) > ROWS_MAX:
                del self._seen_ids[next(iter(self._seen_ids))]
