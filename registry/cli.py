"""The command `gcom-registry`."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Annotated, NoReturn

import typer
from loguru import logger
from platformdirs import user_data_dir

from gcom import __version__
from gcom.errors import BadValue, Unavailable
from gcom.runtime import pyro
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


@app.callback(invoke_without_command=True)
def serve(
    context: typer.Context,
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST[:PORT[-PORT]]",
            help="Listen there, for other machines, by TLS; the first start makes an authority and a certificate.",
            show_default=False,
        ),
    ] = None,
    advertise: Annotated[
        str | None,
        typer.Option(metavar="HOST[:PORT]", help="The address for others, where it is another.", show_default=False),
    ] = None,
    cert: Annotated[
        str | None, typer.Option(envvar="GCOM_TLS_CERT", metavar="FILE", help="A certificate of your own.")
    ] = None,
    key: Annotated[str | None, typer.Option(envvar="GCOM_TLS_KEY", metavar="FILE", help="Its private key.")] = None,
    ca: Annotated[str | None, typer.Option(envvar="GCOM_TLS_CA", metavar="FILE", help="Its authority's.")] = None,
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
      gcom-registry --listen 10.0.0.5
                                    serve other machines; then gcom-registry invite NAME
      GCOM_REGISTRY=127.0.0.1:7500 gcom groups
                                    ask the one that runs on port 7500
    """
    if context.invoked_subcommand is not None:
        return
    stop: SimpleQueue[int] = SimpleQueue()  # its put, unlike Event.set, may interrupt its own get
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda caught, _frame: stop.put(caught))
    _log_to_stderr()
    sys.exit(_serve(Wanted(host, port, data, listen, advertise, (cert, key, ca)), stop))


@app.command()
def invite(
    name: Annotated[str, typer.Argument(help="The guest's name: as this member it may speak.", show_default=False)],
    admin: Annotated[bool, typer.Option("--admin", help="May remove and fork groups of others, too.")] = False,
    expires: Annotated[str, typer.Option(metavar="TIME", help="How long it is good: 30m, 1h, 2d.")] = "1h",
    data: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="The --data of the registry, if it has one.")
    ] = None,
) -> None:
    """Print an invitation for another machine, on which `gcom accept INVITATION` takes it up. It works once.

    \b
    Examples:
      gcom-registry invite bob
      gcom-registry invite carol --admin --expires 1d
    """
    from registry.invitations import invitation

    try:
        made, ends = invitation(authority_folder(data), name, admin, expires)
    except BadValue as error:
        _complain(str(error), EXIT_USAGE)
    _say(made)
    _warn(f"it works once, until {ends:%Y-%m-%d %H:%M} UTC; on {name}'s machine: gcom accept INVITATION")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asks for."""

    host: str
    port: str
    data: str | None
    listen: str | None
    advertise: str | None
    files: tuple[str | None, str | None, str | None]


def authority_folder(data: str | None) -> Path:
    """Return the folder of the authority: the user's own, or that of a registry with a folder of its own."""
    if data and data != "none":
        return Path(data) / "authority"
    return Path(user_data_dir("gcom", appauthor=False)) / "authority"


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


def _serve(wanted: Wanted, stop: SimpleQueue[int]) -> int:
    try:
        server = _server(wanted)
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


def _server(wanted: Wanted) -> RegistryServer:
    number = _number(wanted.port)
    if wanted.listen is None and not any(wanted.files):
        if wanted.advertise is not None:
            raise BadValue("--advertise is for --listen: on loopback the address is what it is")
        return RegistryServer(wanted.host, number, _folder(wanted.data, number))
    from registry.secure import secure_server

    place = pyro.place(wanted.listen or wanted.host, wanted.advertise, number)
    return secure_server(
        place, _folder(wanted.data, place.ports[0]), authority_folder(wanted.data), wanted.files, _warn
    )


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
