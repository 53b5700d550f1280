"""The duel's picture as a file, without a window: `python -m gcom_chat.view.dock.duel_file [--pair] FILE` (offscreen).

With `--pair` it shows NONORDERED beside CAUSALTOTAL, below a headline.
"""

from __future__ import annotations

import sys

from PySide6.QtGui import QFont, QPalette
from PySide6.QtWidgets import QApplication

from gcom_chat.client.duel import SEED, DuelProcess
from gcom_chat.view.desktop.style import OutlinedStyle
from gcom_chat.view.dock.duel_picture import render_duel, render_pair


def write_duel(path: str, palette: QPalette, font: QFont, pair: bool = False, scale: float = 2.0) -> bool:
    """Run a duel, and write its picture; return whether it was written. Raises DuelFailed."""
    runs = {run.ordering: run for run in DuelProcess(SEED).runs()}
    render = render_pair if pair else render_duel
    return bool(render(runs, palette, font, scale).save(path, quality=0))  # 0: the smallest file


if __name__ == "__main__":
    app = QApplication(["gcom-chat"])
    app.setStyle(OutlinedStyle())
    *options, path = sys.argv[1:]
    sys.exit(not write_duel(path, app.palette(), app.font(), "--pair" in options))
