"""The command `gcom-chat`."""

from __future__ import annotations

import os
import re
import signal
import sys
from typing import Annotated

import typer

from chat_gui.display import advice, import_advice
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
    profile: Annotated[
        str, typer.Option(metavar="NAME", help="Settings, tabs and scrollback of its own, and a window of its own.")
    ] = "",
    show_version: Annotated[  # noqa: ARG001 - its callback does it
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Chat in groups, and see how they keep their promises.

    \b
    Examples:
      gcom-chat                                       begin where you left off
      gcom-chat --nick alice --group news             join a group at once
      gcom-chat --profile bob --nick bob              a second window, as somebody else
      gcom-chat --registry 127.0.0.1:7500 --nick bob  at another registry
    """
    sys.exit(_run(registry or os.environ.get("GCOM_REGISTRY", ""), nick, tuple(group or ()), _checked(profile)))


def _checked(profile: str) -> str:
    if profile and not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", profile):
        raise typer.BadParameter("a profile has 1 to 40 letters, digits, underscores and hyphens")
    return profile


def _run(registry: str, nick: str, groups: tuple[str, ...], profile: str) -> int:
    if missing := advice():
        return _fail(missing)
    try:
        from PySide6.QtCore import QTimer
        from PySide6.QtWidgets import QApplication

        from chat_gui.storage.places import user_places
        from chat_gui.view.desktop.instance import SingleInstance
        from chat_gui.view.window import ChatWindow
    except ImportError as error:
        return _fail(import_advice(error))
    qt = QApplication(["gcom-chat"])
    qt.setApplicationName("gcom-chat")
    qt.setApplicationDisplayName("GCom chat")
    qt.setStyle("Fusion")
    places = user_places(profile)
    single = SingleInstance(places.session)
    if not single.claim(groups):
        print("gcom-chat: it runs already, and its window comes to the front (another one beside it: --profile NAME)")
        return 0
    window = ChatWindow(nick, registry, groups, places)
    single.asked.connect(window.come_forward)
    window.show()
    signal.signal(signal.SIGINT, lambda *_: window.close())
    awake = QTimer(interval=200)  # Python sees signals only between its own instructions
    awake.timeout.connect(lambda: None)
    awake.start()
    return qt.exec()


def _fail(why: str) -> int:
    print(f"gcom-chat: {why}", file=sys.stderr)
    return EXIT_FAILED
