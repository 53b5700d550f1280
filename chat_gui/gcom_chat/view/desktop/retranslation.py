"""Another language at once: the texts of all widgets that are there are replaced, each by its translation.

A widget does not know from which text its own was made. The catalogue does: what a widget shows is looked up among the
translations of the language before, first in the contexts of the widget and of those around it. Texts with numbers or
names in them are made anew by whoever shows them, at the next look.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QSpinBox,
    QTableWidget,
    QTabWidget,
    QWidget,
)

from gcom_chat.view.desktop.languages import FOLDER

_Place = tuple[str, str]  # context, source


def catalogue(language: str) -> dict[_Place, str]:
    """Return the translations of a language by context and source; English is what is in the German ones' sources."""
    english = language == "en"
    path = FOLDER / f"gcom-chat_{'de' if english else language}.ts"
    found = {}
    for context in ElementTree.parse(path).getroot().iter("context"):
        for message in context.iter("message"):
            source = message.findtext("source", "")
            text = source if english else message.findtext("translation", "")
            # A plural has several forms, and a number in it: it is made anew by whoever shows it.
            if message.get("numerus") is None and source and text:
                found[context.findtext("name", ""), source] = text
    return found


class Retranslation:
    """From one language to another, for all widgets of the application."""

    def __init__(self, before: str, after: str) -> None:
        self._after = catalogue(after)
        self._places: dict[str, list[_Place]] = {}
        for place, text in catalogue(before).items():
            self._places.setdefault(text, []).append(place)

    def run(self) -> None:
        """Replace the texts of all widgets and actions."""
        for window in QApplication.topLevelWidgets():
            for widget in [window, *window.findChildren(QWidget)]:
                self._widget(widget)
            for action in window.findChildren(QAction):
                action.setText(self.text(action.text(), action))
                action.setToolTip(self.text(action.toolTip(), action))

    def text(self, text: str, where: QObject) -> str:
        """Return a text of an object in the new language; one that is nobody's translation as it is."""
        places = self._places.get(text, [])
        around = list(_contexts(where))
        # One text may be the translation of several sources: the nearest context tells which one it is.
        places = sorted(places, key=lambda place: around.index(place[0]) if place[0] in around else len(around))
        return next((self._after[place] for place in places if place in self._after), text)

    def _widget(self, widget: QWidget) -> None:
        widget.setWindowTitle(self.text(widget.windowTitle(), widget))
        widget.setToolTip(self.text(widget.toolTip(), widget))
        widget.setAccessibleName(self.text(widget.accessibleName(), widget))
        if isinstance(widget, (QLabel, QAbstractButton)):
            widget.setText(self.text(widget.text(), widget))
        elif isinstance(widget, (QLineEdit, QPlainTextEdit)):
            widget.setPlaceholderText(self.text(widget.placeholderText(), widget))
        elif isinstance(widget, QMenu):
            widget.setTitle(self.text(widget.title(), widget))
        else:
            self._parts(widget)

    def _parts(self, widget: QWidget) -> None:
        """Replace the texts of a widget that has several."""
        if isinstance(widget, QComboBox):
            for at in range(widget.count()):
                widget.setItemText(at, self.text(widget.itemText(at), widget))
        elif isinstance(widget, QTabWidget):
            for at in range(widget.count()):
                widget.setTabText(at, self.text(widget.tabText(at), widget.widget(at) or widget))
        elif isinstance(widget, QSpinBox):
            widget.setPrefix(self.text(widget.prefix(), widget))
            widget.setSpecialValueText(self.text(widget.specialValueText(), widget))
        elif isinstance(widget, QTableWidget):
            heads = [widget.horizontalHeaderItem(at) for at in range(widget.columnCount())]
            for head in heads:
                if head is not None:
                    head.setText(self.text(head.text(), widget))


def _contexts(where: QObject | None) -> Iterable[str]:
    """Yield the names of the classes of an object and of those around it, nearest first."""
    while where is not None:
        for kind in type(where).__mro__:
            yield kind.__name__
        where = where.parent()
