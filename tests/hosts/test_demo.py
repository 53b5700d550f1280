"""The story of several hosts: it ends with the audit's verdict, and says why where it cannot be told."""

from __future__ import annotations

import pytest

from tests.hosts import demo
from tests.hosts.network import why_not


@pytest.mark.soak
def test_the_story_ends_with_the_verdict(capfd: pytest.CaptureFixture[str]) -> None:
    if reason := why_not():
        pytest.skip(reason)
    assert demo.main() == 0
    told = capfd.readouterr().out.splitlines()
    assert told[-1].startswith("PASS: every promise held (10 groups")
    assert [line for line in told if "link is up again, after 10 s" in line]


def test_without_hosts_it_says_why(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(demo, "why_not", lambda: "there is no iproute2")
    assert demo.main() == 0
    assert capfd.readouterr().out == "demo-hosts: skipped: there is no iproute2\n"
