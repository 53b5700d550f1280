"""The command `gcom-chat`."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack
from typing import Annotated

import typer

import gcom
from chat_gui.bench import bench
from chat_gui.demo.companions import Companions

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
        print(f"gcom-chat {gcom.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def chat(
    context: typer.Context,
    registry: Annotated[str, typer.Option(metavar="HOST:PORT", help="The registry; else the last one.")] = "",
    nick: Annotated[str, typer.Option(metavar="NAME", help="Your name in every group; else the last one.")] = "",
    group: Annotated[list[str] | None, typer.Option(metavar="GROUP", help="A group to join; again for more.")] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Needs nothing: a registry and three companions of its own, and a tour.")
    ] = False,
    exit_after: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="End by itself, and print what happened.")
    ] = None,
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
      gcom-chat --registry 127.0.0.1:7500 --nick bob  at another registry
    """
    if context.invoked_subcommand:
        return
    with ExitStack() as stack:
        stage = _stage(stack) if demo else None
        if stage:
            registry, nick, group = stage.registry, nick or "you", []
        sys.exit(_run(registry or os.environ.get("GCOM_REGISTRY", ""), nick, tuple(group or ()), stage, exit_after))


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


def _stage(stack: ExitStack) -> Companions:
    stage = Companions(stack.enter_context(gcom.embedded()).address)
    stack.callback(stage.close)
    return stage


def _run(registry: str, nick: str, groups: tuple[str, ...], stage: Companions | None, exit_after: float | None) -> int:
    if sys.platform.startswith("linux") and not _has_display():
        print("gcom-chat: there is no display: start it in a desktop session, or with Xvfb", file=sys.stderr)
        return EXIT_FAILED
    try:
        from PySide6.QtCore import QTimer
        from PySide6.QtWidgets import QApplication

        from chat_gui.view.window import ChatWindow
    except ImportError as error:
        print(f"gcom-chat: Qt cannot be loaded: {error}. Install it: pip install 'gcom[gui]'", file=sys.stderr)
        return EXIT_FAILED
    qt = QApplication(["gcom-chat"])
    qt.setApplicationName("gcom-chat")
    qt.setApplicationDisplayName("GCom chat")
    qt.setStyle("Fusion")
    window = ChatWindow(nick, registry, groups, demo=stage is not None)
    window.show()
    signal.signal(signal.SIGINT, lambda *_: window.close())
    awake = QTimer(interval=200)  # Python sees signals only between its own instructions
    awake.timeout.connect(stage.poll if stage else lambda: None)
    awake.start()
    if stage:
        window.show_tour()
    if exit_after is not None:
        QTimer.singleShot(round(exit_after * 1000), window.close)
    status = qt.exec()
    if exit_after is not None:
        print(window.summary())
    return status


def _has_display() -> bool:
    offscreen = os.environ.get("QT_QPA_PLATFORM", "").split(":")[0] in ("offscreen", "minimal", "vnc")
    return offscreen or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
