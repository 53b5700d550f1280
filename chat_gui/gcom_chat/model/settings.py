"""Settings and session, what was chosen and what was open: plain data, from files that anybody may have edited.

A field that is missing or makes no sense has its default, so that an old or a damaged file never keeps a chat from
starting.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

import gcom

REGISTRY = "127.0.0.1:7411"  # where one is by default
_CHOICES = ("ordering", "multicast", "netsplit", "tie_breaker", "detection")
ZOOMS = (50, 60, 70, 80, 90, 100, 110, 125, 150, 175, 200, 250, 300)
HISTORY_MIN, HISTORY_MAX = 100, 1_000_000
CLOCKS = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%d.%m. %H:%M", "%m-%d %H:%M:%S")  # as strftime takes them
DRAFT_CHARS_MAX = 1 << 20  # a draft is written at each pause of typing, whole


class Theme(StrEnum):
    """Light, dark, or as the system has it."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True, slots=True)
class Settings:
    """The choices of the user. `words`: what counts as a mention beside the own name; `font`: empty for the system's.

    `history_max`: rows of scrollback kept per group; `language`: empty for the system's; `log_folder`: where delivery
    logs are looked for, and written while `write_logs`; `listen` and `advertise`: where members reach this chat, empty:
    where the registry does; `shortcuts`: keys that were chosen, as "action=keys".
    """

    nick: str = ""
    registry: str = ""
    theme: str = Theme.SYSTEM.value
    font: str = ""
    font_points: int = 0  # 0: the system's
    zoom: int = 100
    language: str = ""
    history_max: int = 20_000
    collapse: bool = True
    notify: bool = True
    do_not_disturb: bool = False
    tray: bool = False
    words: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()  # members whose words are not shown
    clock: str = CLOCKS[0]  # how times are written
    log_folder: str = ""
    write_logs: bool = False
    listen: str = ""
    advertise: str = ""
    shortcuts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SavedTab:
    """A tab that was open. `marker`: the first row that was not seen, 0 for none; `promises`: by `promises_of`."""

    group: str
    draft: str = ""
    marker: int = 0
    unread: int = 0
    mentioned: int = 0
    promises: str = ""


@dataclass(frozen=True, slots=True)
class SavedSession:
    """The tabs that were open, in order; `geometry` is Qt's own word for the window, in base64.

    `dock_page`: the page of the dock that was in front; `dock_height` and `members_width`: 0 where they are not known.
    """

    tabs: tuple[SavedTab, ...] = ()
    current: str = ""
    geometry: str = ""
    dock_open: bool = False
    dock_page: str = ""
    dock_height: int = 0
    members_width: int = 0


def settings_of(table: Mapping[str, Any]) -> Settings:
    """Return the settings that a file's table holds, with defaults for what makes no sense."""
    found = _sensible(Settings, table)
    if found.get("theme") not in [theme.value for theme in Theme]:
        found.pop("theme", None)
    if found.get("clock") not in CLOCKS:
        found.pop("clock", None)
    for name in ("words", "ignored", "shortcuts"):
        several = table.get(name)
        found[name] = tuple(each for each in several if isinstance(each, str)) if isinstance(several, list) else ()
    # Within bounds rather than refused: a window that cannot be read could not be set right again.
    found["zoom"] = min(max(found.get("zoom", 100), ZOOMS[0]), ZOOMS[-1])
    found["font_points"] = min(max(found.get("font_points", 0), 0), 72)
    found["history_max"] = min(max(found.get("history_max", 20_000), HISTORY_MIN), HISTORY_MAX)
    return Settings(**found)


def session_of(table: Mapping[str, Any]) -> SavedSession:
    """Return the session that a file's table holds, without what makes no sense."""
    tabs = table.get("tabs")
    read = [_sensible(SavedTab, tab) for tab in tabs if isinstance(tab, dict)] if isinstance(tabs, list) else []
    # By group, since two tabs of one group would both take its rows.
    by_group = {tab["group"]: SavedTab(**tab) for tab in read if tab.get("group")}
    return SavedSession(tuple(by_group.values()), **_sensible(SavedSession, table))


def promises_of(definition: gcom.Definition) -> str:
    """Return what a group promises, as a text from which it can be founded again."""
    words = {name: str(getattr(definition, name)) for name in _CHOICES}
    return json.dumps({**words, "static": definition.static, "safe": definition.safe, "signed": definition.signed})


def definition_of(group: str, promises: str) -> gcom.Definition | None:
    """Return a group's definition as `promises_of` wrote it down; None for what is none."""
    try:
        return gcom.Definition.parse(group, **json.loads(promises))
    except (gcom.BadValue, ValueError, TypeError, AttributeError):
        return None


def _sensible(kind: type[Settings | SavedTab | SavedSession], table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain fields of a table that have the type of their default."""
    wanted = {field.name: type(field.default) if field.name != "group" else str for field in fields(kind)}
    return {
        # By the exact type: True is a number in Python, and no zoom.
        name: table[name]
        for name, type_ in wanted.items()
        if type(table.get(name)) is type_ and type_ is not tuple
    }


def next_zoom(zoom: int, step: int) -> int:
    """Return the zoom that is a step up or down; 0 is back to 100."""
    if not step:
        return 100
    beyond = [each for each in ZOOMS if (each > zoom if step > 0 else each < zoom)]
    return (min(beyond) if step > 0 else max(beyond)) if beyond else zoom
