"""Preferences, which apply as they are changed."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFontComboBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QSpinBox,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

import gcom
from gcom_chat.model.settings import CLOCKS, HISTORY_MAX, HISTORY_MIN, ZOOMS, Settings, Theme
from gcom_chat.model.texts.orderings import ORDERINGS
from gcom_chat.model.texts.words import translate
from gcom_chat.view.desktop.actions import Actions
from gcom_chat.view.desktop.keeper import Keeper
from gcom_chat.view.dialogs.preference_pages import NetworkPage, ShortcutsPage
from gcom_chat.view.dock.audit_page import log_place
from gcom_chat.view.rows.row_delegate import AT_NOON

LANGUAGES = {"": "", "en": "English", "de": "Deutsch"}


class PreferencesDialog(QDialog):
    """Pages of settings; each change goes to the keeper at once. `renamed` brings another nick."""

    renamed = Signal(str)

    def __init__(self, keeper: Keeper, nick: str, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper, self._nick = keeper, nick
        self.network = NetworkPage(keeper, nick, self)
        self.shortcuts = ShortcutsPage(keeper, actions, self)
        self.setWindowTitle(self.tr("Preferences"))
        self.pages = QTabWidget(self)
        self.problem = QLabel(self)
        self.problem.setWordWrap(True)
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Close | QDialogButtonBox.StandardButton.RestoreDefaults, self
        )
        self.buttons.rejected.connect(self.reject)
        self.buttons.button(QDialogButtonBox.StandardButton.RestoreDefaults).clicked.connect(self.reset)
        for button in self.buttons.buttons():
            button.setAutoDefault(False)  # type: ignore[attr-defined]  # Enter in a field takes that field over, no more
        layout = QVBoxLayout(self)
        for widget in (self.pages, self.problem, self.buttons):
            layout.addWidget(widget)
        self._build()
        self.show_settings(keeper.settings)
        # Last: while settings are shown the fields tell of changes, and each would be written back.
        self._connect()
        self.setMinimumWidth(max(560, self.pages.tabBar().sizeHint().width() + 48))

    # how it is built

    def _build(self) -> None:
        self.nick = QLineEdit(self)
        self.words = QLineEdit(self, placeholderText=self.tr("words, with spaces between"))
        self.theme = QComboBox(self)
        for theme, text in (
            (Theme.SYSTEM, self.tr("as the system")),
            (Theme.LIGHT, self.tr("light")),
            (Theme.DARK, self.tr("dark")),
        ):
            self.theme.addItem(text, theme.value)
        self.own_font = QCheckBox(self.tr("a font of its own"), self)
        self.font_name = QFontComboBox(self)
        self.font_points = QSpinBox(self, minimum=0, maximum=72, suffix=" pt")
        self.font_points.setSpecialValueText(self.tr("as the system"))
        self.zoom = QComboBox(self)
        for zoom in ZOOMS:
            self.zoom.addItem(f"{zoom} %", zoom)
        self.language = QComboBox(self)
        for code, name in LANGUAGES.items():
            self.language.addItem(name or self.tr("as the system"), code)
        self.history = QSpinBox(self, minimum=HISTORY_MIN, maximum=HISTORY_MAX, singleStep=1_000)
        self.history.setGroupSeparatorShown(True)
        self.collapse = QCheckBox(self.tr("one line for who comes and goes in a row"), self)
        self.clock = QComboBox(self)
        for clock in CLOCKS:
            self.clock.addItem(AT_NOON.strftime(clock), clock)
        self.log_folder = QLineEdit(self)
        self.write_logs = QCheckBox(self.tr("write delivery logs there, from the next connect on"), self)
        self.orderings = QLabel(
            "\n".join(f"{name}: {translate('orderings', text)}" for name, text in ORDERINGS.items())
        )
        self.orderings.setWordWrap(True)
        self.notify = QCheckBox(self.tr("tell of mentions and private messages"), self)
        self.quiet = QCheckBox(self.tr("do not disturb"), self)
        self.tray = QCheckBox(self.tr("show an icon in the tray"), self)
        self._add(self.tr("&Identity"), (self.tr("&Nick"), self.nick))
        look = (self.tr("&Colours"), self.theme), ("", self.own_font), (self.tr("&Font"), self.font_name)
        size = (self.tr("&Size"), self.font_points), (self.tr("&Zoom"), self.zoom)
        self._add(self.tr("&Appearance"), *look, *size, (self.tr("&Language"), self.language))
        self._add(
            self.tr("&Messages"),
            (self.tr("&Rows kept per group"), self.history),
            ("", self.collapse),
            (self.tr("Tim&es"), self.clock),
        )
        quiet = ("", self.notify), ("", self.quiet), ("", self.tray)
        self._add(self.tr("N&otifications"), *quiet, (self.tr("&Words that count as a mention"), self.words))
        logs = (self.tr("&Folder of delivery logs"), self.log_folder), ("", self.write_logs)
        self.pages.addTab(self.network, self.tr("Networ&k"))
        self.pages.addTab(self.shortcuts, self.tr("Shor&tcuts"))
        self._add(self.tr("Or&dering and debug"), *logs, ("", self.orderings))

    def _add(self, title: str, *rows: tuple[str, QWidget]) -> None:
        page = QWidget(self.pages)
        form = QFormLayout(page)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for label, field in rows:
            form.addRow(label, field)
            field.setAccessibleName(label.replace("&", "") or field.property("text") or "")
        self.pages.addTab(page, title)

    def _connect(self) -> None:
        change = self._keeper.change
        self.nick.editingFinished.connect(self._rename)
        self.words.editingFinished.connect(lambda: change(words=tuple(self.words.text().replace(",", " ").split())))
        self.theme.currentIndexChanged.connect(lambda: change(theme=self.theme.currentData()))
        self.own_font.toggled.connect(self._change_font)
        self.font_name.currentFontChanged.connect(self._change_font)
        self.font_points.valueChanged.connect(lambda points: change(font_points=points))
        self.zoom.currentIndexChanged.connect(lambda: change(zoom=self.zoom.currentData()))
        self.language.currentIndexChanged.connect(lambda: change(language=self.language.currentData()))
        self.history.valueChanged.connect(lambda rows: change(history_max=rows))
        self.collapse.toggled.connect(lambda on: change(collapse=on))
        self.clock.currentIndexChanged.connect(lambda: change(clock=self.clock.currentData()))
        self.log_folder.editingFinished.connect(lambda: change(log_folder=self.log_folder.text().strip()))
        self.write_logs.toggled.connect(lambda on: change(write_logs=on))
        self.notify.toggled.connect(lambda on: change(notify=on))
        self.quiet.toggled.connect(lambda on: change(do_not_disturb=on))
        self.tray.toggled.connect(lambda on: change(tray=on))

    # settings

    def show_settings(self, settings: Settings) -> None:
        """Show these in all fields."""
        self.nick.setText(self._nick or settings.nick)
        self.words.setText(" ".join(settings.words))
        self.theme.setCurrentIndex(self.theme.findData(settings.theme))
        self.own_font.setChecked(bool(settings.font))
        self.font_name.setEnabled(bool(settings.font))
        if settings.font:
            self.font_name.setCurrentText(settings.font)
        self.font_points.setValue(settings.font_points)
        self.zoom.setCurrentIndex(self.zoom.findData(settings.zoom))
        self.language.setCurrentIndex(max(0, self.language.findData(settings.language)))
        self.clock.setCurrentIndex(self.clock.findData(settings.clock))
        self.history.setValue(settings.history_max)
        self.log_folder.setText(settings.log_folder or log_place())
        for box, on in (
            (self.collapse, settings.collapse),
            (self.notify, settings.notify),
            (self.quiet, settings.do_not_disturb),
            (self.tray, settings.tray),
            (self.write_logs, settings.write_logs),
        ):
            box.setChecked(on)

    def reset(self) -> None:
        """Go back to what a new chat has, but for the name and the registry."""
        now = self._keeper.settings
        self.show_settings(Settings(now.nick, now.registry))
        # The other fields tell of what is shown in them; a line of text does so only for what is typed.
        self._keeper.change(words=(), shortcuts=(), log_folder="")
        self.network.reset()
        self.shortcuts.refresh()

    def _change_font(self) -> None:
        self.font_name.setEnabled(self.own_font.isChecked())
        self._keeper.change(font=self.font_name.currentFont().family() if self.own_font.isChecked() else "")

    def _rename(self) -> None:
        nick = self.nick.text().strip()
        try:
            gcom.Definition("x", static=(nick,))
        except gcom.BadValue as error:
            self.problem.setText(str(error))
            return
        self.problem.setText("")
        if nick != self._nick:
            self._nick = nick
            self.renamed.emit(nick)
