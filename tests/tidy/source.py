"""The project's own text, parsed: what the tidy tests read instead of importing it."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("gcom", "registry/gcom_registry", "chat_gui/gcom_chat")
NAMES = tuple(Path(package).name for package in PACKAGES)
FOLDERS = (*PACKAGES, "tests", ".ci")


@dataclass(frozen=True)
class Import:
    """One imported module; `inside` when the statement stands in a function. A `from a import b` counts as `a.b`."""

    module: str
    line: int
    inside: bool


@dataclass(frozen=True)
class Source:
    """One Python file, by its path from the project's root."""

    path: Path
    text: str = field(repr=False)

    @property
    def module(self) -> str:
        """The dotted name; a package's is that of its folder."""
        parts = self.path.with_suffix("").parts
        parts = parts[1:] if "/".join(parts[:2]) in PACKAGES else parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def lines(self) -> list[str]:
        """The lines of the file."""
        return self.text.splitlines()

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree; a file that does not parse raises, and fails the test that looks."""
        gc.disable()  # it would walk through the trees of all files again and again: four fifths of the time
        try:
            return ast.parse(self.text, filename=str(self.path))
        finally:
            gc.enable()

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree."""
        return list(ast.walk(self.tree))

    def at(self, node: ast.AST) -> str:
        """Where a node stands, as editors know it."""
        return f"{self.path}:{getattr(node, 'lineno', 0)}"

    @cached_property
    def imports(self) -> list[Import]:
        """Every import, those in functions and under `if TYPE_CHECKING` too."""
        bodies = [range(function.lineno, (function.end_lineno or 0) + 1) for function in self.functions()]
        statements = [node for node in self.nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        return [found for node in statements for found in _imports(node, any(node.lineno in body for body in bodies))]

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Every function and method, nested ones too."""
        for node in self.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node


def _imports(node: ast.Import | ast.ImportFrom, inside: bool) -> list[Import]:
    match node:
        case ast.Import(names=names):
            return [Import(name.name, node.lineno, inside) for name in names]
        case ast.ImportFrom(module=module, names=names, level=level):
            origin = "." * level + (module or "")
            return [Import(f"{origin}.{name.name}", node.lineno, inside) for name in names]


def sources(*folders: str) -> list[Source]:
    """Return every Python file under the folders, in order of path."""
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return [_source(path) for path in paths]


@cache
def _source(path: Path) -> Source:
    return Source(path.relative_to(ROOT), path.read_text("utf-8"))
