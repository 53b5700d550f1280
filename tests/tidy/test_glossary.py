"""docs/GLOSSARY.md and the code use the same words: each term's name in the code is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.tidy.source import PACKAGES, ROOT, Source, sources

ROW = re.compile(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
TEXT = (ROOT / "docs" / "GLOSSARY.md").read_text("utf-8")
TERMS = [(term, re.findall(r"`([^`]+)`", names)) for term, names in ROW.findall(TEXT) if term != "term"]


def _defined(source: Source) -> Iterator[str]:
    """The names that a file gives to something: modules, classes, functions, attributes, parameters, constants."""
    yield source.path.stem
    for node in source.nodes:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name


@cache
def _names() -> set[str]:
    return {name for source in sources(*PACKAGES) for name in _defined(source)}


def test_it_is_read() -> None:
    assert len(TERMS) > 50
    assert all(names for _, names in TERMS)


@pytest.mark.parametrize(("term", "names"), TERMS, ids=[term for term, _ in TERMS])
def test_a_term_is_in_the_code(term: str, names: list[str]) -> None:
    missing = [name for name in names if name not in _names()]
    assert not missing, f"{term}: nothing is called {', '.join(missing)}"


def test_no_term_is_explained_twice() -> None:
    terms = [term for term, _ in TERMS]
    assert len(terms) == len(set(terms))
