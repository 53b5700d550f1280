"""The audit's page: results of `gcom audit --json`, its incidents, and the whole way over a real group's logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gcom_chat.client.audit_run import AuditFailed, AuditRun
from gcom_chat.model.insight.audit import AuditOutcome, NoAudit, parse_audit
from gcom_chat.view.dock.audit_page import AuditPage
from gcom_chat.view.window import ChatWindow
from pytestqt.qtbot import QtBot

import gcom

LIMIT_MS = 60_000
INCIDENT = {
    "rule": "CAUSAL",
    "group": "news",
    "expected": True,
    "sentence": "carol#aa6c7f5b delivered message 1 of bob#5a03595e before number 1 of alice#f18e1c58.",
    "messages": [["bob#5a03595e", 1], ["alice#f18e1c58", 4]],
}
RESULT = {"version": 1, "verdict": "FAIL", "groups": [{"group": "news", "verdict": "FAIL"}], "incidents": [INCIDENT]}


def test_a_result_is_read() -> None:
    found = parse_audit(json.dumps(RESULT))
    assert found.sentence == "FAIL: a promise was broken (news: FAIL)"
    (incident,) = found.incidents
    assert incident.sentence == "carol delivered message 1 of bob before number 1 of alice."
    assert incident.messages == (("bob#5a03595e", 1), ("alice#f18e1c58", 4))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 9}', json.dumps({**RESULT, "incidents": [{}]})])
def test_what_is_no_result_is_refused(text: str) -> None:
    with pytest.raises(NoAudit):
        parse_audit(text)


def test_an_incident_leads_to_each_of_its_messages(qtbot: QtBot) -> None:
    page = AuditPage()
    qtbot.addWidget(page)
    page.show_outcome(parse_audit(json.dumps(RESULT)))
    item = page.table.item(0, 3)
    assert item is not None
    assert item.text().startswith("carol delivered message 1 of bob")
    for message in (("bob#5a03595e", 1), ("alice#f18e1c58", 4), ("bob#5a03595e", 1)):
        with qtbot.waitSignal(page.incident_wanted) as told:
            page.table.itemActivated.emit(item)
        assert told.args == ["news", *message]


def test_a_folder_that_is_not_there_is_said(qtbot: QtBot, tmp_path: Path) -> None:
    page = AuditPage()
    qtbot.addWidget(page)
    page.folder.setText(str(tmp_path / "missing"))
    with qtbot.waitSignal(page.judged, timeout=LIMIT_MS) as told:
        page.judge.click()
    assert told.args == [False]
    assert page.about.text().startswith("No verdict: ")


def test_an_audit_can_be_stopped(qtbot: QtBot, tmp_path: Path) -> None:
    page = AuditPage()
    qtbot.addWidget(page)
    page.folder.setText(str(tmp_path))
    with qtbot.waitSignal(page.judged, timeout=LIMIT_MS) as told:
        page.judge.click()
        page.judge.click()
    assert told.args == [False]


def test_the_folder_of_an_audit_goes_with_it(tmp_path: Path) -> None:
    run = AuditRun(str(tmp_path / "missing"), all_rules=False)
    folder = run.report.parent
    with pytest.raises(AuditFailed):
        run.wait(lambda text: None)
    assert folder.exists()
    del run
    assert not folder.exists()


@pytest.mark.slow
def test_a_chat_writes_logs_and_judges_them(qtbot: QtBot, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    with gcom.embedded() as registry, gcom.connect("bob", registry.address, log_dir=tmp_path) as bob:
        window = ChatWindow("alice", registry.address)
        qtbot.addWidget(window)
        window.show()
        qtbot.waitUntil(lambda: window.chat.registry != "", timeout=LIMIT_MS)
        page = window.dock.audit
        page.folder.setText(str(tmp_path))
        first = window.client.node
        page.write.setChecked(True)
        page.reconnect.click()
        qtbot.waitUntil(lambda: window.client.node is not first, timeout=LIMIT_MS)
        window.join("news", gcom.Definition("news", gcom.Ordering.TOTAL))
        qtbot.waitUntil(lambda: window.client.group("news") is not None, timeout=LIMIT_MS)
        group = window.client.group("news")
        assert group is not None
        with bob.join("news", receive=False) as other:
            other.send("hello", held_by="all")
        window.client.leave("news")
        qtbot.waitUntil(lambda: window.client.group("news") is None, timeout=LIMIT_MS)
        qtbot.waitUntil(lambda: any(tmp_path.rglob("*.jsonl")), timeout=LIMIT_MS)
        with qtbot.waitSignal(page.judged, timeout=LIMIT_MS) as told:
            page.judge.click()
        assert told.args == [True], page.about.text()
        assert isinstance(page.outcome, AuditOutcome)
        assert page.outcome.verdict == "PASS"
        assert page.open.isEnabled()
        window.close()
