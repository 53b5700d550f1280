"""The folders of the chat's files, by the customs of the system."""

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


def user_places(profile: str = "") -> Places:
    """Return the places of this user, and of one of its profiles; nothing is made yet."""
    folders = (platformdirs.user_config_path, platformdirs.user_state_path, platformdirs.user_data_path)
    # No profile is "", which adds no folder.
    config, state, data = (folder(NAME) / profile for folder in folders)
    return Places(config / "settings.toml", state / "session.toml", data / "history.db")
