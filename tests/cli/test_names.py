"""Members with names of many alphabets, from `gcom join` over certificates, logs and tables to the audit's report."""

from __future__ import annotations

import unicodedata
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from gcom_registry.server import RegistryServer

import gcom
from gcom.audit import audit
from gcom.certificates.identity_files import CertificateFiles
from gcom.cli import app
from gcom.cli.commands.directory import columns
from gcom.runtime.security.process import TLS_VARIABLES
from gcom.values import identity
from tests.cli.commands import environment, gcom_command
from tests.oracle import judge
from tests.running import Child
from tests.runtime.authorities import TestAuthority

pytestmark = pytest.mark.slow
GROUP = "köln-新聞"
NAMES = ("Jörg Müller", "Μαρία", "李雷", "مريم")
LAST = "Zoë"


def decomposed(text: str) -> str:
    """A name as some keyboards and file systems write it."""
    found = unicodedata.normalize("NFD", text)
    assert found != text
    return found


def joined(name: str, registry: str, files: CertificateFiles, logs: Path) -> Child:
    """`gcom join` of a name as it is typed, in a process without a language."""
    words = ("join", decomposed(GROUP), "--name", name, "--json", "--log-dir", str(logs))
    paths = dict(zip(TLS_VARIABLES, (files.cert, files.key, files.ca), strict=True))
    return Child(gcom_command(*words), {**environment(registry), **paths, "LC_ALL": "C"})


def heard(group: gcom.Group) -> tuple[str, str]:
    """The next message: its sender's name, and its text."""
    while not isinstance(event := group.receive(60), gcom.Message):
        assert event is not None
    return event.name, event.text


def test_from_a_join_to_the_report(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    authority, logs = TestAuthority(tmp_path / "ca"), tmp_path / "logs"
    create, groups = gcom.Definition(decomposed(GROUP), "CAUSALTOTAL", signed=True), []
    with ExitStack() as stack:
        registry = RegistryServer(credentials=authority.credentials(identity.registry()))
        registry.start()
        stack.enter_context(closing(registry))
        for name in NAMES:
            node = gcom.connect(name, registry.address, certificates=authority.member(name), log_dir=logs)
            groups.append(stack.enter_context(node).join(GROUP, create=create))
        with joined(decomposed(LAST), registry.address, authority.member(LAST), logs) as shell:
            groups[0].wait_for_members(5, 60)
            shell.write(b"hallo\n")
            assert [heard(group) for group in groups] == [(LAST, "hallo")] * 4
            groups[0].on_call(lambda payload, _: str(payload).upper())
            assert groups[1].call_to(decomposed(NAMES[0]), "ja") == "JA"
            groups[0].leave()
            shell.until(lambda: any(row["left"] for row in shell.rows("view")), "departure")
        (ready,) = shell.rows("ready")
        assert {process.partition("#")[0] for process in ready["members"]} == {*NAMES, LAST}
        assert [row["sender"] for row in shell.rows("delivery")] == [LAST]
    (group,) = audit(logs).groups
    assert (group.group, group.verdict) == (GROUP, judge(logs).group(GROUP).verdict)
    assert app.run(["audit", str(logs), "--report", str(tmp_path / "report.html")]) in (0, 2)  # the shell was killed
    shown, page = capfd.readouterr().out, (tmp_path / "report.html").read_text("utf-8")
    assert GROUP in shown
    assert all(name in page for name in (*NAMES, LAST))


def test_a_table_of_a_terminal_lines_up() -> None:
    lines = columns([("NAME", "PROCESS"), ("李雷", "a"), ("น้ำ", "b"), ("Jörg Müller", "c")])
    assert lines == ["NAME         PROCESS", "李雷         a", "น้ำ           b", "Jörg Müller  c"]
