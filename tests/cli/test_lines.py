"""Standard input as messages, whatever it holds and however it is cut."""

from __future__ import annotations

import os
import threading
from itertools import pairwise

import hypothesis.strategies as st
import pytest
from hypothesis import given

from gcom.cli.lines import LineReader
from gcom.values import limits

Refused = list[tuple[int, int]]


def read(pieces: list[bytes]) -> tuple[list[bytes | str], Refused]:
    """Return a reader's lines from those pieces, written one after the other."""
    refused: Refused = []
    source, sink = os.pipe()

    def write() -> None:
        with open(sink, "wb", buffering=0) as stream:
            for piece in pieces:
                stream.write(piece)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        reader = LineReader(source, lambda number, size: refused.append((number, size)))
        return [line for batch in reader.batches() for line in batch], refused
    finally:
        writer.join(300)
        os.close(source)


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\nb", ["a", "", "b"]),
        ("å\n".encode(), ["å"]),
        (b"\xff\xfe\nok\n", [b"\xff\xfe", "ok"]),
        (b"a\r\n", ["a\r"]),
        (b"\x00\n", ["\x00"]),
    ],
)
def test_each_line_is_a_message(data: bytes, lines: list[bytes | str]) -> None:
    assert read([data]) == (lines, [])


@given(st.lists(st.binary(max_size=8), max_size=8), st.lists(st.integers(0, 64), max_size=4))
def test_how_input_is_cut_changes_nothing(lines: list[bytes], cuts: list[int]) -> None:
    data = b"\n".join(lines)
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[a:b] for a, b in pairwise(places)]
    expected = data.split(b"\n")
    if not expected[-1]:
        expected.pop()
    found, refused = read(pieces)
    assert [line.encode() if isinstance(line, str) else line for line in found] == expected
    assert refused == []


def test_a_line_over_the_limit_is_refused_by_number_and_the_rest_goes_on() -> None:
    most = limits.MESSAGE_BYTES_MAX
    pieces = [b"one\n", b"x" * (most + 1) + b"\n", b"y" * most + b"\n", b"z" * (5 * most), b"z\nlast\n"]
    lines, refused = read(pieces)
    assert lines == ["one", "y" * most, "last"]
    assert refused == [(2, most + 1), (4, 5 * most + 1)]


def test_an_endless_line_is_refused_at_the_end() -> None:
    lines, refused = read([b"ok\n", b"x" * (3 * limits.MESSAGE_BYTES_MAX)])
    assert lines == ["ok"]
    assert refused == [(2, 3 * limits.MESSAGE_BYTES_MAX)]
