"""The command `gcom-chat`."""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated

import typer

from gcom import __version__

EXIT_FAILED = 1
app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run as the entry point of the script."""
    app(prog_name="gcom-chat")


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"gcom-chat {__version__}")
        raise typer.Exit


@app.command()
def chat(
    registry: Annotated[str, typer.Option(metavar="HOST:PORT", help="The registry; else the last one.")] = "",
    nick: Annotated[str, typer.Option(metavar="NAME", help="Your name in every group; else the last one.")] = "",
    group: Annotated[list[str] | None, typer.Option(metavar="GROUP", help="A group to join; again for more.")] = None,
    show_version: Annotated[  # noqa: ARG001 - its callback does it
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Chat in groups, and see how they keep their promises.

    \b
    Examples:
      gcom-chat                                       begin where you left off
      gcom-chat --nick alice --group news             join a group at once
      gcom-chat --registry 127.0.0.1:7500 --nick bob  at another registry
    """
    sys.exit(_run(registry or os.environ.get("GCOM_REGISTRY", ""), nick, tuple(group or ())))


def _run(registry: str, nick: str, groups: tuple[str, ...]) -> int:
    if sys.platform.startswith("linux") and not _has_display():
        print("gcom-chat: there is no display: start it in a desktop session, or with Xvfb", file=sys.stderr)
        return EXIT_FAILED
    try:
        from PySide6.QtCore import QTimer
        from PySide6.QtWidgets import QApplication

        from chat_gui.storage.places import user_places
        from chat_gui.view.window import ChatWindow
    except ImportError as error:
        print(f"gcom-chat: Qt cannot be loaded: {error}. Install it: pip install 'gcom[gui]'", file=sys.stderr)
        return EXIT_FAILED
    qt = QApplication(["gcom-chat"])
    qt.setApplicationName("gcom-chat")
    qt.setApplicationDisplayName("GCom chat")
    qt.setStyle("Fusion")
    window = ChatWindow(nick, registry, groups, user_places())
    window.show()
    signal.signal(signal.SIGINT, lambda *_: window.close())
    awake = QTimer(interval=200)  # Python sees signals only between its own instructions
    awake.timeout.connect(lambda: None)
    awake.start()
    return qt.exec()


def _has_display() -> bool:
    offscreen = os.environ.get("QT_QPA_PLATFORM", "").split(":")[0] in ("offscreen", "minimal", "vnc")
    return offscreen or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
