"""Words for people, in their language: the window puts a translator in, and until then they are English."""

from __future__ import annotations

from collections.abc import Callable

Translator = Callable[[str, str], str]


class _Words:
    """Holds the translator."""

    translator: Translator = staticmethod(lambda _, text: text)


def set_translator(translator: Translator) -> None:
    """Have all words translated by this one: it takes a context and a text."""
    _Words.translator = staticmethod(translator)


def QT_TRANSLATE_NOOP(_: str, text: str) -> str:
    """Return a text of a table as it is: it is translated where it is shown. The name is what pyside6-lupdate knows."""
    return text


def translate(context: str, text: str) -> str:
    """Return a text in the reader's language; `context` groups texts for whoever translates them."""
    return _Words.translator(context, text)
