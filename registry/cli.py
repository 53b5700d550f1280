"""The command `gcom-registry`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from queue import SimpleQueue
from typing import Annotated, NoReturn

import typer
from loguru import logger
from platformdirs import user_data_dir

from gcom import __version__
from gcom.errors import BadValue, Unavailable
from registry.server import RegistryServer

PORT_DEFAULT = "7411"
EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run as the entry point of the script."""
    app(prog_name="gcom-registry")


def _show_version(wanted: bool) -> None:
    if wanted:
        _say(f"gcom-registry {__version__}")
        raise typer.Exit


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Loopback address to listen on.")] = "127.0.0.1",
    port: Annotated[str, typer.Option(metavar="PORT", help="Port to listen on; 0 takes any free one.")] = PORT_DEFAULT,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Keep names and votes there; `none` keeps nothing. Default: a folder of the user's for each port; "
            "with --port 0 none.",
            show_default=False,
        ),
    ] = None,
    show_version: Annotated[  # noqa: ARG001 - its callback does it
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Run a registry: the directory in which groups are found, and a Pyro5 name server.

    It prints one line when it is ready, and stops on Ctrl-C or SIGTERM. Groups go on while it is away. The folder of
    --data must outlive it, and be used by no other: a registry that forgets how it voted may let two halves go on. When
    it starts again it gives no name away for some seconds, so that groups that have one can register.

    \b
    Examples:
      gcom-registry                 listen on 127.0.0.1:7411
      gcom-registry --port 0        listen on any free port, and print which
      gcom-registry --data names    keep what it knows in the folder names
      GCOM_REGISTRY=127.0.0.1:7500 gcom groups
                                    ask the one that runs on port 7500
    """
    stop: SimpleQueue[int] = SimpleQueue()  # its put, unlike Event.set, may interrupt its own get
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda caught, _frame: stop.put(caught))
    _log_to_stderr()
    sys.exit(_serve(host, port, data, stop))


def _folder(data: str | None, port: int) -> Path | None:
    """Return the folder of what must outlive the registry: kept at a port that is always the same, unless refused."""
    if data == "none":
        if port:
            _warn("it keeps nothing: after its end nobody can tell who has a name, nor let a group's rest go on")
        return None
    # A port that nobody knew before has no history: there is nothing to find in a folder.
    if data is None and not port:
        return None
    return Path(data) if data else Path(user_data_dir("gcom", appauthor=False)) / f"registry-{port}"


def _serve(host: str, port: str, data: str | None, stop: SimpleQueue[int]) -> int:
    try:
        number = _number(port)
        server = RegistryServer(host, number, _folder(data, number))
    except BadValue as error:
        _complain(str(error), EXIT_USAGE)
    # The port is taken: by far the most common cause is a registry that runs already.
    except Unavailable as error:
        _complain(f"{error}. Is a registry running there already? --port 0 takes any free port", EXIT_FAILED)
    server.start()
    _say(f"gcom-registry {__version__} {server.address} ready")
    if server.grace_s:
        _warn(f"starting: it waits {server.grace_s:.0f} s for groups that are there, before it gives a name away")
    # The main thread only waits: handlers run in it, and nothing else does that a signal could break into.
    caught = stop.get()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once
    server.close()
    return EXIT_INTERRUPTED if caught == signal.SIGINT else 0


def _number(port: str) -> int:
    """Return the port; the command line's own error would not name the value."""
    if not port.isascii() or not port.isdigit():
        raise BadValue(f"port {port!r} is not 0 to 65535")
    return int(port)


def _say(line: str) -> None:
    """Print to standard output, which may be closed: a service that nobody reads goes on."""
    try:
        print(line, flush=True)
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - lives as long as the process


def _warn(text: str) -> None:
    print(f"gcom-registry: {text}", file=sys.stderr, flush=True)


def _complain(text: str, status: int) -> NoReturn:
    print(f"gcom-registry: {text}", file=sys.stderr)
    sys.exit(status)


def _log_to_stderr() -> None:
    logger.remove()
    if sys.stderr is not None:
        logger.add(sys.stderr, level="WARNING", format="gcom-registry: {message}", diagnose=False)
    logger.enable("gcom")
