"""German as the proof that every text can be translated: none is unfinished, and the compiled file is up to date."""

from __future__ import annotations

import string
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gcom_chat.model.input import commands
from gcom_chat.model.insight.duel import DuelScore, findings
from gcom_chat.model.insight.facts import held_summary
from gcom_chat.model.texts import words
from gcom_chat.storage.places import Places
from gcom_chat.view.desktop.languages import FOLDER, install
from gcom_chat.view.dialogs.preferences import PreferencesDialog
from gcom_chat.view.tour import Tour
from gcom_chat.view.window import ChatWindow
from PySide6.QtCore import QTranslator
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget
from pytestqt.qtbot import QtBot

from tests.chat_gui.insights import snapshot
from tests.running import ROOT

Text = tuple[str, str]  # context, source
GERMAN = FOLDER / "gcom-chat_de.ts"


@pytest.fixture(autouse=True)
def _english(request: pytest.FixtureRequest) -> Iterator[None]:
    """Speak English again after a test."""
    request.getfixturevalue("qapp")
    yield
    install("en")
    words.set_translator(lambda _, text: text)


def texts(path: Path) -> dict[Text, ElementTree.Element]:
    """Return the messages of a file."""
    found = {}
    for context in ElementTree.parse(path).getroot().iter("context"):
        for message in context.iter("message"):
            found[context.findtext("name", ""), message.findtext("source", "")] = message
    return found


def translation(message: ElementTree.Element) -> list[str]:
    """Return the translation of a message, or its plural forms."""
    element = message.find("translation")
    assert element is not None
    return [form.text or "" for form in element.iter("numerusform")] or [element.text or ""]


def test_no_text_is_unfinished() -> None:
    german = texts(GERMAN)
    unfinished = [key for key, message in german.items() if not all(translation(message))]
    unfinished += [key for key, message in german.items() if message.find("translation[@type]") is not None]
    assert len(german) > 200
    assert unfinished == []


def test_a_text_has_the_context_under_which_it_is_looked_up() -> None:
    assert [source for context, source in texts(GERMAN) if not context] == []


def test_a_translation_has_the_places_of_its_source() -> None:
    for (_, source), message in texts(GERMAN).items():
        for text in translation(message):
            assert sorted(_places(text)) == sorted(_places(source)), text


def _places(text: str) -> list[str]:
    return [
        f"{name}:{form}" for _, name, form, _ in string.Formatter().parse(text.replace("%n", "{n}")) if name is not None
    ]


@pytest.mark.slow
def test_the_file_has_every_text_of_the_code(tmp_path: Path) -> None:
    now = tmp_path / "now.ts"
    sources = sorted(str(path) for path in (ROOT / "chat_gui").rglob("*.py"))
    lupdate = Path(sys.executable).with_name("pyside6-lupdate")
    subprocess.run([lupdate, "-silent", *sources, "-ts", now], check=True, timeout=300, cwd=ROOT)
    assert set(texts(now)) == set(texts(GERMAN)), "make translations brings it up to date"


def test_what_is_compiled_is_what_is_written() -> None:
    translator = QTranslator()
    assert translator.load("gcom-chat_de", str(FOLDER))
    for (context, source), message in texts(GERMAN).items():
        if message.get("numerus") is None:
            assert translator.translate(context, source) == translation(message)[0]


def test_a_window_speaks_german(opened: Callable[..., ChatWindow], places: Places) -> None:
    places.settings.parent.mkdir()
    places.settings.write_text('language = "de"')
    window = opened(places=places)
    assert [action.text() for action in window.menuBar().actions()][:2] == ["&Verbindung", "&Gruppe"]
    assert window._start.connect_button.text() == "Verbin&den"
    with pytest.raises(commands.BadCommand, match="unbekannter Befehl"):
        commands.parse("/nothing")


def test_the_tour_and_the_dock_speak_german(qtbot: QtBot) -> None:
    install("de")
    tour = Tour()
    qtbot.addWidget(tour)
    assert tour._steps[0].startswith("bob, carol und dave")
    assert held_summary(snapshot()).startswith("Nichts wird zurückgehalten")
    assert findings(DuelScore((), (), (1, 2), ())) == ["2 Zeilen, in denen sie uneins sind"]


def test_a_language_that_nobody_wrote_is_english() -> None:
    assert install("tlh") == "en"
    assert install("de_AT") == "de"


def test_another_language_is_spoken_at_once(opened: Callable[..., ChatWindow], places: Places) -> None:
    places.settings.parent.mkdir()
    places.settings.write_text('language = "en"')
    window = opened("", "", "news", places=places)
    window.dock.show()
    dialog = PreferencesDialog(window.keeper, "", window.desk.actions, window)
    dialog.language.setCurrentIndex(dialog.language.findData("de"))
    assert [action.text() for action in window.menuBar().actions()][:2] == ["&Verbindung", "&Gruppe"]
    assert window._start.connect_button.text() == "Verbin&den"
    assert dialog.windowTitle() == "Einstellungen"
    assert dialog.pages.tabText(1) == "&Aussehen"
    assert dialog.theme.itemText(1) == "hell"
    assert window.tabs["news"].input.placeholderText().startswith("Nachricht")
    assert window.dock.tabs.tabText(0) == "Uhren"
    assert window.dock.action.text() == "&Im Innern der Gruppe"
    assert window.tabs["news"].state.name == "news"
    german = [text for parent in (window, dialog) for text in shown(parent)]
    dialog.language.setCurrentIndex(dialog.language.findData("en"))
    english = [text for parent in (window, dialog) for text in shown(parent)]
    assert english[: len(german)] != german
    assert "&Connection" in english
    left = {text for text in english if text in german and text in translations()}
    assert left <= {text for text, other in translations().items() if other == text}


def shown(parent: QWidget) -> list[str]:
    """Return the texts of labels, buttons and menus."""
    widgets = parent.findChildren(QAbstractButton) + parent.findChildren(QLabel)
    return [each.text() for each in widgets if each.text()] + [each.text() for each in parent.findChildren(QAction)]


def translations() -> dict[str, str]:
    """Return what each English text is in German."""
    return {source: translation(message)[0] for (_, source), message in texts(GERMAN).items()}
