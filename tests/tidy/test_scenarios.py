"""The 42 scenarios of docs/TESTING.md: a test for each says its number, and tests that the docs name exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.tidy.source import ROOT, sources

SCENARIOS = range(1, 43)
NUMBERED = re.compile(r"test_scenario_(\d\d)_\w+")
ROW = re.compile(r"^\| (\d+) \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
NAMED = re.compile(r"([\w/]+\.py)?(?:::(test_\w+)(…?))?")  # a file, a test in it; or one more test of the file before
NOTES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@cache
def written() -> dict[str, set[str]]:
    """The functions of each file of the tests."""
    return {
        str(source.path.relative_to("tests")): {function.name for function in source.functions()}
        for source in sources("tests")
    }


def rows() -> dict[int, str]:
    """By scenario: the tests that its row of the table names."""
    text = (ROOT / "docs" / "TESTING.md").read_text("utf-8").partition("## What a rival should survive")[2]
    return {int(number): names for number, names in ROW.findall(text.partition("\n## ")[0])}


def named(text: str) -> Iterator[tuple[str, set[str]]]:
    """Each test that a text names, and the functions of that name, or that begin so."""
    functions: set[str] = set()
    for match in NAMED.finditer(text):
        path, name, is_start = match.groups()
        if path and name:
            functions = {function for file, found in written().items() if file.endswith(path) for function in found}
        if name:
            fits = {function for function in functions if function.startswith(name)}
            yield match.group(), fits if is_start else fits & {name}


def test_each_scenario_has_a_test_that_says_its_number() -> None:
    found = {int(match[1]) for names in written().values() for name in names if (match := NUMBERED.fullmatch(name))}
    assert found == {*SCENARIOS}


def test_the_table_has_each_scenario_once_with_a_test_of_its_number() -> None:
    assert [*rows()] == [*SCENARIOS]
    numbers = {
        number: {int(match[1]) for _, fits in named(names) for name in fits if (match := NUMBERED.fullmatch(name))}
        for number, names in rows().items()
    }
    assert [number for number in SCENARIOS if number not in numbers[number]] == []


def test_files_that_the_table_names_exist() -> None:
    paths = {path for names in rows().values() for path in re.findall(r"[\w/]+\.py", names)}
    assert paths - written().keys() == set()


@pytest.mark.parametrize("note", NOTES, ids=lambda note: note.name)
def test_tests_that_a_note_names_exist(note: Path) -> None:
    assert [name for name, fits in named(note.read_text("utf-8")) if not fits] == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("tidy/test_scenarios.py::test_each_scenario_has_a_test_that_says_its_number", 1),
        ("tidy/test_scenarios.py::test_each_…, ::test_the_table_…", 2),
        ("tidy/test_scenarios.py::test_each_", 0),
        ("tidy/test_sizes.py::test_each_…", 0),
        ("::test_each_…", 0),
        ("no/test_scenarios.py::test_each_…", 0),
    ],
)
def test_the_check_itself(text: str, count: int) -> None:
    found = [*named(text)]
    assert sum(bool(fits) for _, fits in found) == count
    assert found
