"""The command `gcom-registry`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from gcom import __version__
from gcom.errors import BadValue, GComError, RegistryUnavailable
from gcom.values import names
from gcom_registry.operation import options
from gcom_registry.operation.serving import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_NO_REGISTRY,
    EXIT_SETTINGS,
    EXIT_USAGE,
    authority_folder,
    serve,
)
from gcom_registry.operation.settings import KEYS, SETTINGS, BadSettings, ServiceSettings, default_file, settings

if TYPE_CHECKING:  # commands import what they need
    from gcom.cli.output import Output
    from gcom.runtime.registry.directory_client import DirectoryClient

# `--config` is no setting, as it names where settings are; it is a flag of the top command all the same.
FLAGS = frozenset(["--config", *(setting.flag for setting in SETTINGS)])

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    from gcom.cli.output import open_standard_descriptors

    open_standard_descriptors()
    try:
        # Else the parser would print its errors by itself, in several lines and its own words.
        sys.exit(app(_flags_first(sys.argv[1:]), prog_name="gcom-registry", standalone_mode=False) or 0)
    except typer.TyperException as error:
        from gcom.cli.wording import refusal

        _complain(" ".join(refusal(error).split()), EXIT_USAGE)
    except BadValue as error:  # a name that cannot be
        _complain(str(error), EXIT_USAGE)
    except typer.Abort:  # Ctrl-C in a command that has no end of its own for it
        sys.exit(EXIT_INTERRUPTED)


# They are flags of the top command: behind `status`, say, where people write them, the parser would refuse them.
def _flags_first(words: Sequence[str]) -> list[str]:
    """Return the words with the settings' flags, and their values, before the command, wherever they stood."""
    flags: list[str] = []
    rest: list[str] = []
    given = iter(words)
    for word in given:
        # Behind it nothing is a flag, whatever it looks like.
        if word == "--":
            rest += [word, *given]
        elif word.partition("=")[0] not in FLAGS:
            rest.append(word)
        else:
            flags += [word] if "=" in word else [word, *islice(given, 1)]
    return flags + rest


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
    rights: options.Rights = None,
    groups_max: options.GroupsMax = None,
    groups_each: options.GroupsEach = None,
    empty_days: options.EmptyDays = None,
    metrics: options.Metrics = None,
    config: options.Config = None,
    log_format: options.LogFormat = None,
    log_level: options.LogLevel = None,
    show_version: Annotated[
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
      gcom-registry config --config /etc/gcom/registry.toml
                                    show what that would set, and nothing else
      GCOM_REGISTRY=127.0.0.1:7500 gcom groups
                                    ask the one that runs on port 7500
    """
    # For the sub-command, which works out the settings by these: `run`, and all others alike.
    given = locals()
    context.obj = {key: given[key] for key in ("config", *KEYS)}
    if context.invoked_subcommand is None:
        run(context)


@app.command()
def run(context: typer.Context) -> None:
    """Run a registry; the same as no command at all. Its flags are those of `gcom-registry --help`.

    \b
    Examples:
      gcom-registry run --port 7500
      gcom-registry run --config /etc/gcom/registry.toml --log-format json
    """
    sys.exit(serve(_settings(context)))


@app.command()
def config(context: typer.Context, as_json: options.Json = False) -> None:
    """Show each setting, its value, and where it came from: a flag, a variable, a file, or the default.

    \b
    Examples:
      gcom-registry config
      gcom-registry config --config /etc/gcom/registry.toml --json
    """
    found = _settings(context)
    for setting in SETTINGS:
        value = found.values[setting.key]
        row = {"key": setting.key, "value": value.text, "source": value.source, "variable": setting.variable}
        if as_json:
            print(json.dumps(row, ensure_ascii=False))
        else:
            # A dash for nothing: so each line has three words, and a script can split it.
            print(f"{setting.key:<13}{value.text or '-':<24}{value.source}")
    if found.file is None:
        _warn(f"no settings file was read; {str(default_file())!r} is read where it is there, or the one of --config")


@app.command()
def doctor(context: typer.Context, as_json: options.Json = False) -> None:
    """Say what is wrong with the set-up of the registry of these settings, whether it runs or not; exit status 1 if
    something is.

    It looks at the settings, who may write the data folder, what is in it, who has the port, the clock; and for other
    machines at the authority, the certificate, the rules about rights and the address for others. It changes nothing.

    \b
    Examples:
      gcom-registry doctor
      gcom-registry doctor --config /etc/gcom/registry.toml
      gcom-registry doctor --listen 10.0.0.5 --json
    """
    from gcom.cli.findings import show
    from gcom.cli.output import Output, OutputClosed
    from gcom_registry.operation.doctor import examine

    with suppress(OutputClosed):
        sys.exit(0 if show(examine(context.obj), Output(), as_json) else EXIT_FAILED)


@app.command()
def status(context: typer.Context, as_json: options.Json = False) -> None:
    """Show how the registry of these settings stands, of which it is asked: groups, connections, requests, refusals.

    It is asked as itself, so this needs the user, or the certificate, that the registry has. The exit status is 69 if
    none answers, and 1 if it is not ready.

    \b
    Examples:
      gcom-registry status
      gcom-registry status --port 7500 --json
    """
    from gcom_registry.operation.asking import page, registry_status

    with _complaining():
        told = registry_status(_settings(context))
    print(json.dumps(told, ensure_ascii=False) if as_json else "\n".join(page(told)))
    # An answer alone does not say that newcomers may be sent to it: a probe that runs this command needs to know.
    sys.exit(EXIT_FAILED if told["unready"] else 0)


@app.command()
def backup(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for the copy.", show_default=False)],
) -> None:
    """Copy all that the registry of these settings must not lose into a new folder, while it runs or not.

    The copy has names and votes, and off loopback the authority with its keys, records and rules: keep it as secret as
    these. To restore it, stop the registry, put the copy in the place of the data folder, and start the registry.

    \b
    Examples:
      gcom-registry backup /backup/gcom-monday
      gcom-registry backup --config /etc/gcom/registry.toml /backup/gcom-monday
    """
    from gcom_registry.operation.backup import back_up

    with _complaining():
        files = back_up(_settings(context), folder)
    _warn(f"copied {', '.join(files)} to {str(folder)!r}: keep it secret")


@app.command()
def groups(context: typer.Context, as_json: options.Json = False) -> None:
    """List the groups that the registry of these settings knows, as `gcom groups` does; it is asked as itself.

    \b
    Examples:
      gcom-registry groups
      gcom-registry groups --port 7500 --json
    """
    from gcom.cli.commands.directory import show_groups

    _show(context, lambda client, output: show_groups(client, output, as_json))


@app.command()
def members(
    context: typer.Context,
    group: Annotated[
        str, typer.Argument(metavar="GROUP", parser=names.group_name, help="The group's name.", show_default=False)
    ],
    as_json: options.Json = False,
) -> None:
    """List the members of a group, the leader first, as `gcom members` does; the registry is asked as itself.

    \b
    Examples:
      gcom-registry members news
      gcom-registry members news --json
    """
    from gcom.cli.commands.directory import show_members

    _show(context, lambda client, output: show_members(client, output, group, as_json))


def _show(context: typer.Context, show: Callable[[DirectoryClient, Output], None]) -> None:
    """Show part of the directory of the registry of these settings, or exit with a status."""
    from gcom.cli.output import Output, OutputClosed
    from gcom_registry.operation.asking import directory

    with _complaining(), closing(directory(_settings(context))) as client, suppress(OutputClosed):
        show(client, Output())


@contextmanager
def _complaining() -> Iterator[None]:
    """Print an error that the block raises, and exit with its status."""
    try:
        yield
    except BadValue as error:
        _complain(str(error), EXIT_USAGE)
    except RegistryUnavailable as error:
        _complain(str(error), EXIT_NO_REGISTRY)
    except GComError as error:
        _complain(str(error), EXIT_FAILED)


@app.command()
def invite(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="The guest's name: as this member it may speak.", show_default=False),
    ],
    admin: Annotated[bool, typer.Option("--admin", help="May remove and fork groups of others, too.")] = False,
    expires: Annotated[str, typer.Option(metavar="TIME", help="How long it is good: 30m, 1h, 2d.")] = "1h",
) -> None:
    """Print an invitation for another machine, on which `gcom accept` takes it up. It works once.

    \b
    Examples:
      gcom-registry invite bob
      gcom-registry invite carol --admin --expires 1d
      gcom-registry invite dave --data names      of the registry that keeps what it knows there
    """
    from gcom_registry.invitations import invitation

    with _complaining():
        made, ends, like = invitation(authority_folder(_settings(context).get("data")), name, admin, expires)
    # The invitation alone on standard output, so that a script can pass it on; the rest is for people.
    print(made)
    _warn(f"it works once, until {ends:%Y-%m-%d %H:%M} UTC; on {name}'s machine: gcom accept")
    if like:
        _warn(f"{name!r} looks like {like!r}, which has a certificate: a reader may take one for the other")


RightsWords = Annotated[
    str, typer.Argument(metavar="RIGHTS", help="create, join, send, remove, admin; several with commas, or all.")
]
Members = Annotated[list[str], typer.Argument(metavar="MEMBER...", help="Names of members; * stands for any letters.")]
Groups = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="GROUP", help="In this group, as often as you like; * as above. [default: *]"),
]


@app.command()
def allow(context: typer.Context, rights: RightsWords, members: Members, group: Groups = None) -> None:
    """Let members do something in groups. The rule comes before all others, and is in force within a second or two.

    \b
    Examples:
      gcom-registry allow join,send bob --group news
      gcom-registry allow admin carol --group 'team-*'     remove, fork and look at these
      gcom-registry allow remove '*' --group scratch
    """
    _change_rights(context, True, rights, members, group)


@app.command()
def deny(context: typer.Context, rights: RightsWords, members: Members, group: Groups = None) -> None:
    """Keep members from something in groups. Who is in a group and may not join it any more is put out.

    \b
    Examples:
      gcom-registry deny create '*'
      gcom-registry deny join '*' --group board; gcom-registry allow join alice bob --group board
      gcom-registry deny send '*' --group news; gcom-registry allow send editor --group news
    """
    _change_rights(context, False, rights, members, group)


@app.command("rights")
def show_rights(
    context: typer.Context,
    reread: Annotated[bool, typer.Option("--reread", help="Have the registry read its file anew first.")] = False,
    as_json: options.Json = False,
) -> None:
    """Show the rules about rights that are in force, the first of which decides; see `allow` and `deny`.

    The exit status is 1 if the file is wrong: then the rules that were in force before stay so.

    \b
    Examples:
      gcom-registry rights
      gcom-registry rights --reread      after a change by hand; SIGHUP does the same
      gcom-registry rights --json
    """
    from gcom_registry.operation.rights import rights_in_force

    with _complaining():
        rules, trouble, notes = rights_in_force(_settings(context), reread)
    # Also where the file is wrong: these rules are in force, and whoever mends the file wants to see them.
    for rule in rules:
        print(json.dumps(rule.as_row()) if as_json else rule)
    for note in notes:
        _warn(note)
    if trouble:
        _complain(trouble, EXIT_FAILED)


def _change_rights(
    context: typer.Context, allows: bool, rights: str, members: list[str], groups: list[str] | None
) -> None:
    from gcom_registry.operation.rights import put_rule

    with _complaining():
        for note in put_rule(_settings(context), allows, rights.split(","), members, groups or ["*"]):
            _warn(note)


def _settings(context: typer.Context) -> ServiceSettings:
    """Return the settings by the flags, or end."""
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
