"""Search, copies, alerts and view lines, without a display."""

from __future__ import annotations

import json

from gcom_chat.model.alerts import Alerts
from gcom_chat.model.chat import Chat
from gcom_chat.model.conversation import Conversation
from gcom_chat.model.group_state import GroupState
from gcom_chat.model.members import Pulse
from gcom_chat.model.query import Query
from gcom_chat.model.rows import ChatRow, MessageTimes, RowKind
from gcom_chat.model.search import Search, SearchHit
from gcom_chat.model.text import SIGN, clean, shown
from gcom_chat.model.texts.copies import as_json, as_text, with_header
from gcom_chat.model.updates import Arrived, Connected, HistoryCame, Joined
from gcom_chat.model.wire import ChatMessage, MessageKind, decode
from gcom_chat.view.rows.row_words import tooltip
from gcom_chat.view.writing.command_runner import who_text

import gcom

ROW = ChatRow(3, RowKind.MESSAGE, 1_700_000_000_000, "bob", "Ärger, \u2603", "bob#1", 9, 2, "abc", 1_699_999_999_000)


def talk_of(group: str, *texts: str) -> Conversation:
    talk = Conversation(group)
    for number, text in enumerate(texts, 1):
        talk.on_message("bob#1", number, 1, ChatMessage(MessageKind.TEXT, text), 1_000, False, frozenset())
    return talk


def test_search_walks_from_the_newest_and_its_ends_meet() -> None:
    search = Search()
    search.begin("tea", [talk_of("a", "Tea?", "coffee"), talk_of("b", "no", "TEATIME")])
    keys = [SearchHit("a", 2), SearchHit("b", 3)]  # the day is the first row
    assert search.hits == keys
    assert search.place == 0
    assert [search.step(-1), search.step(-1), search.step(-1)] == [keys[1], keys[0], keys[1]]
    assert search.place == 2
    assert search.step(1) == keys[0]


def test_search_for_nothing_finds_nothing() -> None:
    search = Search()
    search.begin("", [talk_of("a", "x")])
    assert search.step(1) is None


def timed(name: str, number: int, clock: dict[str, int]) -> ChatRow:
    row = ChatRow(number, RowKind.MESSAGE, 1_000, name, f"{name} says {number}", f"{name}#1", number, 2)
    row.times = MessageTimes(1.0, 2.0, None, None, 0, clock)
    return row


def test_filters_of_a_search() -> None:
    bob = timed("bob", 1, {"bob#1": 1})
    answer = timed("carol", 2, {"bob#1": 1, "carol#1": 2})
    beside = timed("dave", 3, {"dave#1": 3})
    plain = ChatRow(4, RowKind.MESSAGE, 1_000, "bob", "http://x from: nobody", "bob#1", 4, 3)
    rows = [bob, answer, beside, plain]
    for line, keys in {
        "": [],
        "SAYS": [1, 2, 3],
        "from:Bob": [1, 4],
        "from:bob says": [1],
        "case:match SAYS": [],
        "case:match bob": [1, 4],
        "view:3": [4],
        "number:2 from:carol": [2],
        "concurrent-with:bob#1": [3],
        "concurrent-with:nobody#1": [],
        "http://x": [4],
        "from: nobody": [4],
    }.items():
        assert Query.parse(line).find(rows) == keys, line


def test_three_forms_of_a_copy() -> None:
    assert as_text([ROW, ROW]) == "Ärger, \u2603\nÄrger, \u2603"
    assert with_header([ROW]).endswith("] bob: Ärger, \u2603")
    assert json.loads(as_json("news", [ROW])) == {
        "group": "news",
        "kind": "message",
        "sender": "bob#1",
        "number": 9,
        "view": 2,
        "id": "abc",
        "text": "Ärger, \u2603",
        "sent": "2023-11-14T22:13:19.000+00:00",
        "delivered": "2023-11-14T22:13:20.000+00:00",
    }


def test_a_flood_of_mentions_is_one_alert_and_then_one_for_the_rest() -> None:
    alerts = Alerts(every_ms=1_000)
    assert [alerts.due("a", now) for now in (0, 1, 2, 999)] == [1, 0, 0, 0]
    assert alerts.due("b", 3) == 1
    assert alerts.due("a", 1_000) == 4


def view(number: int, *names: str) -> gcom.View:
    return gcom.View(number, tuple(f"{name}#1" for name in names), ("",) * len(names))


def joined_chat() -> Chat:
    chat = Chat()
    chat.apply(Connected("127.0.0.1:1", "alice"), 0)
    chat.open("news")
    chat.apply(Joined("news", "alice#1", gcom.Definition("news"), view(1, "alice")), 0)
    return chat


def arrive(chat: Chat, *events: gcom.Event) -> list[str]:
    """Take events; return the texts of mentions."""
    return [notice.text for notice in chat.apply(Arrived("news", 1_000, events), 1_000)]


def view_rows(chat: Chat) -> list[str]:
    return [row.text for row in chat.groups["news"].conversation.rows if row.kind is RowKind.VIEW]


BOB = gcom.ViewChange(view(2, "alice", "bob"), ("bob#1",), {})
NO_BOB = gcom.ViewChange(view(3, "alice"), (), {"bob#1": "crash"})


def message(text: str, number: int = 1) -> gcom.Message:
    return gcom.Message("bob#1", number, 2, text)


def test_views_in_a_row_make_one_line() -> None:
    chat = joined_chat()
    arrive(chat, BOB)
    arrive(chat, NO_BOB)
    assert view_rows(chat) == ["views 2 to 3: +bob \N{MINUS SIGN}bob (crashed), leader alice"]


def test_views_make_a_line_each_where_that_is_chosen() -> None:
    chat = joined_chat()
    chat.collapse = False
    arrive(chat, BOB, NO_BOB)
    assert view_rows(chat) == ["view 2: +bob, leader alice", "view 3: \N{MINUS SIGN}bob (crashed), leader alice"]


def test_the_own_name_and_chosen_words_are_mentions() -> None:
    chat = joined_chat()
    chat.set_words(("Lunch",))
    assert arrive(chat, message("ALICE?"), message("time for lunch!", 2), message("alicea", 3)) == [
        "bob: ALICE?",
        "bob: time for lunch!",
    ]
    assert chat.groups["news"].conversation.mentioned == 2


def test_nothing_is_told_of_a_conversation_that_is_looked_at() -> None:
    chat = joined_chat()
    chat.groups["news"].conversation.watched = True
    assert arrive(chat, message("alice")) == []


def test_new_rows_follow_those_from_disk() -> None:
    chat = Chat()
    chat.open("news")
    chat.apply(HistoryCame("news", (ROW,), False), 0)
    row = chat.groups["news"].conversation.notice("next", 1_800_000_000_000)
    assert row.key == 5  # 4 is the day's


def test_what_the_backlog_tells_again_is_not_shown_twice() -> None:
    talk = talk_of("news", "without an id", "twice", "twice")
    said = [
        ("bob", ChatMessage(MessageKind.TEXT, text)) for text in ("without an id", "twice", "twice", "twice", "new")
    ]
    talk.on_backlog("", said, 2_000)
    assert [row.text for row in talk.rows if row.name] == ["without an id", "twice", "twice", "twice", "new"]


def test_what_is_older_than_the_rows_from_disk_is_not_told_as_new() -> None:
    """The state has 200 messages; of as many rows from disk some are notices."""
    talk = talk_of("news", "third", "fourth")
    said = [("bob", ChatMessage(MessageKind.TEXT, text)) for text in ("first", "second", "third", "fourth", "fifth")]
    talk.on_backlog("", said, 2_000)
    assert [row.text for row in talk.rows if row.name] == ["third", "fourth", "fifth"]


def test_what_is_older_is_not_told_again_with_ids_and_what_was_missed_between_is() -> None:
    talk = Conversation("news")
    said = [("bob", ChatMessage(MessageKind.TEXT, text, text)) for text in ("a", "b", "c", "d", "e")]
    for name, message in (said[1], said[3]):
        talk.on_message(f"{name}#1", 1, 1, message, 1_000, False, frozenset())
    talk.on_backlog("", said, 2_000)
    assert [row.text for row in talk.rows if row.name] == ["b", "d", "c", "e"]


def test_many_lines_are_shown_in_part() -> None:
    assert shown("\n" * 5_000) == "\n" * 99 + "… (4,901 more characters)"
    assert shown("\r\n".join("ab")) == "a\nb"
    assert shown("\n" * 99) == "\n" * 99


def test_a_time_that_no_calendar_has_is_none() -> None:
    """A backlog is shown with the times in it, which a peer writes."""
    for at_ms, known in ((253_402_128_000_000, True), (253_402_128_000_001, False), (1 << 53, False), (10**30, False)):
        message = decode(json.dumps({"gcom-chat": 1, "kind": "text", "text": "hi", "id": "a", "at": at_ms}))
        conversation = Conversation("news")
        conversation.on_backlog("", [("bob", message)], 1)
        assert [row.text for row in conversation.rows if row.kind is RowKind.MESSAGE] == ["hi"]
        assert message.at_ms == (at_ms if known else 0)
        assert tooltip(conversation.rows[-1])


def test_a_flag_of_many_signs_is_kept_and_tags_of_none_are_shown() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    wales = "\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f"
    assert clean(f"{family} {wales}!") == f"{family} {wales}!"
    # A text that nobody sees: tags without their flag, or without an end.
    for hidden in ("a\U000e0067\U000e007f", f"{wales[0]}\U000e0067\U000e0062", "\U000e007f"):
        assert clean(hidden) == "".join(sign if sign in "a\U0001f3f4" else SIGN for sign in hidden)


def test_who_tells_when_each_member_was_last_heard() -> None:
    state = GroupState("news", Conversation("news"))
    state.process = "alice#1"
    state.members.on_view(view(1, "alice", "bob"), {}, 1_000)
    pulse = Pulse(10.0, {"bob#1": 1.5}, {})
    assert who_text(state, pulse, 12.0).splitlines() == ["alice: here, leader", "bob: here, heard 3 s ago"]
    assert "heard" not in who_text(state, None, 12.0)
