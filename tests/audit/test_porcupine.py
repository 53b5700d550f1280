"""Porcupine's histories become delivery logs: what is linearizable passes, and what is not fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcom.audit.explain.result import result_of
from gcom.audit.imports.porcupine import import_porcupine
from gcom.errors import NotALog
from tests.audit.here import audit


def did(client: int, function: str, key: str, value: str) -> str:
    """Return an operation that began and ended with nothing in between."""
    about = f':f :{function}, :key "{key}", :value'
    asked = "nil" if function == "get" else f'"{value}"'
    first = f"{{:process {client}, :type :invoke, {about} {asked}}}"
    return f'{first}\n{{:process {client}, :type :ok, {about} "{value}"}}\n'


SOUND = (
    did(0, "append", "k", "a")
    + did(1, "append", "k", "b")
    + did(0, "get", "k", "ab")
    + did(1, "get", "k", "ab")
    + did(1, "put", "k", "c")
    + did(0, "append", "k", "d")
    + did(0, "get", "k", "cd")
    + did(1, "append", "k", "d")
    + did(1, "get", "k", "cdd")
)


def broken(tmp_path: Path, text: str) -> set[str]:
    """Import a history, and return the rules that its audit finds violated."""
    (tmp_path / "history.txt").write_text(text)
    import_porcupine(tmp_path / "history.txt", tmp_path / "logs")
    return {incident.rule for incident in result_of(audit(tmp_path / "logs")).incidents}


def test_a_sound_history_passes(tmp_path: Path) -> None:
    assert broken(tmp_path, SOUND) == set()


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        (did(0, "append", "k", "e") + did(0, "get", "k", "cdd") + did(1, "get", "k", "cdde"), "RYW"),
        (did(0, "get", "k", "cdd") + did(0, "get", "k", "cd"), "MR"),
        (did(0, "append", "k", "e") + did(0, "append", "k", "f") + did(1, "get", "k", "cddfe"), "MW"),
        (did(2, "get", "k", "cdd") + did(2, "append", "k", "e") + did(1, "get", "k", "cedd"), "SERIAL_UNIQUE"),
        (did(0, "get", "k", "cddz"), "NO_CREATION"),
    ],
)
def test_what_no_linearizable_store_does_is_found(tmp_path: Path, more: str, rule: str) -> None:
    assert rule in broken(tmp_path, SOUND + more)


def test_a_text_that_is_put_twice_begins_no_list_that_is_known(tmp_path: Path) -> None:
    """Two lists begin with one text; taken for one list they would contradict each other."""
    text = did(0, "put", "k", "a") + did(1, "append", "k", "b") + did(1, "get", "k", "ab")
    text += did(0, "put", "k", "a") + did(1, "append", "k", "c") + did(1, "get", "k", "ac")
    assert broken(tmp_path, text) == set()
    note = import_porcupine(tmp_path / "history.txt", tmp_path / "again").notes
    assert note == ["2 gets that two puts of one text may have begun: left out"]


def test_another_form_is_refused(tmp_path: Path) -> None:
    (tmp_path / "etcd.log").write_text("INFO  jepsen.util - 4\t:invoke\t:write\t1\n" * 3)
    with pytest.raises(NotALog, match="expected operations on keys"):
        import_porcupine(tmp_path / "etcd.log", tmp_path / "logs")
