"""How deliveries are told: exact in JSON, one line each in plain form, harmless on a terminal."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Callable

import hypothesis.strategies as st
import pytest
from hypothesis import given

import gcom
from gcom.cli.output import Output
from gcom.cli.rows import JsonRows, PlainRows, RowFormat

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def told(rows: Callable[[Output, str], RowFormat], *payloads: bytes | str, terminal: bool = False) -> bytes:
    """Return the lines printed for messages of those payloads."""
    with tempfile.TemporaryFile() as file:
        output = Output(file.fileno())
        output.terminal = terminal
        form = rows(output, "news")
        for number, payload in enumerate(payloads, 1):
            form.message(gcom.Message("alice#7f3a", number, 2, payload))
        output.flush()
        file.seek(0)
        return file.read()


@given(TEXT | st.binary())
def test_json_is_exact(payload: bytes | str) -> None:
    line = told(JsonRows, payload)
    assert line.count(b"\n") == 1
    row = json.loads(line)
    exact = base64.b64decode(row["base64"]) if "base64" in row else row["text"].encode()
    assert exact == (payload if isinstance(payload, bytes) else payload.encode())


def test_json_has_these_fields() -> None:
    assert json.loads(told(JsonRows, 'say "hi"')) == {
        "type": "delivery",
        "sender": "alice",
        "process": "alice#7f3a",
        "number": 1,
        "view": 2,
        "text": 'say "hi"',
    }
    row = json.loads(told(JsonRows, b"\xff"))
    assert (row["text"], row["base64"]) == ("\ufffd", "/w==")


@given(TEXT | st.binary())
def test_a_plain_delivery_is_one_line(payload: bytes | str) -> None:
    line = told(PlainRows, payload)
    assert line.count(b"\n") == 1
    assert line.startswith(b"alice: ")


@pytest.mark.parametrize("payload", ["a\r\x1b[2Jb\nc", b"a\r\x1b[2Jb\nc", b"\xff\x1b[2J"])
def test_escape_and_carriage_return_are_shown_in_a_file_as_well(payload: bytes | str) -> None:
    line = told(PlainRows, payload)
    assert line.count(b"\\x1b[2J") == 1
    assert b"\x1b" not in line
    assert b"\r" not in line


@given(TEXT | st.binary())
def test_a_terminal_gets_no_control_characters(payload: bytes | str) -> None:
    shown = told(PlainRows, payload, terminal=True).decode().removeprefix("\x1b[1malice:\x1b[0m ")
    assert not [char for char in shown[:-1] if (ord(char) < 32 and char != "\t") or 127 <= ord(char) < 160]


@pytest.mark.parametrize(("no_color", "bold"), [("", True), ("1", False)])
def test_colour_is_for_terminals_that_want_it(no_color: str, bold: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm")
    assert (b"\x1b" in told(PlainRows, "hi", terminal=True)) is bold
    assert b"\x1b" not in told(PlainRows, "hi")


def said(capfd: pytest.CaptureFixture[str], tell: Callable[[RowFormat], None]) -> tuple[str, dict[str, object]]:
    """The notice in plain form, and the row in JSON."""
    with tempfile.TemporaryFile() as file:
        output = Output(file.fileno())
        tell(PlainRows(output, "news"))
        tell(JsonRows(output, "news"))
        output.flush()
        file.seek(0)
        return capfd.readouterr().err, json.loads(file.read())


def test_a_lost_quorum_and_what_became_of_messages_are_told(capfd: pytest.CaptureFixture[str]) -> None:
    text, row = said(capfd, lambda rows: rows.quorum(gcom.QuorumLost((3, 5))))
    assert "detached: it hears too few members of group 'news' to go on, and waits for more" in text
    assert "messages 3 to 5 in doubt" in text
    assert row == {"type": "quorum", "group": "news", "has": False, "in_doubt": [3, 5]}
    text, row = said(capfd, lambda rows: rows.quorum(gcom.QuorumRegained(None)))
    assert "hears enough members of group 'news' again" in text
    assert "in doubt" not in text
    assert row == {"type": "quorum", "group": "news", "has": True, "in_doubt": None}
    text, row = said(capfd, lambda rows: rows.settled(gcom.Settled(3, 3, True, "ann#1", "i1")))
    assert "message 3 arrived" in text
    where = {"process": "ann#1", "instance": "i1"}
    assert row == {"type": "settled", "group": "news", "first": 3, "last": 3, "arrived": True, **where}
    text, _ = said(capfd, lambda rows: rows.settled(gcom.Settled(4, 5, arrived=False)))
    assert "messages 4 to 5 never arrived, and never will" in text


def test_a_departure_says_why_and_what_is_open(capfd: pytest.CaptureFixture[str]) -> None:
    text, row = said(capfd, lambda rows: rows.departure(gcom.Departure("succession", None, returning=True)))
    assert "goes on in an instance that succeeds it; it comes back by itself" in text
    assert (row["type"], row["reason"], row["returning"]) == ("detached", "succession", True)
    text, row = said(
        capfd, lambda rows: rows.departure(gcom.Departure("exit", (2, 4), unsent=1, process="ann#1", instance="i1"))
    )
    assert "left group 'news' without the others' answer; messages 2 to 4 may not have arrived; 1 message not" in text
    assert (row["type"], row["reason"], row["unconfirmed"], row["unsent"]) == ("left", "exit", [2, 4], 1)
    assert (row["process"], row["instance"]) == ("ann#1", "i1")
    text, row = said(capfd, lambda rows: rows.departure(gcom.Departure("request", (2, 4), unsent=2)))
    assert text.endswith("left group 'news'; messages 2 to 4 may not have arrived; 2 messages not sent\n")
    assert row["unsent"] == 2
    text, _ = said(capfd, lambda rows: rows.departure(gcom.Departure("dissolved", None)))
    assert "all others have left, or are dead, and the group is over; join again to go on" in text
