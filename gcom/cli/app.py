"""The command line. Sub-commands are thin: they turn words into values, and call what does the work.

Exit status: 0 done; 2 bad usage or value; 1 bad state; 3 a package is missing, or the audit could not run; 69 no
registry; 130 Ctrl-C. SIGTERM ends `join` and `tail` with 0, as it is how they are stopped (1: nobody answered their
leave), and what has an end of its own with 143. A closed output is no failure.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from gcom import __version__
from gcom.cli import options
from gcom.cli.commands import audit, bank, bench, certs, replicated, topics
from gcom.cli.output import Output, OutputClosed, log_to_stderr, notice, open_standard_descriptors
from gcom.cli.signals import SIGNALLED, Interrupted
from gcom.cli.wording import refusal
from gcom.errors import BadValue, ExtraMissing, GComError, RegistryUnavailable
from gcom.values import spelling

if TYPE_CHECKING:  # commands import what they need
    from gcom.runtime.registry.directory_client import DirectoryClient

# 69 is EX_UNAVAILABLE of sysexits.h: a script that sees it may wait and try again, which mends none of the others.
EXIT_FAILED, EXIT_USAGE, EXIT_IMPOSSIBLE, EXIT_NO_REGISTRY = 1, 2, 3, 69
REGISTRY_S = 2.0  # with the start of Python, an answer that there is none comes within 3 s

# Errors are printed by `run`, one line each, and the traceback of a defect is to be whole: Typer's own boxes would
# cut it. Without completion --help begins with the commands.
app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# Only their words are imported here: what does the work comes when one of them runs.
app.add_typer(audit.app, name="audit")
app.add_typer(bank.app, name="bank")
app.add_typer(bench.app, name="bench")
app.add_typer(certs.app, name="certs")
app.add_typer(replicated.app, name="replicated")
app.add_typer(topics.app, name="topics")


def main(words: Sequence[str] | None = None) -> NoReturn:
    # First of all: the next file that is opened would take the number of a closed descriptor.
    open_standard_descriptors()
    SIGNALLED.install()
    status = run(words)
    try:
        if sys.stdout is not None:  # as it is where it was closed from the start
            sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the interpreter flushes once more
    sys.exit(status)


def run(words: Sequence[str] | None = None) -> int:
    """Carry out one command line; return the exit status. Errors are printed as one line on standard error."""
    words = [*(sys.argv[1:] if words is None else words)]
    if words[:2] in (["demo", "bank"], ["demo", "topics"]):  # a file of that name is ./bank
        words[:2] = [words[1], "demo"]
    try:
        # Else Typer would print errors by itself, in a box of several lines, and exit with a status of its own.
        return int(app(words, prog_name="gcom", standalone_mode=False) or 0)
    # From the most particular to the most general: BadValue and RegistryUnavailable are GComErrors too.
    except typer.TyperException as error:
        # In the audit's own statuses 2 says that something about the logs is unknown.
        return _fail(refusal(error), EXIT_IMPOSSIBLE if words[:1] == ["audit"] else error.exit_code)
    except BadValue as error:
        return _fail(str(error), EXIT_USAGE)
    except RegistryUnavailable as error:
        return _fail(str(error), EXIT_NO_REGISTRY)
    except ExtraMissing as error:
        return _fail(str(error), EXIT_IMPOSSIBLE)
    except GComError as error:
        return _fail(str(error), EXIT_FAILED)
    # Its reader had enough, as `head` has: nothing failed, and there is nobody to tell.
    except OutputClosed:
        return 0
    except OSError as error:
        return _fail(f"{error.filename or 'output'}: {error.strerror}", EXIT_FAILED)
    except Interrupted as interrupted:
        return interrupted.status


def _fail(text: str, status: int) -> int:
    # One line, whatever the error says: scripts read standard error by lines.
    notice(" ".join(text.split()))
    return status


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gcom {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def top(
    context: typer.Context,
    show_version: Annotated[  # noqa: ARG001 - its callback does it
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    cert: options.Cert = None,
    key: options.Key = None,
    ca: options.Authority = None,
    listen: options.Listen = None,
    advertise: options.Advertise = None,
) -> None:
    """Groups of processes that deliver each other's messages, in an order that their group promises.

    Data goes to standard output, notices to standard error. Exit status: 0 done, 2 bad usage or value, 1 bad state, 3
    a package is missing, 69 no registry, 130 Ctrl-C.

    \b
    Examples:
      gcom-registry &                          start a registry, where groups are found
      gcom join news --name alice --create     be in a group: type to send, read what comes
      gcom groups                              what groups there are
      gcom demo                                see it all work
    """
    # The library looks there, and so do the processes that a command starts: nothing has to be handed through.
    options.into_environment(cert, key, ca, listen, advertise)
    if context.invoked_subcommand is None:
        # To standard error, as bad usage: `gcom | head` of a script that forgot the word must not look like data.
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(EXIT_USAGE)


# Commands import when they run. All of them at once would take a second, for which most have no use.
@app.command()
def accept(
    given: Annotated[str | None, typer.Argument(hidden=True)] = None,
    registry: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Where the registry is now, if it has moved since.", show_default=False),
    ] = None,
) -> None:
    """Take up an invitation: make a key here, and get its certificate. Then `gcom join` works, from this machine too.

    The line that `gcom-registry invite` printed is asked for, or read from standard input: on the command line every
    user of this machine could read it. Whatever fails, the same invitation may be accepted here again.

    \b
    Examples:
      gcom accept
      gcom accept <invitation.txt
      gcom accept --registry 10.0.0.9:7411
      gcom-registry invite bob | ssh bob@second gcom accept
    """
    from gcom.cli.commands import accept as acceptance

    acceptance.accept(given, registry)


@app.command()
def doctor(
    name: Annotated[str | None, typer.Option(help="As this member. [default: the identity stored last]")] = None,
    registry: options.Registry = None,
    as_json: options.Json = False,
) -> int:
    """Say what is wrong with the way to each registry and to other members; exit status 1 if something is.

    It warns of a certificate that was not renewed in time. `gcom-registry doctor` looks at a registry's own set-up.

    \b
    Examples:
      gcom doctor
      gcom doctor --json
      gcom --advertise 203.0.113.9 doctor --name bob --registry 10.0.0.5:7411
    """
    from gcom.cli.commands.doctor import examine
    from gcom.cli.findings import show

    return 0 if show(examine(registry, name), Output(), as_json) else EXIT_FAILED


@app.command()
def groups(registry: options.Registry = None, as_json: options.Json = False) -> None:
    """List the groups that the registry knows.

    \b
    Examples:
      gcom groups
      gcom groups --json --registry 127.0.0.1:7500
    """
    from gcom.cli.commands import directory

    with closing(_directory(registry)) as client:
        directory.show_groups(client, Output(), as_json)


@app.command()
def members(group: options.Group, registry: options.Registry = None, as_json: options.Json = False) -> None:
    """List the members of a group, the oldest first, which is its leader.

    \b
    Examples:
      gcom members news
      gcom members news --json
    """
    from gcom.cli.commands import directory

    with closing(_directory(registry)) as client:
        directory.show_members(client, Output(), group, as_json)


@app.command()
def status(
    group: options.Group,
    watch: Annotated[bool, typer.Option("--watch", help="Again and again, until Ctrl-C.")] = False,
    every: Annotated[float, typer.Option(min=0.1, max=3600, metavar="SECONDS", help="How often, with --watch.")] = 2.0,
    registry: options.Registry = None,
    as_json: options.Json = False,
) -> int:
    """Show how a group stands: members, where they run, round trips, windows, who holds up whom, suspicions, the order.

    Each member is asked itself. A member may ask, by this user's certificate, and an administrator; on loopback every
    process of the user. The exit status is 1 if a member did not tell.

    \b
    Examples:
      gcom status news
      gcom status news --watch --every 5
      gcom status news --json | jq .unread_by
    """
    from gcom.cli.commands import status as looks

    with closing(_directory(registry)) as client:
        if not watch:
            return looks.show(client, Output(), group, as_json)
        looks.watch(client, Output(), group, as_json, every)
    return 0


@app.command()
def create(
    group: options.Group,
    ordering: options.OrderingWord = None,
    multicast: options.MulticastWord = None,
    static: options.StaticWords = None,
    safe: options.Safe = False,
    signed: options.Signed = False,
    netsplit: options.NetsplitWord = None,
    tie_breaker: options.TieBreakerWord = None,
    detection: options.DetectionWord = None,
    registry: options.Registry = None,
    as_json: options.Json = False,
) -> None:
    """Create an empty group, which stays until it is removed or its last member leaves.

    Creating it again with the same properties changes nothing; with other ones it is refused.

    \b
    Examples:
      gcom create news
      gcom create votes --ordering nonordered --multicast basic --static alice,bob,carol
    """
    from gcom.cli.commands import directory

    wanted = options.definition(group, ordering, multicast, static, safe, netsplit, tie_breaker, detection, signed)
    with closing(_directory(registry)) as client:
        directory.create(client, Output(), wanted, as_json)


@app.command()
def remove(
    groups: Annotated[
        list[str],
        typer.Argument(
            metavar="GROUP...", parser=spelling.normal, help="Names; * stands for any letters.", show_default=False
        ),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask, where there is a *.")] = False,
    registry: options.Registry = None,
) -> int:
    """Remove groups that have no members.

    A name with * stands for all empty groups that it fits; it first says how many these are, and asks. The exit status
    is 1 if a group was not removed.

    \b
    Examples:
      gcom remove news
      gcom remove 'test-*' scratch --yes
    """
    from gcom.cli.commands import directory

    with closing(_directory(registry)) as client:
        return directory.remove(client, groups, yes)


@app.command()
def join(
    group: options.Group,
    name: options.Name,
    create: Annotated[bool, typer.Option("--create", help="Create the group first if it is not there.")] = False,
    ordering: options.OrderingWord = None,
    multicast: options.MulticastWord = None,
    static: options.StaticWords = None,
    safe: options.Safe = False,
    signed: options.Signed = False,
    netsplit: options.NetsplitWord = None,
    tie_breaker: options.TieBreakerWord = None,
    detection: options.DetectionWord = None,
    wait: options.Wait = 1,
    linger: options.Linger = None,
    log_dir: options.LogDir = None,
    metrics: options.Metrics = None,
    registry: options.Registry = None,
    as_json: options.Json = False,
) -> int:
    """Join a group: send each line of standard input, print each delivery as `name: text`.

    Without --linger it stays when the input ends, until Ctrl-C (exit status 130) or SIGTERM (0). Either way it leaves
    the group in good order; one that hears no quorum waits for that, ten seconds at most, and SIGTERM then ends it with
    1. So ends a member that sent lines which did not arrive, or may not have: what it printed says which. A second
    signal ends it at once. Lines that are not UTF-8 are sent as the bytes that they are, empty ones too; a line over
    16 MiB is refused by its number, and the exit status is then 2.

    \b
    Examples:
      gcom join news --name alice --create
      gcom join news --name bob --create --wait 3 --linger 5 --json <FILE >OUT
      gcom join news --name carol --metrics 9101
    """
    from gcom.cli.commands import member

    if create:
        wanted = options.definition(group, ordering, multicast, static, safe, netsplit, tie_breaker, detection, signed)
    else:
        wanted = None
        # Without --create they would be passed over silently, and the user believe in an order that the
        # group does not have.
        given = {"netsplit": netsplit, "tie-breaker": tie_breaker, "detection": detection}
        options.refuse_without_create(
            ordering=ordering, multicast=multicast, static=static, safe=safe, signed=signed, **given
        )
    log_to_stderr()
    session = member.MemberOptions(group, name, registry, log_dir, as_json, options.checked_linger(linger), metrics)
    return member.join(session, wanted, wait)


@app.command()
def send(
    group: options.Group,
    text: Annotated[str, typer.Argument(help="The message.", show_default=False)],
    name: options.Name,
    log_dir: options.LogDir = None,
    registry: options.Registry = None,
) -> None:
    """Join a group, send one message, and leave.

    \b
    Example:
      gcom send news --name alice "hello, all"
    """
    from gcom.cli.commands import member

    log_to_stderr()
    # The very bytes of the shell: what is no UTF-8 Python keeps as halves of surrogates, which are no text to send.
    member.send(group, name, registry, log_dir, os.fsencode(text))


@app.command()
def tail(
    group: options.Group,
    name: options.Name,
    linger: options.Linger = None,
    log_dir: options.LogDir = None,
    metrics: options.Metrics = None,
    registry: options.Registry = None,
    as_json: options.Json = False,
) -> int:
    """Join a group and print each delivery as `name: text`; send nothing.

    It stays until Ctrl-C (exit status 130) or SIGTERM (0), or with --linger until nothing was delivered for so long.
    One that hears no quorum waits for that as it leaves, ten seconds at most, and SIGTERM then ends it with 1.

    \b
    Examples:
      gcom tail news --name watcher
      gcom tail news --name watcher --json | jq -r .text
    """
    from gcom.cli.commands import member

    log_to_stderr()
    linger_s = options.checked_linger(linger)
    return member.tail(member.MemberOptions(group, name, registry, log_dir, as_json, linger_s, metrics))


@app.command()
def demo(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Text to send, one member a file. [default: README.md docs/*.md if here]"),
    ] = None,
    log_dir: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the delivery logs go; emptied first.")] = Path(
        "gcom-demo"
    ),
    as_json: options.Json = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show progress, rates and latencies.")] = False,
) -> int:
    """Start a registry and three or more member processes, send real text through a group, and check every delivery.

    Each ordering has its turn. The exit status is 0 only if every member delivered every line of every file once, and
    each sender's in the order promised. Topics and the bank have demos of their own.

    \b
    Examples:
      gcom demo
      gcom demo letters.txt war-and-peace.txt --log-dir logs
      gcom demo topics --kill owner --times 50
      gcom demo bank --branches 5 --customers 50 --chaos 60
    """
    from gcom.cli import progress

    return progress.demo(files or [], log_dir, Output(), as_json, verbose=verbose)


@app.command()
def sim(
    seed: Annotated[int | None, typer.Option(min=0, metavar="N", help="Run this seed.", show_default=False)] = None,
    seeds: Annotated[str | None, typer.Option(metavar="A..B", help="Run these, both included.")] = None,
    jobs: Annotated[int, typer.Option(min=1, max=256, metavar="N", help="Seeds to run at a time.")] = 1,
    log_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write the delivery logs there; of several seeds, into FOLDER/<seed>: audit each alone.",
        ),
    ] = None,
    application: Annotated[
        str, typer.Option(metavar="group|replicated", help="Simulate groups, or replicated states.")
    ] = "group",
    as_json: options.Json = False,
) -> int:
    """Simulate a whole group from a seed: crashes, pauses, partitions, lost and late calls; every promise is checked.

    The machines are the ones that run on Pyro5. A seed draws the group's definition, 2 to 9 members (now and then up to
    64) and what goes wrong; when all is well again, the group must come back to life. The same seed is the same run,
    event by event; the exit status is 1 if a promise was broken, and the seed replays it.

    With --application replicated the members have one replicated state (docs/replicated.md): in memory where the seed
    is odd, else durable, and disks are lost, too. Nothing answered may be lost, each command is applied once, and all
    replicas are equal.

    \b
    Examples:
      gcom sim --seed 7 --log-dir logs
      gcom sim --seeds 1..300 --jobs 2
      gcom sim --application replicated --seeds 1..300
    """
    from gcom.cli.commands.simulate import simulate

    return simulate(seed, seeds, jobs, log_dir, as_json, application)


@app.command()
def fork(
    group: options.Group,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether it is meant.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Although a member hears a quorum, so that it is not stuck.")
    ] = False,
    registry: options.Registry = None,
) -> int:
    """Let what is left of a group go on, without proof that the others are dead.

    For a group of which no quorum will ever hear each other again, though nothing proves that: a machine is lost, or
    the registry forgot the group. A detached member of the latest view that registers within a minute begins an
    instance that succeeds it, with its state, together with those whom it hears. It first says whom and what that gives
    up. Members that still run elsewhere are put out once they hear of it; what they deliver alone until then is lost.
    A group with a member that hears a quorum is refused: it goes on as it is.

    \b
    Examples:
      gcom fork news           say what it would do, and ask
      gcom fork news --yes
    """
    from gcom.cli.commands import directory

    with closing(_directory(registry)) as client:
        return directory.fork(client, group, yes, force)


def _directory(registry: str | None) -> DirectoryClient:
    from gcom.runtime.registry.directory_client import DirectoryClient
    from gcom.runtime.security.process import registry_addresses

    # All are asked, since a group is at home at one of them; a notice tells of each that is silent meanwhile.
    return DirectoryClient(",".join(registry_addresses(registry)), REGISTRY_S, tell=notice)
