"""The language of the chat: the system's, or the one that was chosen. The texts are in gcom_chat/translations."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from gcom_chat.model.texts.words import set_translator

FOLDER = Path(__file__).resolve().parents[2] / "translations"
_installed: list[QTranslator] = []


def install(language: str = "") -> str:
    """Speak a language from now on (empty: the system's) in windows that open; return which one it is."""
    # The catalogue that was installed last is asked first, so one of another language would shine through.
    while _installed:
        QCoreApplication.removeTranslator(_installed.pop())
    wanted = [language] if language else QLocale.system().uiLanguages()
    for name in wanted:
        short = name.replace("_", "-").partition("-")[0]
        # The texts are English, and what a system prefers less than English comes after it.
        if short == "en":
            break
        if (FOLDER / f"gcom-chat_{short}.qm").is_file():
            _load(f"qtbase_{short}", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath))
            _load(f"gcom-chat_{short}", str(FOLDER))
            # It stays when English is chosen later: without a catalogue it gives the text back.
            set_translator(QCoreApplication.translate)
            return short
    return "en"


def _load(name: str, folder: str) -> None:
    translator = QTranslator(QCoreApplication.instance())
    if translator.load(name, folder):
        QCoreApplication.installTranslator(translator)
        _installed.append(translator)
