"""The command `gcom-registry`."""

from __future__ import annotations

import json
import sys
from typing import Annotated, NoReturn

import typer

from gcom import __version__
from gcom.errors import BadValue, GComError, RegistryUnavailable
from registry.operation import options
from registry.operation.serving import EXIT_FAILED, EXIT_NO_REGISTRY, EXIT_SETTINGS, EXIT_USAGE, authority_folder, serve
from registry.operation.settings import SETTINGS, BadSettings, ServiceSettings, default_file, settings

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
        print(f"gcom-registry {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def top(
    context: typer.Context,
    listen: options.Listen = None,
    advertise: options.Advertise = None,
    cert: options.Cert = None,
    key: options.Key = None,
    ca: options.Authority = None,
    host: options.Host = None,
    port: options.Port = None,
    data: options.Data = None,
    metrics: options.Metrics = None,
    config: options.Config = None,
    log_format: options.LogFormat = None,
    log_level: options.LogLevel = None,
    show_version: Annotated[  # noqa: ARG001 - its callback does it
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Run a registry: the directory in which groups are found, and a Pyro5 name server.

    It prints one line when it is ready, and stops on Ctrl-C or SIGTERM, once what is in progress is answered. Groups go
    on while it is away. The folder of --data must outlive it, and be used by no other: a registry that forgets how it
    voted may let two halves go on. When it starts again it gives no name away for some seconds, so that groups that
    have one can register. What is not given here may be set in the environment (GCOM_SERVE_PORT) and in a TOML file.

    \b
    Examples:
      gcom-registry                 listen on 127.0.0.1:7411
      gcom-registry --port 0        listen on any free port, and print which
      gcom-registry --data names    keep what it knows in the folder names
      gcom-registry --listen 10.0.0.5
                                    serve other machines; then gcom-registry invite NAME
      gcom-registry --metrics 9100  figures for Prometheus at http://127.0.0.1:9100/metrics
      gcom-registry --config /etc/gcom/registry.toml config
                                    show what that would set, and nothing else
      GCOM_REGISTRY=127.0.0.1:7500 gcom groups
                                    ask the one that runs on port 7500
    """
    where = {"listen": listen, "advertise": advertise, "host": host, "port": port, "data": data}
    files = {"cert": cert, "key": key, "ca": ca}
    context.obj = {
        **where,
        **files,
        "metrics": metrics,
        "config": config,
        "log_format": log_format,
        "log_level": log_level,
    }
    if context.invoked_subcommand is None:
        run(context)


@app.command()
def run(context: typer.Context) -> None:
    """Run a registry; the same as no command at all.

    \b
    Example:
      gcom-registry --port 7500 run
    """
    sys.exit(serve(_settings(context)))


@app.command()
def config(context: typer.Context, as_json: options.Json = False) -> None:
    """Show each setting, its value, and where it came from: a flag, a variable, a file, or the default.

    \b
    Examples:
      gcom-registry config
      gcom-registry --config /etc/gcom/registry.toml config --json
    """
    found = _settings(context)
    for setting in SETTINGS:
        value = found.values[setting.key]
        row = {"key": setting.key, "value": value.text, "source": value.source, "variable": setting.variable}
        if as_json:
            print(json.dumps(row, ensure_ascii=False))
        else:
            print(f"{setting.key:<11}{value.text or '-':<24}{value.source}")
    if found.file is None:
        _warn(f"no settings file was read; {str(default_file())!r} is read where it is there, or the one of --config")


@app.command()
def status(context: typer.Context, as_json: options.Json = False) -> None:
    """Show how the registry of these settings stands, of which it is asked: groups, connections, requests, refusals.

    It is asked as itself, so this needs the user, or the certificate, that the registry has. The exit status is 69 if
    none answers, and 1 if it is not ready.

    \b
    Examples:
      gcom-registry status
      gcom-registry --port 7500 status --json
    """
    from registry.operation.asking import page, registry_status

    try:
        told = registry_status(_settings(context))
    except BadValue as error:
        _complain(str(error), EXIT_USAGE)
    except RegistryUnavailable as error:
        _complain(str(error), EXIT_NO_REGISTRY)
    except GComError as error:
        _complain(str(error), EXIT_FAILED)
    print(json.dumps(told, ensure_ascii=False) if as_json else "\n".join(page(told)))
    sys.exit(EXIT_FAILED if told["unready"] else 0)


@app.command()
def invite(
    context: typer.Context,
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
        made, ends = invitation(authority_folder(data or _settings(context).get("data")), name, admin, expires)
    except BadValue as error:
        _complain(str(error), EXIT_USAGE)
    print(made)
    _warn(f"it works once, until {ends:%Y-%m-%d %H:%M} UTC; on {name}'s machine: gcom accept INVITATION")


def _settings(context: typer.Context) -> ServiceSettings:
    """Return the settings by the flags before the command, or end."""
    try:
        return settings(context.obj)
    except BadSettings as error:
        _complain(str(error), EXIT_SETTINGS)
    except BadValue as error:
        _complain(str(error), EXIT_USAGE)


def _warn(text: str) -> None:
    print(f"gcom-registry: {text}", file=sys.stderr, flush=True)


def _complain(text: str, status: int) -> NoReturn:
    _warn(text)
    sys.exit(status)
