"""docs/GLOSSARY.md and the code use the same words: each term is defined in the module that is named."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.tidy.source import PACKAGES, ROOT, sources

ROW = re.compile(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
TEXT = (ROOT / "docs" / "GLOSSARY.md").read_text("utf-8")
TERMS = [(term, re.findall(r"`([^`]+)`", names)) for term, names in ROW.findall(TEXT) if term != "term"]


def _of(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    """The dotted names that a module, or a class, defines: classes, functions, fields, aliases and constants."""
    for node in body:
        match node:
            case ast.ClassDef(name=name, body=inside):
                yield f"{prefix}.{name}"
                yield from _of(inside, f"{prefix}.{name}")
            case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                yield f"{prefix}.{name}"
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield f"{prefix}.{name}"


@cache
def _names() -> set[str]:
    return {name for source in sources(*PACKAGES) for name in _of(source.tree.body, source.module)}


def test_it_is_read() -> None:
    assert len(TERMS) > 50
    assert all(names for _, names in TERMS)


@pytest.mark.parametrize(("term", "names"), TERMS, ids=[term for term, _ in TERMS])
def test_a_term_is_in_the_code(term: str, names: list[str]) -> None:
    missing = [name for name in names if name not in _names()]
    assert not missing, f"{term}: no module defines {', '.join(missing)}"


def test_no_term_is_explained_twice() -> None:
    terms = [term for term, _ in TERMS]
    assert len(terms) == len(set(terms))
