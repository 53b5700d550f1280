"""Each way in which an own line can end: held by all, or not sent, or nobody can say; from events alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from gcom_chat.client.own_lines import WAITING_MAX, Line, OwnLines
from gcom_chat.model.conversation import Conversation
from gcom_chat.model.rows import MessageState
from gcom_chat.model.updates import LinesMoved
from gcom_chat.model.wire import ChatMessage, MessageKind, encode

import gcom

S = MessageState
FIRST, LATER = ("alice#1", "i"), ("alice#2", "i")
SUCCESSOR = ("alice#1", "j")


@dataclass
class FakeGroup:
    """A group's answers about numbers: `held` are held by all, `left` have gone into the group."""

    multicast: gcom.Multicast = gcom.Multicast.RELIABLE
    life: tuple[str, str] = FIRST
    left: int = 0
    held: int = 0
    private_held: bool = False
    name: str = "news"

    @property
    def process(self) -> str:
        return self.life[0]

    @property
    def instance(self) -> str:
        return self.life[1]

    @property
    def definition(self) -> gcom.Definition:
        return gcom.Definition("news", multicast=self.multicast)

    def receipt(self, number: int) -> gcom.Receipt:
        state: Any = "held" if number <= self.held else "sent" if number <= self.left else "waiting"
        return gcom.Receipt(number, state, None, (), (), *self.life)

    def flush(self, _: float) -> None:
        if not self.private_held:
            raise gcom.GComTimeout("not yet")


@dataclass
class Story:
    """Own lines a, b, c … of one membership, and what the window was told of each."""

    group: FakeGroup = field(default_factory=FakeGroup)
    told: dict[str, list[MessageState]] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lines = OwnLines(self.group, self._tell)  # type: ignore[arg-type]

    def _tell(self, moved: LinesMoved) -> None:
        for identity in moved.ids:
            self.told.setdefault(identity, []).append(moved.state)
            self.why[identity] = moved.why

    def type(self, names: str, to: str = "") -> None:
        for name in names:
            assert self.lines.add(message(name), to)

    def take(self, count: int, first: int = 1, left: int = 0) -> None:
        """Have `send` take the next lines; up to `left` they went into the group."""
        self.group.left = left
        for number in range(first, first + count):
            with self.lines.attempt():
                self.lines.sent(self.next(), number, self.group.life, left >= number)

    def next(self) -> Line:
        line = self.lines.first(0)
        assert line is not None
        return line

    def happen(self, *events: gcom.Event) -> None:
        self.lines.on_events(events)

    def deliver(self, names: str, first: int = 1) -> None:
        self.happen(
            *(gcom.Message(self.group.process, n, 1, encode(message(name))) for n, name in enumerate(names, first))
        )

    def look(self, held: int) -> None:
        self.group.held = held
        self.lines.look()

    @property
    def ends(self) -> dict[str, MessageState]:
        return {identity: states[-1] for identity, states in self.told.items()}


def message(name: str) -> ChatMessage:
    return ChatMessage(MessageKind.TEXT, f"text {name}", name)


def gone(
    reason: str, unconfirmed: tuple[int, int] | None, unsent: int, returning: bool, private: int = 0
) -> gcom.Event:
    return gcom.Departure(reason, unconfirmed, unsent, returning, private, *FIRST)


def held_by_all(story: Story) -> None:
    story.type("ab")
    story.take(2, left=2)
    story.deliver("ab")
    story.look(held=1)
    story.look(held=2)


def delivered_over_basic(story: Story) -> None:
    story.group.multicast = gcom.Multicast.BASIC
    story.__post_init__()
    story.type("a")
    story.take(1, left=1)
    story.deliver("a")


def refused(story: Story) -> None:
    story.type("a")
    story.lines.refuse(story.next(), "too large")


def in_doubt_and_arrived(story: Story) -> None:
    story.type("ab")
    story.take(2, left=2)
    story.deliver("ab")
    story.happen(gcom.QuorumLost((1, 2)), gcom.QuorumRegained((1, 2)), gcom.Settled(1, 2, True, *FIRST))


def in_doubt_arrived_and_delivered_later(story: Story) -> None:
    story.type("a")
    story.take(1, left=1)
    story.happen(gcom.QuorumLost((1, 1)), gcom.QuorumRegained((1, 1)), gcom.Settled(1, 1, True, *FIRST))
    story.deliver("a")
    story.look(held=1)


def out_and_back(story: Story, *settled: gcom.Event, unconfirmed: tuple[int, int] | None = None, unsent: int) -> None:
    story.happen(gcom.QuorumLost((1, 1)), *settled, gone("expelled", unconfirmed, unsent, returning=True))
    story.group.life, story.group.held = LATER, 0
    story.happen(gcom.Returned(*LATER))


def cut_off_for_long(story: Story) -> None:
    """Of three that `send` took one left and is settled as lost; all go again, before what was typed later."""
    story.type("abcd")
    story.take(3, left=1)
    out_and_back(story, gcom.Settled(1, 1, False, *FIRST), unsent=2)
    story.take(4, left=4)
    story.deliver("abcd")
    story.look(held=4)


def put_out(story: Story) -> None:
    """One left, and is in doubt; the other got no number, and goes again."""
    story.type("ab")
    story.take(2, left=1)
    out_and_back(story, unconfirmed=(1, 1), unsent=1)
    assert story.ends == {"a": S.DOUBT, "b": S.WAITING}


def put_out_and_a_state_has_it(story: Story) -> None:
    put_out(story)
    story.lines.on_state({("alice", "a"), ("bob", "z")}, True)
    story.happen(gone("request", None, 0, returning=False))


def put_out_and_a_state_has_it_not(story: Story) -> None:
    put_out(story)
    story.lines.on_state({("bob", "a"), ("bob", "z")}, True)
    story.take(2, left=2)
    story.deliver("ab")
    story.look(held=2)


def put_out_and_a_state_begins_later(story: Story) -> None:
    put_out(story)
    story.lines.on_state({("bob", "z")}, False)
    story.happen(gone("request", None, 0, returning=False))


def put_out_and_nobody_can_say(story: Story) -> None:
    put_out(story)
    story.take(1, left=1)
    story.deliver("b")
    story.look(held=1)


def put_out_for_good(story: Story) -> None:
    story.type("abcd")
    story.take(3, left=2)
    story.deliver("a")
    story.happen(gone("dissolved", (2, 2), 1, returning=False))


def left_in_order(story: Story) -> None:
    story.type("ab")
    story.take(1, left=1)
    story.deliver("a")
    story.happen(gone("request", None, 0, returning=False))


def the_way_back_ends(story: Story) -> None:
    story.type("ab")
    story.take(1, left=0)
    story.happen(gone("expelled", None, 1, returning=True), gone("taken", None, 0, returning=False))


def went_on_in_a_successor(story: Story) -> None:
    """Lines without a number go on with the process, under numbers of the new instance."""
    story.type("abc")
    story.take(3, left=1)
    story.deliver("a")
    story.happen(gcom.Settled(1, 1, True, *FIRST), gone("succession", None, 0, returning=True))
    story.group.life = SUCCESSOR
    story.happen(gcom.Returned(*SUCCESSOR))
    story.group.left = 2
    story.look(held=0)
    story.deliver("bc")
    story.look(held=2)


def private_and_read(story: Story) -> None:
    story.type("a", to="bob")
    with story.lines.attempt():
        story.lines.whispered(story.next())
    story.look(held=0)
    assert story.ends == {"a": S.SENT}
    story.group.private_held = True
    story.look(held=0)


def private_and_its_member_went(story: Story) -> None:
    story.type("ab", to="bob")
    for _ in "ab":
        with story.lines.attempt():
            story.lines.whispered(story.next())
    story.happen(gcom.Undelivered("bob#1", (encode(message("b")),)))
    story.happen(gone("request", None, 0, returning=False, private=0))


def told_while_send_returns(story: Story) -> None:
    """The Departure is read while `send` has a number for c that is not written down yet."""
    story.type("abc")
    story.take(2, left=2)
    story.deliver("ab")
    with story.lines.attempt():
        story.happen(gone("expelled", None, 1, returning=False))
        story.lines.sent(story.next(), 3, FIRST, False)


ENDS: dict[Callable[[Story], None], dict[str, MessageState]] = {
    held_by_all: {"a": S.HELD, "b": S.HELD},
    delivered_over_basic: {"a": S.ORDERED},
    refused: {"a": S.LOST},
    in_doubt_and_arrived: {"a": S.HELD, "b": S.HELD},
    in_doubt_arrived_and_delivered_later: {"a": S.HELD},
    cut_off_for_long: dict.fromkeys("abcd", S.HELD),
    put_out_and_a_state_has_it: {"a": S.HELD, "b": S.LOST},
    put_out_and_a_state_has_it_not: {"a": S.HELD, "b": S.HELD},
    put_out_and_a_state_begins_later: {"a": S.UNCONFIRMED, "b": S.LOST},
    put_out_and_nobody_can_say: {"a": S.UNCONFIRMED, "b": S.HELD},
    put_out_for_good: {"a": S.HELD, "b": S.UNCONFIRMED, "c": S.LOST, "d": S.LOST},
    left_in_order: {"a": S.HELD, "b": S.LOST},
    the_way_back_ends: {"a": S.LOST, "b": S.LOST},
    went_on_in_a_successor: {"a": S.HELD, "b": S.HELD, "c": S.HELD},
    private_and_read: {"a": S.HELD},
    private_and_its_member_went: {"a": S.HELD, "b": S.UNCONFIRMED},
    told_while_send_returns: {"a": S.HELD, "b": S.HELD, "c": S.LOST},
}


@pytest.mark.parametrize("way", ENDS, ids=lambda way: way.__name__)
def test_each_way_that_a_line_can_end(way: Callable[[Story], None]) -> None:
    story = Story()
    way(story)
    assert story.ends == ENDS[way]
    assert story.lines.first(0) is None
    bad = {identity for identity, state in story.ends.items() if state in (S.LOST, S.UNCONFIRMED)}
    assert {identity for identity, why in story.why.items() if why} >= bad
    story.lines.close("it is over")
    assert story.ends == ENDS[way], "nothing is told of a line that has ended"


def test_what_send_took_shows_as_waiting_until_it_leaves() -> None:
    story = Story()
    story.type("ab")
    story.take(2, left=0)
    story.lines.look()
    assert story.told == {}
    story.group.left = 1
    story.lines.look()
    assert story.ends == {"a": S.SENT}


def test_there_is_room_for_so_many_lines_and_none_after_the_end() -> None:
    story = Story()
    for number in range(WAITING_MAX):
        assert story.lines.add(message(str(number)))
    assert not story.lines.add(message("more"))
    story.lines.close("it is over")
    assert set(story.ends.values()) == {S.LOST}
    assert not story.lines.add(message("late"))
    assert story.lines.closed


# in the conversation


def said(talk: Conversation) -> list[tuple[str, str]]:
    rows = [*(row for row in talk.rows if row.name), *talk.own.rows]
    return [(row.text, row.delivery.name) for row in rows]


def test_a_line_that_is_sent_again_keeps_its_place_and_stands_once() -> None:
    talk = Conversation("news")
    talk.sending(message("a"), "alice", 1)
    talk.on_message("alice#1", 1, 1, message("a"), 2, True, frozenset())
    talk.on_moved("a", S.WAITING, 0, "", 3)
    assert said(talk) == [("text a", "WAITING")]
    talk.on_message("alice#2", 1, 3, message("a"), 4, True, frozenset())
    talk.on_moved("a", S.HELD, 0, "", 5)
    assert said(talk) == [("text a", "HELD")]
    (row,) = talk.rewritten()
    assert (row.process, row.number, row.view) == ("alice#2", 1, 3)
    assert talk.own.lines == {}


def test_others_show_a_line_once_that_was_sent_again() -> None:
    talk = Conversation("news")
    for number, process in enumerate(("alice#1", "alice#2", "bob#1"), 1):
        talk.on_message(process, number, 1, message("a"), number, False, frozenset())
    assert [row.name for row in talk.rows if row.name] == ["alice", "bob"]


def test_the_state_of_a_member_tells_that_a_line_arrived() -> None:
    talk = Conversation("news")
    talk.sending(message("a"), "alice", 1)
    talk.on_moved("a", S.UNCONFIRMED, 1, "the chat ended", 2)
    assert said(talk) == [("text a", "UNCONFIRMED")]
    talk.on_backlog("", [("bob", message("z")), ("alice", message("a")), ("bob", message("b"))], 3)
    assert said(talk) == [("text z", "NONE"), ("text a", "HELD"), ("text b", "NONE")]
    assert talk.own.changes() == {"a": None}


def test_a_line_of_another_with_the_same_id_says_nothing_of_mine() -> None:
    talk = Conversation("news")
    talk.sending(message("a"), "alice", 1)
    talk.on_backlog("", [("mallory", message("a"))], 3)
    talk.on_message("mallory#1", 1, 1, message("a"), 4, False, frozenset())
    assert list(talk.own.lines) == ["a"]
    assert said(talk)[-1] == ("text a", "WAITING")


def test_a_discarded_line_is_gone_and_where_it_had_a_place_says_so() -> None:
    talk = Conversation("news")
    for name in "ab":
        talk.sending(message(name), "alice", 1)
    talk.on_message("alice#1", 1, 1, message("a"), 2, True, frozenset())
    for name in "ab":
        talk.on_moved(name, S.UNCONFIRMED, 0, "why", 3)
        talk.discard(name)
    assert said(talk) == [("discarded, since it may not have arrived: text a", "NONE")]
    assert talk.own.lines == {}


def test_after_a_restart_each_line_says_what_can_be_said_of_it() -> None:
    before = Conversation("news")
    for name in "abc":
        before.sending(message(name), "alice", 1)
    before.on_moved("b", S.SENT, 1, "", 2)
    before.on_message("alice#1", 2, 1, message("c"), 3, True, frozenset())
    after = Conversation("news")
    after.restore([row for row in before.rows if row.name], before.own.lines.values())
    assert said(after) == [("text c", "UNCONFIRMED"), ("text a", "LOST"), ("text b", "UNCONFIRMED")]
    assert all(line.why for line in after.own.lines.values())
