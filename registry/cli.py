"""The command `gcom-registry`. Without a sub-command it is `gcom-registry run`.

Exit status: 0 done; 1 bad state; 2 a bad flag; 69 no registry; 78 a bad setting in the environment or in a file; 130
Ctrl-C. SIGTERM ends `run` with 0.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from gcom import __version__
from gcom.errors import BadValue, Unavailable
from registry.operation import options, settings
from registry.operation.settings import BadConfiguration, RegistrySettings

PROGRAM = "gcom-registry"
EXIT_FAILED, EXIT_USAGE, EXIT_CONFIG = 1, 2, 78
OF_TOP = ("-h", "--help", "--version")

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run as the entry point of the script."""
    app(_with_command(sys.argv[1:]), prog_name=PROGRAM)


def _with_command(words: Sequence[str]) -> list[str]:
    """Return the words with `run` before flags that no command stands before."""
    if not words or (words[0].startswith("-") and words[0] not in OF_TOP):
        return ["run", *words]
    return list(words)


def _show_version(wanted: bool) -> None:
    if wanted:
        _say(f"gcom-registry {__version__}")
        raise typer.Exit


@app.callback()
def top(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Run a registry, the directory in which groups are found, or look at one that runs.

    Without a command it is `gcom-registry run`. Each setting is a flag, else a variable GCOM_SERVE_*, else a line of a
    TOML file, else its default; `gcom-registry config` shows which. Exit status: 0 done, 1 bad state, 2 a bad flag, 69
    no registry, 78 a bad setting in the environment or in the file, 130 Ctrl-C.

    \b
    Examples:
      gcom-registry                 listen on 127.0.0.1:7411
      gcom-registry --port 0        listen on any free port, and print which
      gcom-registry run --help      all that can be set
      gcom-registry --listen 10.0.0.5
                                    serve other machines; then gcom-registry invite NAME
      GCOM_REGISTRY=127.0.0.1:7500 gcom groups
                                    ask the one that runs on port 7500
    """


@app.command()
def run(
    listen: options.Listen = None,
    advertise: options.Advertise = None,
    cert: options.Cert = None,
    key: options.CertKey = None,
    ca: options.Authority = None,
    host: options.Host = None,
    port: options.Port = None,
    data: options.Data = None,
    metrics: options.Metrics = None,
    log_format: options.LogFormat = None,
    log_level: options.LogLevel = None,
    config: options.Config = None,
) -> None:
    """Run a registry: the directory in which groups are found, and a Pyro5 name server.

    It prints one line when it is ready. On Ctrl-C or SIGTERM it answers what it was asked, and ends; a second signal
    ends it at once. Groups go on while it is away. The folder of --data must outlive it, and be used by no other: a
    registry that forgets how it voted may let two halves go on. When it starts again it gives no name away for some
    seconds, so that groups that have one can register.

    \b
    Examples:
      gcom-registry run                      listen on 127.0.0.1:7411
      gcom-registry run --data names         keep what it knows in the folder names
      gcom-registry run --listen 10.0.0.5    serve other machines; then gcom-registry invite NAME
      gcom-registry run --metrics 9100       figures for Prometheus at http://127.0.0.1:9100/metrics
      GCOM_SERVE_PORT=7500 gcom-registry run --config /etc/gcom/registry.toml --log-format json
    """
    from registry.operation import serving

    place = {"listen": listen, "advertise": advertise, "tls_cert": cert, "tls_key": key, "tls_ca": ca, "host": host}
    rest = {"port": port, "data": data, "metrics": metrics, "log_format": log_format, "log_level": log_level}
    found = _load(config, place | rest)
    try:
        status = serving.run(found, _say)
    except BadValue as error:
        _complain_of(error)
    except Unavailable as error:
        _complain(f"{error}. Is a registry running there already? --port 0 takes any free port", EXIT_FAILED)
    sys.exit(status)


@app.command("config")
def show_config(
    listen: options.Listen = None,
    advertise: options.Advertise = None,
    cert: options.Cert = None,
    key: options.CertKey = None,
    ca: options.Authority = None,
    host: options.Host = None,
    port: options.Port = None,
    data: options.Data = None,
    metrics: options.Metrics = None,
    log_format: options.LogFormat = None,
    log_level: options.LogLevel = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Show each setting that `run` would have with the same flags, and where it is from.

    \b
    Examples:
      gcom-registry config
      gcom-registry config --config /etc/gcom/registry.toml --json
    """
    from gcom.cli.output import speak_as
    from registry.commands import config as command

    speak_as(PROGRAM)
    place = {"listen": listen, "advertise": advertise, "tls_cert": cert, "tls_key": key, "tls_ca": ca, "host": host}
    rest = {"port": port, "data": data, "metrics": metrics, "log_format": log_format, "log_level": log_level}
    command.show(_load(config, place | rest), settings.settings_file(config, os.environ)[0], as_json)


@app.command()
def invite(
    name: Annotated[str, typer.Argument(help="The guest's name: as this member it may speak.", show_default=False)],
    admin: Annotated[bool, typer.Option("--admin", help="May remove and fork groups of others, too.")] = False,
    expires: Annotated[str, typer.Option(metavar="TIME", help="How long it is good: 30m, 1h, 2d.")] = "1h",
    data: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="The --data of the registry, if it has one.")
    ] = None,
    config: options.Config = None,
) -> None:
    """Print an invitation for another machine, on which `gcom accept INVITATION` takes it up. It works once.

    \b
    Examples:
      gcom-registry invite bob
      gcom-registry invite carol --admin --expires 1d
    """
    from registry.invitations import invitation

    try:
        made, ends = invitation(_load(config, {"data": data}).authority, name, admin, expires)
    except BadValue as error:
        _complain_of(error)
    _say(made)
    _warn(f"it works once, until {ends:%Y-%m-%d %H:%M} UTC; on {name}'s machine: gcom accept INVITATION")


def _load(config: str | None, flags: dict[str, str | None]) -> RegistrySettings:
    try:
        return settings.load(flags, os.environ, config)
    except BadValue as error:
        _complain_of(error)


def _say(line: str) -> None:
    """Print to standard output, which may be closed: a service that nobody reads goes on."""
    try:
        print(line, flush=True)
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - lives as long as the process


def _warn(text: str) -> None:
    print(f"{PROGRAM}: {text}", file=sys.stderr, flush=True)


def _complain_of(error: BadValue) -> NoReturn:
    _complain(str(error), EXIT_CONFIG if isinstance(error, BadConfiguration) else EXIT_USAGE)


def _complain(text: str, status: int) -> NoReturn:
    print(f"{PROGRAM}: {text}", file=sys.stderr)
    sys.exit(status)
