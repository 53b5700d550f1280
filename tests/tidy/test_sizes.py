"""A file is one concept and a function one thought; past these lengths it is two."""

from __future__ import annotations

import pytest

from tests.tidy.source import FOLDERS, Source, sources

FUNCTION_LINES_MAX = 60
FILES = sources(*FOLDERS)


def file_lines_max(source: Source) -> int:
    if source.path.parts[0] == "tests":
        return 700
    return 400 if source.path.parts[:2] == ("gcom", "core") else 500


@pytest.mark.parametrize("source", FILES, ids=lambda source: str(source.path))
def test_files(source: Source) -> None:
    lines = len(source.lines)
    assert lines <= file_lines_max(source), f"{source.path}: more is two concepts"


@pytest.mark.parametrize("source", FILES, ids=lambda source: str(source.path))
def test_functions(source: Source) -> None:
    lengths = {function: (function.end_lineno or 0) - function.lineno + 1 for function in source.functions()}
    long = [f"{source.at(f)} {f.name} has {n} lines" for f, n in lengths.items() if n > FUNCTION_LINES_MAX]
    assert not long, "\n".join(long)
