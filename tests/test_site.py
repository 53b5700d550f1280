"""The documentation as a site: it builds without a warning, its links work, and it lists all that there is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from gcom_registry.cli import app as registry_app

import gcom
import gcom.replicated.errors
import gcom.sessions.errors
import gcom.topics.errors
from gcom import aio, audit, errors, topics
from gcom.cli.app import app
from tests import diagrams, links
from tests.tidy.source import ROOT

DOCS = ROOT / "docs"
ABOVE = (gcom.replicated, gcom.sessions, topics, aio, audit)
ERRORS = (errors, gcom.replicated.errors, gcom.sessions.errors, topics.errors)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_no_link_is_broken(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "--quiet", "-W", "--keep-going", "-b", "html", str(DOCS), str(tmp_path)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert (built.returncode, built.stderr) == (0, "")
    assert links.broken(tmp_path) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a id="here" href="b.html#there"><a href="#here"><img src="no.png">')
    (tmp_path / "b.html").write_text('<a href="a.html#here"><a href="https://example.org/no">')
    assert links.broken(tmp_path) == ["a.html: b.html#there: no such anchor", "a.html: no.png: no such file"]


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md"])
def test_links_of_pages_beside_the_site_lead_somewhere(page: str) -> None:
    found = [link for link in LINK.findall((ROOT / page).read_text("utf-8")) if "://" not in link]
    assert [link for link in found if not (ROOT / link).exists()] == []


@pytest.mark.parametrize(("name", "text"), diagrams.pictures().items())
def test_the_pictures_of_traces_are_up_to_date(name: str, text: str) -> None:
    assert (diagrams.PICTURES / name).read_text("utf-8") == text, "make traces draws them anew"


def test_a_picture_has_a_row_for_each_line_of_its_trace() -> None:
    trace = "form a b\n  view 2: a, b\nkill b\n  t=5  a -> b   <Fetch>\n       a        suspect b (dead)\n"
    assert [(row.actor, row.target, row.time) for row in diagrams.rows(trace)] == [
        ("", "", ""),
        ("a", "b", "5"),
        ("a", "", ""),
    ]
    assert "&lt;Fetch&gt;" in diagrams.draw(trace)


def _listed(page: str) -> set[str]:
    """Return what stands in code in the first column of a page's tables."""
    rows = re.findall(r"^\| ([^|]+) \|", (DOCS / "reference" / page).read_text("utf-8"), re.MULTILINE)
    return {word for row in rows for word in re.findall(r"`([\w-]+)", row)}


def test_every_error_has_its_remedy() -> None:
    of_modules = [kind for module in ERRORS for kind in vars(module).values()]
    kinds = [*of_modules, gcom.CallDetached, gcom.CallTimeout]
    names = {kind.__name__ for kind in kinds if isinstance(kind, type) and issubclass(kind, errors.GComError)}
    assert names - {"GComError"} <= _listed("errors.md")


def test_every_event_is_explained() -> None:
    assert {kind.__name__ for kind in gcom.Event.__args__} <= _listed("events.md")


def test_every_command_is_listed() -> None:
    listed = _listed("commands.md")
    for found in (app, registry_app):
        named = {command.name or command.callback.__name__ for command in found.registered_commands if command.callback}
        assert named | {group.name for group in found.registered_groups} <= listed


def test_every_public_name_has_its_place() -> None:
    pages = "".join((DOCS / "reference" / page).read_text("utf-8") for page in ("library.md", "events.md", "errors.md"))
    constants = {"ALL", "FIRST", "MAJORITY", "NONE", "GComError", "Event"}
    assert [name for name in gcom.__all__ if name not in constants and not re.search(rf"\b{name}\b", pages)] == []
    # All names of these are taken from their `__all__`.
    assert [module.__name__ for module in ABOVE if f".. automodule:: {module.__name__}\n" not in pages] == []
