"""The layout is the architecture: small folders that say what they are, and imports that go one way."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests import layout
from tests.tidy.source import PACKAGES, Source, sources

FILES_MAX = 15  # per folder, without its `__init__.py`: what a reader takes in at a glance
MODULES = sources(*PACKAGES)
NAMES = {source.module for source in MODULES}
# Aliases that repeat a name of another module; take one out when it is renamed, and add none.
SHARED = {"Event", "Found", "Key", "Link", "Notice", "OfState", "Out", "Record", "Span", "Told"}
DOCSTRINGS = {
    source.module: ast.get_docstring(source.tree) or "" for source in MODULES if source.path.name == "__init__.py"
}
# What is built on. Programs (commands, benches, the demo, the chat) use their own files, and nobody else does.
LIBRARY = (
    "gcom.audit.",
    "gcom.certificates",
    "gcom.core",
    "gcom.runtime",
    "gcom.sim",
    "gcom.topics",
    "gcom.trace",
    "gcom.values",
)
LEVELS = (1, 2, 3)  # gcom.core | gcom.core.membership | gcom.core.membership.consensus


def _imports(source: Source) -> Iterator[str]:
    """The modules of ours that a file imports, also for types alone; an import within a function is a way round."""
    for found in source.imports:
        target = found.module if found.module in NAMES else found.module.rpartition(".")[0]
        if target in NAMES and not found.inside:
            yield target


def _graph(level: int) -> dict[str, set[str]]:
    """The graph of imports between what lies so deep: a folder is one node, with all that is in it."""
    graph: dict[str, set[str]] = defaultdict(set)
    for source in MODULES:
        for target in _imports(source):
            here, there = (".".join(name.split(".")[: level + 1]) for name in (source.module, target))
            if here != there and not here.startswith(f"{there}.") and not there.startswith(f"{here}."):
                graph[here].add(there)
    return graph


@pytest.mark.parametrize("level", LEVELS)
def test_imports_go_round_in_no_circle(level: int) -> None:
    try:
        TopologicalSorter(_graph(level)).prepare()
    except CycleError as error:
        pytest.fail(f"imports in a circle: {' -> '.join(error.args[1])}")


def test_a_folder_is_taken_in_at_a_glance() -> None:
    files: dict[Path, int] = defaultdict(int)
    for source in MODULES:
        files[source.path.parent] += source.path.name != "__init__.py"
    crowded = [f"{folder}: {count}" for folder, count in files.items() if count > FILES_MAX]
    assert not crowded, f"more than {FILES_MAX} files in a folder: {', '.join(crowded)}"


def _types(source: Source) -> Iterator[tuple[str, str]]:
    """The types that a file defines, classes and public aliases, each with its place.

    An `Annotated` alias is an option of a command: it is named by the option, and two commands may have the same.
    """
    for node in source.nodes:
        if isinstance(node, ast.ClassDef):
            yield node.name, source.at(node)
    for node in source.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if re.fullmatch(r"[A-Z]+[a-z]\w*", name):
                if not ast.unparse(value).startswith(("Annotated[", "options.")):
                    yield name, source.at(node)


def test_a_type_name_means_one_thing() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for source in MODULES:
        for name, place in _types(source):
            places[name].append(place)
    twice = [f"{name}: {', '.join(where)}" for name, where in places.items() if len(where) > 1 and name not in SHARED]
    assert not twice, "\n".join(twice)


@pytest.mark.parametrize("package", layout.packages(), ids=str)
def test_a_package_says_what_it_is(package: Path) -> None:
    assert layout.summary(package), f"{package}/__init__.py has no docstring"


def _used_by_others(package: str) -> set[str]:
    """The modules of a package that files outside of it import, by their last name."""
    inside = (package, f"{package}.")
    users = [source for source in MODULES if source.module != package and not source.module.startswith(inside[1])]
    found = {target for source in users for target in _imports(source) if target.rpartition(".")[0] == package}
    return {name.rpartition(".")[2] for name in found if name not in DOCSTRINGS}


@pytest.mark.parametrize("package", sorted(name for name in DOCSTRINGS if name.startswith(LIBRARY)))
def test_a_package_names_what_others_use_of_it(package: str) -> None:
    words = set(re.findall(r"\w+", DOCSTRINGS[package].lower()))
    unnamed = _used_by_others(package) - words
    assert not unnamed, (
        f"{package} has {', '.join(sorted(unnamed))}, which others import: say in its docstring what it is"
    )


@pytest.mark.parametrize("package", sorted(DOCSTRINGS))
def test_a_package_names_no_part_that_is_gone(package: str) -> None:
    parts = re.findall(r"^(?:    |- `)([a-z_]+)(?:/|`|  )", DOCSTRINGS[package], re.MULTILINE)
    gone = [part for part in parts if f"{package}.{part}" not in NAMES]
    assert not gone, f"the docstring of {package} has a line about {', '.join(gone)}: say where that is now"


def test_the_architecture_shows_the_tree() -> None:
    text = layout.PAGE.read_text("utf-8")
    assert layout.section(text) == layout.render(), "make notes brings it up to date"
