"""`gcom certs`: an authority and its certificates by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gcom.cli import app

Run = Callable[..., str]


@pytest.fixture
def said(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command that must succeed; return what it printed, notices included."""

    def run(*words: str) -> str:
        status = app.run(words)
        shown = capfd.readouterr()
        assert status == 0, shown.out + shown.err
        return shown.out + shown.err

    return run


@pytest.fixture
def refused(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command that must be refused; return its last words."""

    def run(*words: str) -> str:
        assert app.run(words) == 2
        return capfd.readouterr().err

    return run


def test_the_life_of_a_certificate(tmp_path: Path, said: Run) -> None:
    assert "its fingerprint is" in said("certs", "init")
    assert "has issued no certificate" in said("certs", "list")
    said("certs", "issue", "alice")
    said("certs", "issue", "bob", "--admin", "--out", str(tmp_path / "bob"))
    listed = [json.loads(line) for line in said("certs", "list", "--json").splitlines()]
    assert [(it["names"], it["state"]) for it in listed] == [
        ("member/alice", "valid"),
        ("member/bob, admin/bob", "valid"),
    ]
    shown = json.loads(said("certs", "show", "alice", "--json"))
    assert (shown["names"], shown["serial"]) == ("member/alice", listed[0]["serial"])
    said("certs", "renew", "alice")
    assert json.loads(said("certs", "show", "alice", "--json"))["serial"] != shown["serial"]
    assert said("certs", "revoke", "alice").count("revoked") == 2
    assert "member/bob" in said("certs", "show", str(tmp_path / "bob" / "certificate.pem"))


def test_what_is_missing_is_named(said: Run, refused: Run) -> None:
    assert "make one with gcom certs init" in refused("certs", "issue", "alice")
    assert "no identity of this user: there are none" in refused("certs", "show", "alice")
    said("certs", "init")
    assert "already" in refused("certs", "init")
    assert "member name 'a/b' is not allowed" in refused("certs", "issue", "a/b")
    assert "make one with gcom certs issue carol" in refused("certs", "renew", "carol")
