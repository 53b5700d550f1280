"""Delivery logs with digests of payloads, by which the audit judges INTEGRITY."""

from __future__ import annotations

from pathlib import Path

import pytest

import gcom
from gcom.audit import audit
from gcom.errors import BadValue

PAYLOADS = (b"", b"\xff\x00", "grüße", "x" * 1_000_000)  # the last one goes in fragments


def test_the_audit_finds_the_payload_that_is_another_one(tmp_path: Path) -> None:
    with (
        gcom.embedded() as registry,
        gcom.connect("alice", registry.address, log_dir=tmp_path, log_digests=True) as alice,
        gcom.connect("bob", registry.address, log_dir=tmp_path, log_digests=True) as bob,
        alice.join("news", create=gcom.Definition("news", "CAUSALTOTAL")) as hers,
        bob.join("news") as his,
    ):
        hers.wait_for_members(2, timeout_s=10)
        for payload in PAYLOADS:
            hers.send(payload)
            his.send(payload)
        for group in (hers, his):
            messages = iter(group)
            assert len([next(messages) for _ in range(2 * len(PAYLOADS))]) == 8
    assert _integrity(tmp_path) == ("PASS", 16)
    (log,) = (tmp_path / "bob").rglob("*.jsonl")
    lines = [line for line in log.read_text().splitlines() if '"type":"close"' not in line]
    (empty, *_) = [line for line in lines if '"type":"deliver"' in line and '"digests":[0' in line]
    log.write_text("\n".join(line.replace('"digests":[0', '"digests":[7') if line is empty else line for line in lines))
    assert _integrity(tmp_path)[0] == "FAIL"


def _integrity(folder: Path) -> tuple[str, int]:
    (group,) = audit(folder).groups
    (found,) = [rule for rule in group.rules if rule.rule == "INTEGRITY"]
    return found.verdict, found.evaluated


def test_digests_without_logs_are_refused() -> None:
    with pytest.raises(BadValue, match="log_digests needs log_dir"), gcom.embedded() as registry:
        gcom.connect("alice", registry.address, log_digests=True)
