"""A conversation: the rows of one group, in the order of their delivery here, and what of them is new.

Own messages stand in the outbox until they are delivered; only then they have a place among the others', as every
message has. What is older than the bound goes; who reads it has it in the view's own list meanwhile.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from datetime import datetime, tzinfo

from gcom_chat.model.outbox import ChatOutbox, OwnLine, after_restart, own_line
from gcom_chat.model.query import Query
from gcom_chat.model.rows import ChatRow, MessageState, RowKind
from gcom_chat.model.text import in_full, mentions, shown
from gcom_chat.model.texts.isolates import apart
from gcom_chat.model.texts.words import translate
from gcom_chat.model.wire import ChatMessage, MessageKind

ROWS_MAX = 10_000  # some megabytes per tab; older rows are on the disk
LONG_CHARS_MAX = 8 << 20  # of whole texts that are shown in part; older ones are on the disk, too
_KINDS = {
    MessageKind.ACTION: RowKind.ACTION,
    MessageKind.TEXT: RowKind.MESSAGE,
    MessageKind.TOPIC: RowKind.NOTICE,
    MessageKind.UNKNOWN: RowKind.NOTICE,
}
_SAID = RowKind.MESSAGE, RowKind.ACTION, RowKind.PRIVATE


class Conversation:
    """The rows of one group. `news` gives what was appended since it was last asked; `changed` the keys of rows that
    changed.
    """

    def __init__(self, group: str, first_key: int = 1, rows_max: int = ROWS_MAX, zone: tzinfo | None = None) -> None:
        self.group = group
        self.rows: deque[ChatRow] = deque(maxlen=rows_max)
        self.own = ChatOutbox()
        self.topic = ""
        self.unread = 0
        self.mentioned = 0
        self.marker: int | None = None  # the key of the first row that was not seen
        self.watched = False  # its tab is in front, and the window is active
        self._next_key = first_key
        self._news: list[ChatRow] = []
        self._changed: set[int] = set()
        self._rewritten: list[ChatRow] = []  # rows whose content is another since they were news
        self._seen_ids: dict[tuple[str, str], None] = {}  # by name and id: what comes again is shown once
        self._long: deque[ChatRow] = deque()  # rows with a whole text, oldest first
        self._long_chars = 0
        self._day = ""
        self._zone = zone

    # what comes

    def on_message(
        self, process: str, number: int, view: int, message: ChatMessage, now_ms: int, own: bool, words: frozenset[str]
    ) -> ChatRow | None:
        """Append a delivered message; one of the own leaves the outbox. None: it is shown already, sent once more."""
        name = process.partition("#")[0]
        if message.kind is MessageKind.NICK:
            return self.notice(
                translate("chat", "{} comes back as {}").format(apart(name), apart(shown(message.text)[:40])), now_ms
            )
        line = self.own.lines.get(message.id) if own else None
        if line is None and message.id and (name, message.id) in self._seen_ids:
            return None
        if message.kind is MessageKind.TOPIC:
            self.topic = _one_line(message.text)
        row = line.row if line and line.placed else self._row_of(name, message, now_ms)
        row.process, row.number, row.view, row.id, row.sent_ms = process, number, view, message.id, message.at_ms
        row.own, row.mention = own, not own and row.kind is not RowKind.NOTICE and mentions(row.text, words)
        self._remember(name, message.id)
        if own:
            row.delivery = self._delivered(line, row)
        if line and line.placed:
            # It stood here before it was lost on its way to the others: another row would say it twice.
            self._rewrite(row)
            return row
        if line:
            line.row, line.placed = row, True
        return self._append(row)

    def _row_of(self, name: str, message: ChatMessage, now_ms: int) -> ChatRow:
        text, whole = shown(message.text), in_full(message.text)
        if message.kind is MessageKind.TOPIC:
            text = (
                translate("chat", "{} set the topic: {}").format(apart(name), apart(_one_line(message.text)))
                if message.text
                else translate("chat", "{} removed the topic").format(apart(name))
            )
        elif message.kind is MessageKind.UNKNOWN:
            text = translate("chat", "{} sent {}").format(apart(name), text)
        row = self._row(_KINDS.get(message.kind, RowKind.NOTICE), now_ms, name, text)
        if whole and row.kind is not RowKind.NOTICE:
            row.cut, row.whole = True, whole
        return row

    def _delivered(self, line: OwnLine | None, row: ChatRow) -> MessageState:
        """Return the state of an own message that is delivered here now."""
        if line is None:
            return MessageState.ORDERED
        self.own.put(line)
        return MessageState.ORDERED if line.state in (MessageState.WAITING, MessageState.SENT) else line.state

    def on_private(self, name: str, message: ChatMessage, now_ms: int, peer: str) -> ChatRow | None:
        """Append a private message, from `name` to `peer`; None: it is shown already, sent once more."""
        if message.id and (name, message.id) in self._seen_ids:
            return None
        row = self._row_of(name, message, now_ms)
        row.kind = RowKind.PRIVATE if row.kind is RowKind.MESSAGE else row.kind
        row.peer, row.id, row.sent_ms, row.mention = peer, message.id, message.at_ms, True
        self._remember(name, message.id)
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
            self._rewrite(row)
            return row
        row = self._row(RowKind.VIEW, now_ms, "", text)
        row.view = view
        return self._append(row)

    def notice(self, text: str, now_ms: int) -> ChatRow:
        """Append a line of the chat's own."""
        return self._append(self._row(RowKind.NOTICE, now_ms, "", text))

    def on_backlog(
        self,
        topic: str,
        said: Iterable[tuple[str, ChatMessage]],
        now_ms: int,
        words: frozenset[str] = frozenset(),
    ) -> None:
        """Take what was said before this process came and is not here yet, as a member's state tells it."""
        self.topic = _one_line(topic)
        # Who was here before has missed what is new to him; to a newcomer it is history, and nothing is unread.
        missed = any(row.kind in _SAID for row in self.rows)
        # Messages of other programs have no id: of those as many count as known as there are rows with their words.
        plain = Counter((row.name, row.text) for row in self.rows if not row.id)
        told: list[tuple[str, ChatMessage, bool]] = []
        for name, message in said:
            known = (name, message.id) in self._seen_ids if message.id else plain[name, shown(message.text)] > 0
            plain[name, shown(message.text)] -= not message.id
            told.append((name, message, known))
        here = [at for at, (_, _, known) in enumerate(told) if known] or [-1]
        for at, (name, message, known) in enumerate(told):
            # Others tell of it, so an own line whose end was open has arrived.
            if (line := self.own.lines.get(message.id)) and line.row.name == name:
                self._arrived(line)
                continue
            # Before the first that is here: it is older than the rows read from disk. Without an id nobody
            # can tell it from one of the same words: what is before the last that is here is taken for that.
            if known or at < (here[0] if message.id else here[-1]):
                continue
            row = self._row_of(name, message, message.at_ms or now_ms)
            row.id, row.sent_ms, row.earlier = message.id, message.at_ms, True
            row.mention = missed and mentions(row.text, words)
            self._remember(name, message.id)
            self._append(row, missed)

    def restore(self, rows: Iterable[ChatRow], lines: Iterable[OwnLine] = ()) -> None:
        """Take rows of the scrollback on disk, oldest first, and own lines that had not ended, before all else."""
        by_id: dict[str, ChatRow] = {}
        for row in rows:
            # What became of it in a session that is over is not known
            # any more: a sign would claim what nobody can say.
            row.earlier, row.delivery = True, MessageState.NONE
            self._remember(row.name, row.id)
            self._count(row)
            self.rows.append(row)
            self._news.append(row)
            # Keys go on over restarts, so that a row on the disk
            # is never replaced by another one of the same key.
            self._next_key = max(self._next_key, row.key + 1)
            if row.kind is RowKind.DAY:
                self._day = row.text
            if row.own and row.id:
                by_id[row.id] = row
        for line in lines:
            line = after_restart(line)
            if found := by_id.get(line.message.id):
                found.delivery, found.earlier = line.state, False
                line.row, line.placed = found, True
            self.own.put(line)

    # own lines

    def sending(self, message: ChatMessage, name: str, now_ms: int, to: str = "") -> None:
        """Put an own message into the outbox; or one that ended badly, which is sent again."""
        if (line := self.own.drop(message.id)) and line.placed:
            line.why = ""
            self._mark(line.row, MessageState.WAITING)
            self.own.put(line)
        elif line := own_line(message, to, name, now_ms):
            self.own.put(line)

    def on_moved(self, identity: str, state: MessageState, number: int, why: str, now_ms: int) -> None:
        """Record what became of an own line."""
        line = self.own.lines.get(identity)
        # That it left may be told after its delivery.
        if line is None or (state is MessageState.SENT and line.state in (MessageState.ORDERED, MessageState.HELD)):
            return
        line.why = why
        line.row.number = number or line.row.number
        self._mark(line.row, state)
        self.own.put(line)
        if state is MessageState.HELD:
            self._arrived(line)
        elif line.to and state is MessageState.SENT and not line.placed:
            # A private one has no place in an order: it stands where it went out.
            line.row.at_ms, line.placed = now_ms, True
            self._append(line.row)
        elif line.placed and state is MessageState.ORDERED:
            self.own.drop(identity)

    def discard(self, identity: str) -> OwnLine | None:
        """Forget a line that ended badly; return it."""
        line = self.own.drop(identity)
        if line and line.placed:
            # The row stays, as words of the chat's own: without it what followed would answer nothing.
            line.row.kind, line.row.own, line.row.delivery = RowKind.NOTICE, False, MessageState.NONE
            line.row.text = translate("chat", "discarded, since it may not have arrived: {}").format(
                apart(line.row.text)
            )
            self._rewrite(line.row)
        return line

    def _arrived(self, line: OwnLine) -> None:
        """Record that the others have a line."""
        self._mark(line.row, MessageState.HELD)
        # Without a place it was not delivered here, and never will be: this process went before.
        if not line.placed:
            self._remember(line.row.name, line.message.id)
            self._append(line.row)
        self.own.drop(line.message.id)

    # what is new

    def news(self) -> list[ChatRow]:
        """Return the rows appended since the last call, oldest first."""
        news, self._news = self._news, []
        # Not of what is told now: whoever keeps rows on the disk has not seen it yet.
        first = news[0].key if news else self._next_key
        while self._long_chars > LONG_CHARS_MAX and self._long[0].key < first:
            oldest = self._long.popleft()
            self._long_chars -= len(oldest.whole)
            oldest.whole = ""
        return news

    def changed(self) -> set[int]:
        """Return the keys of the rows that changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def rewritten(self) -> list[ChatRow]:
        """Return the rows whose content is another since the last call: on disk they are old."""
        rows, self._rewritten = self._rewritten, []
        return rows

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

    def _append(self, row: ChatRow, missed: bool = False) -> ChatRow:
        """Append a row; `missed`: it was said while this chat was away, and is unread."""
        day = datetime.fromtimestamp(row.at_ms / 1000, self._zone).strftime("%Y-%m-%d")
        if day != self._day:
            self._day = day
            self._put(ChatRow(0, RowKind.DAY, row.at_ms, "", day))
        self._put(row)
        if row.own or row.kind not in _SAID:
            return row
        # History that a newcomer is told is no news.
        if row.earlier and not missed:
            return row
        if not self.watched:
            self.unread += 1
            self.mentioned += row.mention
        # Whoever looks sees one come after another; but what was missed comes at once, and has to be looked for.
        if not self.watched or missed:
            self.marker = self.marker or row.key
        return row

    def _put(self, row: ChatRow) -> None:
        self._count(row)
        row.key, self._next_key = self._next_key, self._next_key + 1
        self.rows.append(row)
        self._news.append(row)

    def _count(self, row: ChatRow) -> None:
        """Count what a whole text takes of the memory."""
        if row.whole:
            self._long.append(row)
            self._long_chars += len(row.whole)

    def _mark(self, row: ChatRow, delivery: MessageState) -> None:
        row.delivery = delivery
        self._changed.add(row.key)

    def _rewrite(self, row: ChatRow) -> None:
        self._changed.add(row.key)
        self._rewritten.append(row)

    def _remember(self, name: str, identity: str) -> None:
        if identity:
            self._seen_ids[name, identity] = None
            # As many as there are rows: a backlog repeats what is shown, and nothing older.
            if len(self._seen_ids) > ROWS_MAX:
                del self._seen_ids[next(iter(self._seen_ids))]


def _one_line(topic: str) -> str:
    return shown(topic).replace("\n", " ")[:500]
