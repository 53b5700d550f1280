"""Where the chat keeps its files, by the customs of the system."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import platformdirs

NAME = "gcom-chat"


@dataclass(frozen=True, slots=True)
class Places:
    """Three files: what the user chose, what was open, and what was said."""

    settings: Path
    session: Path
    history: Path


def user_places() -> Places:
    """Return the places of this user; nothing is made yet."""
    config, state = Path(platformdirs.user_config_dir(NAME)), Path(platformdirs.user_state_dir(NAME))
    return Places(
        config / "settings.toml", state / "session.toml", Path(platformdirs.user_data_dir(NAME)) / "history.db"
    )
