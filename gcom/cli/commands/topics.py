"""`gcom topics`: look at the topics of a store, and change them."""

from __future__ import annotations

import base64
import runpy
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gcom.cli import options
from gcom.cli.commands.topics_data import (
    Place,
    TopicName,
    backup,
    check,
    create,
    export,
    import_folder,
    kept,
    metrics,
    opened_store,
    record,
    row_of,
    trim,
    waiting_s,
)
from gcom.cli.commands.topics_servers import gateway, proxy, serve
from gcom.cli.output import Output, harmless, notice
from gcom.cli.wording import many
from gcom.errors import BadValue

if TYPE_CHECKING:  # commands import what they need
    from gcom.topics import TopicInfo, TopicMessage, TopicStore

app = typer.Typer(
    rich_markup_mode=None,
    help="Look at the topics of a store, and change them (docs/topics.md).",
    context_settings={"help_option_names": ["-h", "--help"]},
)

SubscriptionName = Annotated[str, typer.Argument(metavar="SUBSCRIPTION", help="Its name.", show_default=False)]
function = typer.Typer(rich_markup_mode=None, help="Run functions over topics.")
app.add_typer(function, name="function")


@function.command()
def deploy(
    code: Annotated[str, typer.Argument(metavar="FILE:NAME", help="The function's file and name.", show_default=False)],
    inputs: Annotated[list[str], typer.Option("--in", metavar="TOPIC", help="A topic to read; may be repeated.")],
    store: Place,
    output: Annotated[str | None, typer.Option("--out", metavar="TOPIC", help="The topic for what it returns.")] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Of its subscriptions. [default: its own]")] = None,
    drain: Annotated[bool, typer.Option("--drain", help="End when the inputs are processed.")] = False,
) -> None:
    """Run a function over topics until Ctrl-C: each message once, killed at any time and started again.

    The function gets the text of a message. It returns text, bytes, several of them, or None for no output.

    \b
    Examples:
      gcom topics function deploy f.py:process --in a --out b --store app.db
      gcom topics function deploy f.py:process --in a --in c --out b --store app.db --drain
    """
    process = _loaded(code)
    with opened_store(store) as opened:
        running = opened.function(process, inputs, to=output, name=name)
        notice(f"{code} reads {', '.join(inputs)}" + (f", and writes {output}" if output else ""))
        if done := _done(opened, inputs, f"function:{running.name}"):
            notice(f"done already under the name {running.name!r}: {many(done, 'message')}; --name begins anew")
        count = running.run(follow=not drain)
    notice(f"{many(count, 'message')} processed")


def _done(store: TopicStore, inputs: list[str], name: str) -> int:
    """Return how many messages that are kept a function has done already."""
    topics = [store.existing(it) for it in inputs]
    return sum(it.info.count - sub.lag for it in topics for sub in it.subscriptions() if sub.name == name)


def _loaded(code: str) -> Callable[[str], str]:
    """Return the function that FILE:NAME means. The file is run, as `python FILE` would."""
    file, _, name = code.rpartition(":")
    if not file or not Path(file).is_file():
        raise BadValue(f"{code!r} names no file: expected FILE:NAME, as in f.py:process")
    found = runpy.run_path(file).get(name)
    if not callable(found):
        raise BadValue(f"{file!r} has no function {name!r}")
    process: Callable[[str], str] = found
    return process


@app.command("list")
def list_topics(store: Place, as_json: options.Json = False) -> None:
    """List the topics of a store, with how many messages each keeps.

    \b
    Examples:
      gcom topics list --store app.db
      GCOM_STORE=app.db gcom topics list --json
    """
    from gcom.cli.commands.directory import table

    with opened_store(store) as opened:
        found = opened.topics()
    output = Output()
    if as_json:
        for it in found:
            output.row(row_of(it))
    elif found:
        rows = [(it.name, f"{it.count:,}", f"{it.bytes:,}", str(it.first), str(it.next), kept(it)) for it in found]
        table(output, [("TOPIC", "MESSAGES", "BYTES", "FIRST", "NEXT", "KEEPS"), *rows])
    output.flush()
    if not found:
        notice(f"the store {store!r} has no topic; make one with: gcom topics create TOPIC --store {store}")


@app.command()
def show(topic: TopicName, store: Place, as_json: options.Json = False) -> None:
    """Show a topic: its offsets, its producers with the last sequence of each, and how far each subscription is.

    \b
    Examples:
      gcom topics show orders --store app.db
      gcom topics show orders --store app.db --json
    """
    from gcom.cli.commands.directory import table

    with opened_store(store) as opened:
        found = opened.existing(topic)
        info, producers, subscriptions = found.info, found.producers(), found.subscriptions()
    output = Output()
    if as_json:
        waiting = {
            it.name: {"lag": it.lag, "in_flight": it.in_flight, "oldest": it.oldest, "oldest_s": waiting_s(it)}
            for it in subscriptions
        }
        output.row({**row_of(info), "producers": {it.name: it.last_seq for it in producers}, "subscriptions": waiting})
    else:
        output.text(f"{info.name}: {many(info.count, 'message')}, {_offsets(info)}; keeps {kept(info)}")
        if producers:
            rows = [(it.name, "-" if it.last_seq is None else str(it.last_seq)) for it in producers]
            table(output, [("PRODUCER", "LAST SEQUENCE"), *rows])
        if subscriptions:
            lines = [
                (
                    *(it.name, f"{it.lag:,}", f"{it.in_flight:,}", "-" if it.oldest is None else str(it.oldest)),
                    "-" if it.waiting_since_ms is None else f"{waiting_s(it):.0f} s",
                )
                for it in subscriptions
            ]
            table(output, [("SUBSCRIPTION", "LAG", "HANDED OUT", "OLDEST", "WAITS"), *lines])
    output.flush()


def _offsets(info: TopicInfo) -> str:
    if not info.count:
        return f"the next offset is {info.next}"
    return f"offsets {info.first} to {info.next - 1}, {info.bytes:,} bytes"


@app.command()
def delete(
    topic: TopicName,
    store: Place,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether it is meant.")] = False,
) -> int:
    """Delete a topic with its messages, and forget its producers.

    \b
    Examples:
      gcom topics delete orders --store app.db
      gcom topics delete orders --store app.db --yes
    """
    with opened_store(store) as opened:
        count = opened.existing(topic).info.count
        if not yes and not typer.confirm(f"Delete topic {topic!r} with {many(count, 'message')}?", err=True):
            notice("nothing was changed")
            return 1
        count = opened.delete(topic)
    notice(f"topic {topic!r} is deleted, with {many(count, 'message')}")
    return 0


for server in (serve, proxy, gateway):
    app.command()(server)


@app.command()
def demo(
    kill: Annotated[str, typer.Option(metavar="ROLE", help="Role to kill: producer, consumer or owner.")] = "consumer",
    times: Annotated[int, typer.Option(min=0, max=10_000, metavar="N", help="How often.")] = 10,
    folder: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="A new folder to keep. [default: a temporary one]")
    ] = None,
    race: Annotated[int, typer.Option(min=0, max=100_000, metavar="N", help="Kill nobody: make N topics at once.")] = 0,
    proxies: Annotated[int, typer.Option(min=1, max=8, metavar="N", help="Proxies, of owner and --race.")] = 1,
    store: Annotated[
        str | None,
        typer.Option(metavar="PLACE", help="For owner and --race: postgresql://…, empty. [default: files]"),
    ] = None,
    as_json: options.Json = False,
) -> int:
    """Kill a producer, a consumer or an owner again and again with SIGKILL: nothing is lost, nothing doubled.

    The producer copies a file into a topic. The consumer writes each line into a table of its own, and sends a copy of
    it to another topic. An owner is a server: of three on a PostgreSQL database, or of one that has a file. With --race
    each of N new topics gets its first messages through several proxies at once, and one owner. Then the audit judges
    what was asked, answered and stored. The exit status is 1 if anything is lost, doubled, out of order or left over.

    \b
    Examples:
      gcom topics demo --kill producer --times 50
      gcom topics demo --kill consumer --times 50 --folder kept --json
      gcom topics demo --kill owner --times 50 --proxies 2
      gcom topics demo --race 1000 --proxies 2
    """
    from gcom.cli.audits.demos import kept_if_wrong, passes_audit
    from gcom.demo.kills.worker import LOGS

    def all_is_right(at: Path) -> bool:
        exact = _race(race, proxies, at, store, as_json) if race else _kills(kill, times, proxies, at, store, as_json)
        return passes_audit(at / LOGS, as_json=as_json) and exact

    return kept_if_wrong(folder, all_is_right)


def _kills(role: str, times: int, proxies: int, folder: Path, store: str | None, as_json: bool) -> bool:
    from gcom.demo.kills.killing import run
    from gcom.demo.kills.owners import kill_owners

    by_owner = role == "owner"
    result = kill_owners(times, proxies, folder, store, notice) if by_owner else run(role, times, folder, notice)
    output = Output()
    if as_json:
        output.row(result.row())
    else:
        output.text(
            f"{result.role} killed {many(result.kills, 'time')}: {many(result.lines, 'line')}, "
            f"lost {result.lost}, doubled {result.doubled}, left over {result.left_over}, "
            f"{'in order' if result.in_order else 'out of order'}"
        )
    output.flush()
    return result.is_exact


def _race(count: int, proxies: int, folder: Path, store: str | None, as_json: bool) -> bool:
    from gcom.demo.kills.racing import run_race

    result = run_race(count, proxies, folder, store, notice)
    output = Output()
    if as_json:
        output.row(result.row())
    else:
        shares = ", ".join(f"{name} {many(number, 'topic')}" for name, number in result.by_owner.items())
        output.text(
            f"{many(result.topics, 'topic')} through {many(result.proxies, 'proxy')}: "
            f"{result.owned_once} have one owner ({shares}), lost {result.lost}, doubled {result.doubled}"
        )
    output.flush()
    return result.is_exact


@app.command()
def retire(
    topic: TopicName,
    producer: Annotated[str, typer.Argument(metavar="PRODUCER", help="Its name.", show_default=False)],
    store: Place,
) -> int:
    """Forget a producer, so that its sequences may be used again. Its messages stay.

    \b
    Example:
      gcom topics retire orders import --store app.db
    """
    with opened_store(store) as opened:
        found = opened.existing(topic).retire(producer)
    notice(f"producer {producer!r} is forgotten" if found else f"topic {topic!r} has no producer {producer!r}")
    return 0 if found else 1


@app.command()
def replay(topic: TopicName, subscription: SubscriptionName, store: Place) -> int:
    """Have the dead letters of a subscription handed out again, each once.

    \b
    Example:
      gcom topics replay orders billing --store app.db
    """
    with opened_store(store) as opened:
        found = opened.existing(topic)
        known = {it.name: it for it in found.subscriptions()}
        if subscription not in known:
            notice(f"topic {topic!r} has no subscription {subscription!r}: there are {', '.join(known) or 'none'}")
            return 1
        count = found.subscribe(subscription, shards=known[subscription].shards).replay()
    notice(f"{many(count, 'message')} will be handed out again")
    return 0


@app.command()
def peek(
    topic: TopicName,
    store: Place,
    after: Annotated[int | None, typer.Option(metavar="OFFSET", help="From behind this offset.")] = None,
    count: Annotated[int, typer.Option(min=1, metavar="N", help="How many messages at most.")] = 10,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more, until Ctrl-C; all of them.")] = False,
    as_json: options.Json = False,
) -> None:
    """Print messages of a topic, without taking them from anybody.

    \b
    Examples:
      gcom topics peek orders --store app.db
      gcom topics peek orders --store app.db --after 41 --count 1 --json
      gcom topics peek orders --store app.db --follow
    """
    output = Output()
    with opened_store(store) as opened:
        reader = opened.existing(topic).read(after, follow=follow)
        for place, message in enumerate(reader):
            if place >= count and not follow:
                break
            _print(output, message, as_json)
            if follow:
                output.flush()
    output.flush()


def _print(output: Output, message: TopicMessage, as_json: bool) -> None:
    if not as_json:
        text = harmless(message.text) if output.terminal else message.text
        return output.text(f"{message.offset}: {text}".replace("\n", "\\n"))
    at = datetime.fromtimestamp(message.at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    row: dict[str, object] = {"type": "message", "topic": message.topic, "offset": message.offset, "text": message.text}
    try:
        message.body.decode()
    except UnicodeDecodeError:
        row["base64"] = base64.b64encode(message.body).decode()
    key = None if message.key is None else message.key.decode("utf-8", "replace")
    more = {"key": key, "headers": dict(message.headers), "producer": message.producer, "seq": message.seq, "at": at}
    return output.row(row | more)


for command in (create, trim, check, backup, export, record, metrics):
    app.command()(command)
app.command("import")(import_folder)
