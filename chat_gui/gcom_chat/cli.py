"""The command `gcom-chat`."""

from __future__ import annotations

import os
import re
import signal
import sys
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

import gcom
from gcom_chat.bench import bench
from gcom_chat.demo.companions import Companions
from gcom_chat.demo.script import VISITOR
from gcom_chat.display import advice, import_advice
from gcom_chat.storage.places import Places, user_places

EXIT_FAILED, EXIT_NO_QT = 1, 3
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
        print(f"gcom-chat {gcom.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def chat(
    context: typer.Context,
    registry: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="The registry, or several with commas; else the last one.")
    ] = "",
    nick: Annotated[str, typer.Option(metavar="NAME", help="Your name in every group; else the last one.")] = "",
    group: Annotated[list[str] | None, typer.Option(metavar="GROUP", help="A group to join; again for more.")] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Needs nothing: a registry and three companions of its own, and a tour.")
    ] = False,
    exit_after: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="End by itself, and print what happened.")
    ] = None,
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
      gcom-chat --demo                                see everything within two minutes
      gcom-chat                                       begin where you left off
      gcom-chat --nick alice --group news             join a group at once
      gcom-chat --profile bob --nick bob              a second window, as somebody else
      gcom-chat --registry 127.0.0.1:7500 --nick bob  at another registry
    """
    # Before companions and their registry are started, which would take seconds and then be for nothing.
    if find_spec("PySide6") is None:
        print("gcom-chat: PySide6 is not installed: pip install 'gcom[gui]'", file=sys.stderr)
        sys.exit(EXIT_NO_QT)
    if context.invoked_subcommand:
        return
    with ExitStack() as stack:
        # A demonstration keeps no files and claims no socket: it runs beside the user's own chat.
        companions = _companions(stack) if demo else None
        if companions:
            # No group to join at once: DemoEntry joins when the companions are in it, and so older.
            registry, nick, group = companions.registry, nick or VISITOR, []
        places = None if demo else user_places(_checked(profile))
        registry = registry or os.environ.get("GCOM_REGISTRY", "")
        sys.exit(_run(registry, nick, tuple(group or ()), places, companions, exit_after))


@app.command("bench")
def measure(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object per figure.")] = False,
) -> None:
    """Measure the window without a screen: start, stalls in a flood, memory, typing, idle tabs.

    \b
    Examples:
      gcom-chat bench          a line per figure, beside what it may be at most; status 1 if one is above
      gcom-chat bench --json   the same for programs
    """
    sys.exit(bench(as_json))


def _companions(stack: ExitStack) -> Companions:
    # One file of faults for all: a link that debug mode cuts is cut for both sides.
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="gcom-chat-")))
    faults = folder / "faults"
    faults.write_text("seed=1", "utf-8")
    os.environ["GCOM_FAULTS"] = f"@{faults}"
    companions = Companions(stack.enter_context(gcom.embedded()).address, str(folder / "logs"))
    # A stack unwinds backwards: the companions leave while their registry still answers.
    stack.callback(companions.close)
    return companions


def _checked(profile: str) -> str:
    if profile and not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", profile):
        raise typer.BadParameter("a profile has 1 to 40 letters, digits, underscores and hyphens")
    return profile


def _run(
    registry: str,
    nick: str,
    groups: tuple[str, ...],
    places: Places | None,
    companions: Companions | None,
    exit_after: float | None,
) -> int:
    if missing := advice():
        return _fail(missing)
    try:
        # Not at the top of the module: --help, and the advice on what is missing, work without Qt.
        from PySide6.QtCore import QTimer
        from PySide6.QtWidgets import QApplication

        from gcom_chat.view.desktop.demo import DemoEntry
        from gcom_chat.view.desktop.instance import SingleInstance
        from gcom_chat.view.desktop.style import OutlinedStyle
        from gcom_chat.view.window import ChatWindow
    except ImportError as error:
        return _fail(import_advice(error))
    qt = QApplication(["gcom-chat"])
    qt.setApplicationName("gcom-chat")
    qt.setApplicationDisplayName("GCom chat")
    qt.setDesktopFileName("gcom-chat")
    qt.setStyle(OutlinedStyle())
    # Before the window is made, which would open the same files and connect under the same name.
    single = SingleInstance(places.session) if places else None
    if single and not single.claim(groups):
        print("gcom-chat: it runs already, and its window comes to the front (another one beside it: --profile NAME)")
        return 0
    window = ChatWindow(nick, registry, groups, places, companions.logs if companions else "")
    if single:
        single.asked.connect(window.come_forward)
    window.show()

    def end(*_: object) -> None:
        # Closed as by hand: the groups are left, and the session is saved; then whatever dialog is open, too.
        window.close()
        qt.quit()

    for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        signal.signal(number, end)
    awake = QTimer(interval=200)  # Python sees signals only between its own instructions
    awake.timeout.connect(companions.poll if companions else lambda: None)
    awake.start()
    if companions:
        window.show_tour()
        DemoEntry(window, window)
    if exit_after is not None:
        QTimer.singleShot(round(exit_after * 1000), window.close)
    status = qt.exec()
    if exit_after is not None:
        print(window.chat.summary)
    return status


def _fail(why: str) -> int:
    print(f"gcom-chat: {why}", file=sys.stderr)
    return EXIT_FAILED
