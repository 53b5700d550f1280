"""Settings and session as TOML: read at the start, written whole: a new file takes the place of the old one."""

from __future__ import annotations

import json
import os
import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from gcom_chat.model.settings import SavedSession, Settings
from gcom_chat.model.texts.words import translate

_HEAD = "# Written by gcom-chat; it may be edited while no chat is running.\n"


class Table(NamedTuple):
    """A file's content, in words what was wrong with it, and whether it may be replaced."""

    values: dict[str, Any]
    trouble: str = ""
    replaceable: bool = True


def read_table(path: Path) -> Table:
    """Read a file; one that is no TOML is kept aside under another name."""
    try:
        return Table(tomllib.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        return Table({})
    # Not to be replaced: what cannot be read now, for want of a right or of a network drive, may be in order.
    except OSError as error:
        text = translate(
            "storage", "{} cannot be read ({}): this chat begins with its defaults, and leaves the file as it is"
        )
        return Table({}, text.format(path, error.strerror), replaceable=False)
    # No TOML, or no UTF-8: both errors are ValueErrors.
    except ValueError:
        aside = path.with_name(f"{path.name}.damaged")
        try:
            path.replace(aside)
        except OSError:
            return Table({}, translate("storage", "{} is damaged: this chat begins with its defaults").format(path))
        text = translate("storage", "{} is damaged and kept as {}: this chat begins with its defaults")
        return Table({}, text.format(path, aside.name))


def write_text(path: Path, text: str) -> None:
    """Replace a file's text; whoever reads it sees the old or the new one. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # A name for each process: of two that write at once none may rename the other's half.
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    beside.write_text(text, "utf-8")
    # In the same folder, since a rename replaces a file at once only within one file system.
    beside.replace(path)


def settings_text(settings: Settings) -> str:
    """Return settings as TOML."""
    return _HEAD + _lines(asdict(settings))


def session_text(session: SavedSession) -> str:
    """Return a session as TOML."""
    table = asdict(session)
    tabs = table.pop("tabs")
    return _HEAD + _lines(table) + "".join(f"\n[[tabs]]\n{_lines(tab)}" for tab in tabs)


def _lines(table: dict[str, Any]) -> str:
    return "".join(f"{name} = {_value(value)}\n" for name, value in table.items())


def _value(value: Any) -> str:
    """Return a value as TOML, whose strings, numbers and lists are JSON's but for two characters."""
    text = json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
    # TOML forbids a raw DEL, which JSON leaves alone; a lone surrogate has no UTF-8, and becomes a question mark.
    return text.replace("\x7f", "\\u007f").encode("utf-8", "replace").decode()
