"""`gcom certs`: an authority and its certificates by hand."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.commands import run_gcom


def said(*words: str) -> str:
    """Run a command that must succeed; return what it printed, notices included."""
    done = run_gcom(*words)
    text = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, text
    return text


def refused(*words: str) -> str:
    done = run_gcom(*words)
    assert done.returncode == 2
    return done.stderr.decode()


def test_the_life_of_a_certificate(tmp_path: Path) -> None:
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


def test_what_is_missing_is_named() -> None:
    assert "make one with gcom certs init" in refused("certs", "issue", "alice")
    assert "no identity of this user: there are none" in refused("certs", "show", "alice")
    said("certs", "init")
    assert "already" in refused("certs", "init")
    assert "member name 'a b' is not allowed" in refused("certs", "issue", "a b")
    assert "make one with gcom certs issue carol" in refused("certs", "renew", "carol")
