"""A file is one concept and a function one thought; past these lengths it is two."""

from __future__ import annotations

from tests.tidy.source import FOLDERS, Source, sources

FUNCTION_LINES_MAX = 60
FILES = sources(*FOLDERS)


def file_lines_max(source: Source) -> int:
    if source.path.parts[0] == "tests":
        return 700
    return 490 if source.path.parts[:2] == ("gcom", "core") else 500  # the longest are routes between many parts


def test_files() -> None:
    long = [f"{source.path}: {len(source.lines)}" for source in FILES if len(source.lines) > file_lines_max(source)]
    assert not long, "two concepts each: " + ", ".join(long)


def test_functions() -> None:
    lengths = {(source, f): (f.end_lineno or 0) - f.lineno + 1 for source in FILES for f in source.functions()}
    long = [f"{source.at(f)} {f.name} has {n} lines" for (source, f), n in lengths.items() if n > FUNCTION_LINES_MAX]
    assert not long, "\n".join(long)
