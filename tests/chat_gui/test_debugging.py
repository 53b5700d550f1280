"""Debug mode: how faults are changed, recorded and replayed, its page, and a real node that has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from gcom_chat.client import fault_control
from gcom_chat.model.input.commands import BadCommand
from gcom_chat.model.insight.debugging import FaultRecording, link_text, obey, partitioned, with_cuts, with_link
from gcom_chat.model.insight.group_insight import GroupInsight
from gcom_chat.view.dock.debug_page import DebugPage
from gcom_chat.view.window import ChatWindow
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

import gcom
from tests.chat_gui.insights import snapshot
from tests.chat_gui.windows import is_in, texts

LIMIT_MS = 120_000
MEMBERS = ("alice", "bob", "carol")
SLOW = gcom.LinkFaults(delay=gcom.Delay("fixed", 40), drop=0.1)


def test_a_link_has_settings_of_its_own_until_they_are_taken_away() -> None:
    faults = with_link(gcom.Faults(), [("alice", "bob")], SLOW)
    assert link_text(faults, "alice", "bob") == "40ms\n− 10%"
    assert link_text(faults, "bob", "alice") == ""
    assert with_link(faults, [("alice", "bob")], gcom.LinkFaults()) == gcom.Faults()


def test_a_cut_is_one_way_and_heals() -> None:
    faults = with_cuts(gcom.Faults(), [("alice", "bob")], True)
    assert link_text(faults, "alice", "bob") == "✂ cut"
    assert link_text(faults, "bob", "alice") == ""
    assert with_cuts(faults, [("alice", "bob")], False) == gcom.Faults()


def test_a_partition_cuts_between_its_sides_alone() -> None:
    faults = partitioned(gcom.Faults(), [["alice", "bob"], ["carol"]])
    assert faults.cuts == {("alice", "carol"), ("carol", "alice"), ("bob", "carol"), ("carol", "bob")}


@pytest.mark.parametrize(
    ("name", "rest", "text"),
    [
        ("delay", "5..40ms", "seed=0,delay=5..40ms"),
        ("delay", "bob pareto:60ms", "seed=0,delay[*>bob]=pareto:60ms,delay[bob>*]=pareto:60ms"),
        ("drop", "10%", "seed=0,drop=0.1"),
        ("reorder", "5", "seed=0,reorder=0.05"),
        ("partition", "alice, bob | carol", "seed=0,cut=alice>carol,cut=bob>carol,cut=carol>alice,cut=carol>bob"),
        ("partition", "", "none"),
    ],
)
def test_commands_change_faults(name: str, rest: str, text: str) -> None:
    assert str(obey(gcom.Faults(), name, rest, MEMBERS)) == text


@pytest.mark.parametrize(
    ("name", "rest", "why"),
    [
        ("delay", "soon", "delay=soon"),
        ("delay", "mallory 5ms", "'mallory' is no member"),
        ("drop", "101%", "a share is 0% to 100%"),
        ("drop", "much", "a share is 0% to 100%"),
        ("partition", "alice | mallory", "'mallory' is no member"),
    ],
)
def test_commands_that_mean_nothing_say_why(name: str, rest: str, why: str) -> None:
    with pytest.raises(BadCommand, match=why):
        obey(gcom.Faults(), name, rest, MEMBERS)


def test_a_recording_comes_back_from_json_and_tells_what_is_due() -> None:
    recording = FaultRecording()
    slow = with_link(gcom.Faults(seed=3), [("alice", "bob")], SLOW)
    for at_ms, faults in ((0, gcom.Faults()), (500, slow), (700, slow), (900, gcom.Faults())):
        recording.add(at_ms, faults)
    again = FaultRecording.from_json(recording.to_json())
    assert again == recording
    assert [at_ms for at_ms, _ in again.steps] == [0, 500, 900]
    assert again.due(0, 50) == gcom.Faults()
    assert again.due(50, 500) is None
    assert again.due(50, 501) == slow
    assert again.length_ms == 900


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"gcom-faults-recording": 2, "steps": []}',
        '{"gcom-faults-recording": 1, "steps": [{"at_ms": "x", "faults": {}}]}',
        '{"gcom-faults-recording": 1, "steps": [{"at_ms": 5, "faults": {}}, {"at_ms": 1, "faults": {}}]}',
        '{"gcom-faults-recording": 1, "steps": [{"at_ms": 5, "faults": {"drop": 2}}]}',
    ],
)
def test_what_is_no_recording_is_refused_in_words(text: str) -> None:
    with pytest.raises(gcom.BadValue):
        FaultRecording.from_json(text)


@pytest.fixture
def page(qtbot: QtBot) -> Iterator[DebugPage]:
    """A page over a group of three, whose chat is not connected."""
    made = DebugPage(lambda: None)
    qtbot.addWidget(made)
    made.resize(1000, 260)
    made.show()
    insight = GroupInsight()
    insight.on_probed(snapshot(), (), 1)
    made.show_insight(insight, 1)
    yield made
    made.close_control()


def test_links_are_chosen_in_the_matrix_and_set_by_sliders(page: DebugPage) -> None:
    page.matrix.setCurrentCell(0, 2)
    assert page.chosen() == [("alice", "carol")]
    page.editor.delay.slider.setValue(120)
    page.editor.cut.setChecked(True)
    assert str(page.faults).startswith("seed=1,cut=alice>carol,drop[alice>carol]=0")
    assert page.faults.of_link("alice", "carol").delay == gcom.Delay("fixed", 120)
    item = page.matrix.item(0, 2)
    assert item is not None
    assert item.data(Qt.ItemDataRole.AccessibleTextRole) == "from alice to carol: ✂ cut"
    page.matrix.clearSelection()
    page.editor.drop.number.setValue(7)
    assert page.faults.drop == 0.07


def test_without_a_node_debug_mode_says_so_and_stays_off(qtbot: QtBot, page: DebugPage) -> None:
    page.command("debug", "on", ())
    qtbot.waitUntil(lambda: not page.on, timeout=LIMIT_MS)
    assert "not connected" in page.about.text()
    assert "off" in page.command("drop", "10%", ())


def test_a_record_that_is_not_saved_goes_on(page: DebugPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("", ""))
    page.switch.setChecked(True)
    page.record.setChecked(True)
    began = page.recording
    page.record.setChecked(False)
    assert page.record.isChecked()
    assert page.recording is began
    page.switch.setChecked(False)
    page.record.setChecked(False)
    assert page.recording is None


def test_a_record_is_written_and_replayed(qtbot: QtBot, page: DebugPage, tmp_path: Path) -> None:
    recording = FaultRecording([(0, gcom.Faults(drop=0.5)), (1, gcom.Faults(drop=0.25))])
    file = tmp_path / "faults.json"
    page.save(recording, str(file))
    page.control.put = lambda faults: None  # type: ignore[method-assign]
    page.replay(str(file))
    qtbot.waitUntil(lambda: page.faults.drop == 0.25, timeout=LIMIT_MS)
    page.replay(str(tmp_path / "missing.json"))
    assert "cannot be replayed" in page.about.text()


def test_faults_go_to_the_file_that_all_follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "faults"
    monkeypatch.setenv(fault_control.VARIABLE, f"@{file}")

    class Node:
        """Takes any faults."""

        def inject(self, faults: gcom.Faults) -> None:
            """Take them."""

    told: list[str] = []
    control = fault_control.FaultControl(lambda: Node(), told.append)  # type: ignore[arg-type, return-value]
    assert control._try(gcom.Faults(seed=1, drop=0.5)) == ""
    assert file.read_text("utf-8") == "seed=1,drop=0.5"
    assert control._try(gcom.Faults()) == ""
    assert file.read_text("utf-8") == ""
    control.close()


class RemoteNode:
    """Refuses faults, as a node does that is not on loopback."""

    def inject(self, faults: gcom.Faults) -> None:
        """Refuse them."""
        raise gcom.BadValue("faults are for tests on loopback")


def test_off_loopback_debug_mode_is_refused_in_words(qtbot: QtBot) -> None:
    page = DebugPage(lambda: RemoteNode())  # type: ignore[arg-type, return-value]
    qtbot.addWidget(page)
    told: list[bool] = []
    page.changed.connect(lambda on, _: told.append(on))
    page.switch.setChecked(True)
    qtbot.waitUntil(lambda: not page.on, timeout=LIMIT_MS)
    assert page.about.text() == "Debug mode is not on: faults are for tests on loopback"
    assert told == [True, False]
    page.close_control()


def test_a_real_node_has_the_faults_and_the_window_says_so(qtbot: QtBot, expect_log: Callable[[str], None]) -> None:
    expect_log("have faults, on purpose")
    with gcom.embedded() as registry:
        window = ChatWindow("alice", registry.address)
        qtbot.addWidget(window)
        window.show()
        qtbot.waitUntil(lambda: window.client.node is not None, timeout=LIMIT_MS)
        window.join("news", gcom.Definition("news"))
        qtbot.waitUntil(lambda: is_in(window, "news"), timeout=LIMIT_MS)
        node = window.client.node
        assert node is not None
        # Before any page was shown: the members are the group's, not those of a matrix.
        for line in ("/debug on", "/partition alice | registry", "/partition", "/drop 5%"):
            window.tabs["news"].input.setPlainText(line)
            QTest.keyClick(window.tabs["news"].input, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: node.faults.drop == 0.05, timeout=LIMIT_MS)
        assert not any("no member" in text for text in texts(window, "news"))
        assert window._stripe.isVisible()
        assert "drop=0.05" in window._stripe.accessibleDescription()
        window._stripe.off_wanted.emit()
        qtbot.waitUntil(lambda: node.faults.drop == 0, timeout=LIMIT_MS)
        assert not window._stripe.isVisible()
        window.close()


def test_the_sliders_show_what_a_command_did_and_the_seed_that_is_used(page: DebugPage) -> None:
    page.control.put = lambda faults: None  # type: ignore[method-assign]
    page.switch.setChecked(True)
    page.command("drop", "7%", ())
    assert page.editor.drop.value == 7
    assert page.faults.seed == page.seed.value()
    page.heal()
    assert page.editor.drop.value == 0
    assert str(page.faults) == "none"


def test_the_link_that_the_editor_names_is_edited_whoever_comes_and_goes(page: DebugPage) -> None:
    """Rows and columns move when the members are others; the choice is of names."""
    page.matrix.setCurrentCell(1, 2)
    assert page.chosen() == [("bob", "carol")]
    for names in (("dave#1", "bob#1", "carol#1"), ("carol#1", "bob#1"), ("bob#1",)):
        clocks = {name: gcom.VectorClock({}) for name in names}
        view = gcom.View(9, names, ("",) * len(names))
        insight = GroupInsight()
        insight.on_probed(replace(snapshot(), view=view, clocks=clocks), (), 2)
        page.show_insight(insight, 2)
        assert page.editor._title.text() == "From bob to carol"
        page.editor.delay.slider.setValue(page.editor.delay.value + 10)
        assert set(page.faults.links) == {("bob", "carol")}
    assert page.matrix.selectedIndexes() == []


def test_a_freeze_lasts_as_long_as_the_field_says(page: DebugPage) -> None:
    put: list[gcom.Faults] = []
    page.control.put = put.append  # type: ignore[assignment, method-assign]
    page.switch.setChecked(True)
    page.matrix.setCurrentCell(1, 2)
    page.editor.freeze_s.setValue(1.5)
    page.editor.freeze.click()
    assert put[-1].freeze == {"bob": 1_500}
    assert not page.faults.freeze
