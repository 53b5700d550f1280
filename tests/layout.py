"""The tree of the project, one line per folder, as docs/ARCHITECTURE.md shows it; `make notes` writes it.

The line of a folder is the first sentence of its package's docstring, so the tree cannot say anything else than the
code.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("gcom", "registry/gcom_registry", "chat_gui/gcom_chat")
PAGE = ROOT / "docs" / "ARCHITECTURE.md"
OTHERS = {
    "tests": "Tests, in folders as the code's; TESTING.md says what each kind is for.",
    "docs": "This project in words: ARCHITECTURE.md, GLOSSARY.md, LIMITS.md, protocols/ and decisions/.",
}
BEGIN, END = "<!-- tree -->", "<!-- end of tree -->"
WIDTH = 34


def packages() -> list[Path]:
    """Return every package's folder, from the project's root, parents before what is in them."""
    found = (path.parent for name in PACKAGES for path in (ROOT / name).rglob("__init__.py"))
    return sorted(path.relative_to(ROOT) for path in found)


def summary(package: Path) -> str:
    """Return the first sentence of a package's docstring."""
    text = ast.get_docstring(ast.parse((ROOT / package / "__init__.py").read_text("utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


def render() -> str:
    """Return the section of the page, its markers included."""
    rows = [(f"{'  ' * (len(path.parts) - 1)}{path.name}/", summary(path)) for path in packages()]
    rows += [(f"{name}/", words) for name, words in OTHERS.items()]
    return "\n".join([BEGIN, "```", *(f"{place:<{WIDTH - 12}}{words}" for place, words in rows), "```", END])


def section(text: str) -> str:
    """Return the part of a text between the markers, markers included; empty if there is none."""
    _, begin, rest = text.partition(BEGIN)
    inside, end, _ = rest.partition(END)
    return begin + inside + end if end else ""


def write() -> None:
    """Bring the page up to date."""
    text = PAGE.read_text("utf-8")
    old = section(text)
    assert old, f"{PAGE.name} has no place for the tree: {BEGIN} ... {END}"
    PAGE.write_text(text.replace(old, render()), "utf-8")
