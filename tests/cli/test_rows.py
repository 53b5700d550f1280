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
from gcom.cli.rows import JsonRows, PlainRows, Rows

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def told(rows: Callable[[Output, str], Rows], *payloads: bytes | str, terminal: bool = False) -> bytes:
    """What is printed for messages of those payloads."""
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
