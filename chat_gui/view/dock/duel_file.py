"""The duel's picture as a file, without a window: `python -m chat_gui.view.dock.duel_file FILE` (offscreen)."""

from __future__ import annotations

import sys

from PySide6.QtGui import QFont, QPalette
from PySide6.QtWidgets import QApplication

from chat_gui.client.duel import SEED, DuelProcess
from chat_gui.view.desktop.style import OutlinedStyle
from chat_gui.view.dock.duel_picture import render_duel


def write_duel(path: str, palette: QPalette, font: QFont, seed: int = SEED, scale: float = 2.0) -> bool:
    """Run a duel, and write its picture; return whether it was written. Raises DuelFailed."""
    runs = {run.ordering: run for run in DuelProcess(seed).runs()}
    return bool(render_duel(runs, palette, font, scale).save(path, quality=0))  # 0: the smallest file


if __name__ == "__main__":
    app = QApplication(["gcom-chat"])
    app.setStyle(OutlinedStyle())
    sys.exit(not write_duel(sys.argv[1], app.palette(), app.font()))
