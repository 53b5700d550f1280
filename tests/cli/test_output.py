"""Standard output: large writes, and what happens when nobody reads."""

from __future__ import annotations

import fcntl
import os
import resource

import pytest

from gcom.cli.output import BUFFER_BYTES, Output, OutputClosed


def test_lines_are_written_at_once_by_flush() -> None:
    source, sink = os.pipe()
    output = Output(sink)
    output.text("å")
    output.row({"type": "x", "text": "ä"})
    output.flush()
    output.flush()
    os.close(sink)
    with open(source, "rb") as stream:
        assert stream.read().decode() == 'å\n{"type":"x","text":"ä"}\n'


def test_a_full_buffer_is_written_by_itself() -> None:
    source, sink = os.pipe()
    output = Output(sink)
    os.set_blocking(source, False)
    output.line(b"x" * (BUFFER_BYTES - 1))
    with pytest.raises(BlockingIOError):
        os.read(source, 1)
    output.line(b"")
    output.discard()
    os.close(source)
    os.close(sink)


def test_a_reader_that_is_gone_closes_the_output() -> None:
    source, sink = os.pipe()
    os.close(source)
    output = Output(sink)
    output.line(b"lost")
    with pytest.raises(OutputClosed):
        output.flush()
    output.flush()  # there is nothing left to write
    os.close(sink)


def test_a_process_with_many_open_files_can_write() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    source, sink = os.pipe()
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096) if hard >= 0 else 4096, hard))
    try:
        far = fcntl.fcntl(sink, fcntl.F_DUPFD, 2000)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    output = Output(far)
    output.text("far")
    output.flush()
    os.close(far)
    os.close(sink)
    with open(source, "rb") as stream:
        assert stream.read() == b"far\n"


def test_a_full_disk_is_an_error() -> None:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    output = Output(descriptor)
    output.line(b"much")
    with pytest.raises(OSError, match="No space left"):
        output.flush()
    os.close(descriptor)
