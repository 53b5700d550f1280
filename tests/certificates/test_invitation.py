"""Invitations as a line of text."""

from __future__ import annotations

import pytest

from gcom.certificates.invitation import Invitation, lifetime_s, parse
from gcom.errors import BadValue

FINGERPRINT, SECRET = bytes(range(32)), bytes(range(200, 218))


@pytest.mark.parametrize("registry", ["10.0.0.5:7411", "[fd00::1]:7411", "registry.example:7500"])
def test_a_line_says_it_all(registry: str) -> None:
    invitation = Invitation(registry, "bob", FINGERPRINT, SECRET)
    assert parse(f"  {invitation}\n") == invitation
    assert not set(str(invitation)) & set(" $&*?()[]{}<>|;'\"`\\!#~"), "a shell would change it"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda line: line[:-1], "cut off, or mistyped: copy the whole line"),
        (lambda line: line[:-1] + "é", "damaged, or mistyped: copy the whole line"),
        (lambda line: line.rpartition("/")[0], "is no invitation"),
        (lambda line: line.replace("gcom1", "gcom9"), "is no invitation"),
        (lambda line: line.replace("bob", "b@b"), "member name 'b@b' is not allowed"),
        (lambda line: line.replace("bob", "b b"), "expected 'b%20b'"),
        (lambda line: line.replace(":7411", ":x"), "is not HOST:PORT"),
    ],
)
def test_a_damaged_line_is_named(change: object, words: str) -> None:
    assert callable(change)
    with pytest.raises(BadValue, match=words):
        parse(change(str(Invitation("10.0.0.5:7411", "bob", FINGERPRINT, SECRET))))


def test_each_mistyped_character_is_seen() -> None:
    line = str(Invitation("10.0.0.5:7411", "bob", FINGERPRINT, SECRET))
    for at, was in enumerate(line):
        changed = line[:at] + ("1" if was != "1" else "2") + line[at + 1 :]
        with pytest.raises(BadValue, match=r"mistyped|is no invitation|is not HOST:PORT"):
            parse(changed)


def test_a_line_of_before_without_a_checksum_is_read() -> None:
    """As gcom-registry printed it before there were checksums."""
    line = "gcom1/10.213.0.1:7411/bob/Ounwo50Dljr8EcU4fv64g9hSWOZo64wILvVVUJ6gEjc/BEFJcwbrvgq-ticVxLUCRcAm"
    found = parse(line)
    assert (found.name, found.registry, len(found.secret)) == ("bob", "10.213.0.1:7411", 18)
    assert str(found).startswith(line)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("1h", 3600), ("1.5d", 129600)])
def test_a_time_has_a_unit(text: str, seconds: float) -> None:
    assert lifetime_s(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "0h", "-1h", "31d", "1y", "h"])
def test_a_time_without_sense_is_refused(text: str) -> None:
    with pytest.raises(BadValue, match="write 30m, 1h or 2d"):
        lifetime_s(text)
