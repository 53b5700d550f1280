"""`gcom topics`: look at the topics of a store, and change them."""

from __future__ import annotations

import base64
import runpy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gcom.cli import options
from gcom.cli.output import Output, harmless, notice
from gcom.cli.signals import Interrupted
from gcom.cli.wording import many
from gcom.errors import BadValue

if TYPE_CHECKING:  # commands import what they need
    from gcom.topics import TopicMessage, TopicStore

SIGTERM_STATUS = 143

app = typer.Typer(
    rich_markup_mode=None,
    help="Look at the topics of a store, and change them (docs/topics.md).",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Place = Annotated[str, typer.Option("--store", metavar="FILE", help="The store.", envvar="GCOM_STORE")]
TopicName = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name.", show_default=False)]


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
    with _opened(store) as opened:
        running = opened.function(process, inputs, to=output, name=name)
        notice(f"{code} reads {', '.join(inputs)}" + (f", and writes {output}" if output else ""))
        count = running.run(follow=not drain)
    notice(f"{many(count, 'message')} processed")


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

    with _opened(store) as opened:
        found = opened.topics()
    output = Output()
    if as_json:
        for it in found:
            output.row({"type": "topic", "topic": it.name, "first": it.first, "next": it.next, "messages": it.count})
    elif found:
        rows = [(it.name, f"{it.count:,}", str(it.first), str(it.next)) for it in found]
        table(output, [("TOPIC", "MESSAGES", "FIRST", "NEXT"), *rows])
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

    with _opened(store) as opened:
        found = opened.existing(topic)
        info, producers, subscriptions = found.info, found.producers(), found.subscriptions()
    output = Output()
    if as_json:
        row = {"type": "topic", "topic": info.name, "first": info.first, "next": info.next, "messages": info.count}
        waiting = {it.name: {"lag": it.lag, "in_flight": it.in_flight, "oldest": it.oldest} for it in subscriptions}
        output.row({**row, "producers": {it.name: it.last_seq for it in producers}, "subscriptions": waiting})
    else:
        output.text(f"{info.name}: {many(info.count, 'message')}, offsets {info.first} to {info.next - 1}")
        if producers:
            rows = [(it.name, "-" if it.last_seq is None else str(it.last_seq)) for it in producers]
            table(output, [("PRODUCER", "LAST SEQUENCE"), *rows])
        if subscriptions:
            lines = [
                (it.name, f"{it.lag:,}", f"{it.in_flight:,}", "-" if it.oldest is None else str(it.oldest))
                for it in subscriptions
            ]
            table(output, [("SUBSCRIPTION", "LAG", "HANDED OUT", "OLDEST"), *lines])
    output.flush()


@app.command()
def create(topic: TopicName, store: Place) -> None:
    """Create a topic, and the store if there is none. A topic that is there stays as it is.

    \b
    Example:
      gcom topics create orders --store app.db
    """
    with _opened(store, make=True) as opened:
        info = opened.topic(topic).info
    notice(f"topic {topic!r} is there, with {many(info.count, 'message')}")


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
    with _opened(store) as opened:
        count = opened.existing(topic).info.count
        if not yes and not typer.confirm(f"Delete topic {topic!r} with {many(count, 'message')}?", err=True):
            notice("nothing was changed")
            return 1
        count = opened.delete(topic)
    notice(f"topic {topic!r} is deleted, with {many(count, 'message')}")
    return 0


ListenAt = Annotated[str, typer.Option("--listen", metavar="HOST:PORT", help="Where clients reach it.")]
ServerName = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Its name among the servers of a cluster.")
]
ClusterName = Annotated[str, typer.Option("--cluster", metavar="NAME", help="The name that all its servers give.")]


@app.command()
def serve(
    store: Annotated[
        str, typer.Option("--store", metavar="PLACE", help="A file, or postgresql://…", envvar="GCOM_STORE")
    ],
    listen: ListenAt = "127.0.0.1:4711",
    name: ServerName = None,
    cluster: ClusterName = "main",
    registry: options.Registry = None,
    as_json: options.Json = False,
) -> None:
    """Serve the topics of a store to clients, until Ctrl-C: topics.open("gcom://HOST:PORT").

    With --name it is one of several servers, which share the topics: each topic has one owner, and any server may be
    asked. Servers of one PostgreSQL database take over from each other. Clients of this user reach a server on this
    machine. From other machines they need certificates (gcom accept), and name it: gcom://NAME@HOST:PORT.

    \b
    Examples:
      gcom topics serve --store app.db
      gcom topics serve --store postgresql://gcom@db/app --name a --registry 127.0.0.1:7411 --listen 127.0.0.1:4711
    """
    from gcom.topics.served.serving import TopicsCluster, TopicsServer

    among = TopicsCluster(name, registry, cluster) if name is not None else None
    with TopicsServer(store, listen, among) as server:
        _serving(f"serving {store}", server.address, as_json)


@app.command()
def proxy(
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Its name in the cluster.")],
    listen: ListenAt = "127.0.0.1:4711",
    cluster: ClusterName = "main",
    registry: options.Registry = None,
    as_json: options.Json = False,
) -> None:
    """Be a proxy of the servers of a cluster, until Ctrl-C: it brings each call to the owner of its topic.

    Proxies come and go as they like: they keep nothing.

    \b
    Example:
      gcom topics proxy --name p --registry 127.0.0.1:7411 --listen 127.0.0.1:4712
    """
    from gcom.topics.served.serving import TopicsCluster, TopicsServer

    with TopicsServer(None, listen, TopicsCluster(name, registry, cluster)) as server:
        _serving(f"a proxy of cluster {cluster}", server.address, as_json)


def _serving(what: str, address: str, as_json: bool) -> None:
    """Say where a server is, and wait for the signal that ends it."""
    from threading import Event

    output = Output()
    if as_json:
        output.row({"type": "serving", "what": what, "address": address})
    else:
        output.text(f"{what} at gcom://{address}")
    output.flush()
    try:
        Event().wait()
    except Interrupted as ended:
        if ended.status != SIGTERM_STATUS:  # as a service is stopped
            raise


@app.command()
def demo(
    kill: Annotated[str, typer.Option(metavar="ROLE", help="Who is killed: producer, consumer or owner.")] = "consumer",
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
    each of N new topics gets its first messages through several proxies at once, and one owner. The exit status is 1 if
    anything is lost, doubled, out of order or left over.

    \b
    Examples:
      gcom topics demo --kill producer --times 50
      gcom topics demo --kill consumer --times 50 --folder kept --json
      gcom topics demo --kill owner --times 50 --proxies 2
      gcom topics demo --race 1000 --proxies 2
    """
    from tempfile import TemporaryDirectory

    from gcom.demo.kills.killing import run

    output = Output()
    with TemporaryDirectory(prefix="gcom-topics-") as temporary:
        if race:
            return _race(output, race, proxies, folder or Path(temporary), store, as_json)
        if kill == "owner":
            from gcom.demo.kills.owners import kill_owners

            result = kill_owners(times, proxies, folder or Path(temporary), store, notice)
        else:
            result = run(kill, times, folder or Path(temporary), notice)
    if as_json:
        output.row(result.row())
    else:
        output.text(
            f"{result.role} killed {many(result.kills, 'time')}: {many(result.lines, 'line')}, "
            f"lost {result.lost}, doubled {result.doubled}, left over {result.left_over}, "
            f"{'in order' if result.in_order else 'out of order'}"
        )
    output.flush()
    return 0 if result.is_exact else 1


def _race(output: Output, count: int, proxies: int, folder: Path, store: str | None, as_json: bool) -> int:
    from gcom.demo.kills.racing import run_race

    result = run_race(count, proxies, folder, store, notice)
    if as_json:
        output.row(result.row())
    else:
        shares = ", ".join(f"{name} {many(number, 'topic')}" for name, number in result.by_owner.items())
        output.text(
            f"{many(result.topics, 'topic')} through {many(result.proxies, 'proxy')}: "
            f"{result.owned_once} have one owner ({shares}), lost {result.lost}, doubled {result.doubled}"
        )
    output.flush()
    return 0 if result.is_exact else 1


@app.command()
def trim(
    topic: TopicName,
    store: Place,
    before: Annotated[int | None, typer.Option(min=0, metavar="OFFSET", help="Messages below it go.")] = None,
    count: Annotated[int | None, typer.Option(min=0, metavar="N", help="The newest N stay.")] = None,
    age: Annotated[float | None, typer.Option(min=0, metavar="SECONDS", help="Older ones go.")] = None,
    size: Annotated[int | None, typer.Option(min=0, metavar="BYTES", help="So much of the newest stays.")] = None,
    unread_too: Annotated[bool, typer.Option("--unread-too", help="Also what subscriptions have not done.")] = False,
) -> None:
    """Delete the oldest messages of a topic. What was sent stays known: duplicates are refused as before.

    \b
    Examples:
      gcom topics trim orders --count 100000 --store app.db
      gcom topics trim orders --age 604800 --size 1000000000 --store app.db
    """
    with _opened(store) as opened:
        found = opened.existing(topic)
        gone = found.trim(before=before, count=count, age_s=age, size_bytes=size, unread_too=unread_too)
        notice(f"{many(gone, 'message')} deleted; topic {topic!r} keeps {many(found.info.count, 'message')}")


@app.command()
def check(store: Place) -> int:
    """Read every message of a store, and name those that are damaged or missing; exit status 1 if there are any.

    \b
    Example:
      gcom topics check --store app.db
    """
    with _opened(store) as opened:
        faults, count = opened.check(), sum(it.count for it in opened.topics())
    output = Output()
    for fault in faults:
        output.text(fault)
    output.flush()
    notice(f"{many(count, 'message')} read, {many(len(faults), 'fault')}")
    return 1 if faults else 0


@app.command()
def backup(
    copy: Annotated[Path, typer.Argument(metavar="COPY", help="The new file.", show_default=False)], store: Place
) -> None:
    """Copy a store into a new file, as it is at one moment, while programs use it.

    \b
    Example:
      gcom topics backup copy.db --store app.db
    """
    with _opened(store) as opened:
        opened.backup(copy)
    notice(f"the store {store!r} is copied into {str(copy)!r}")


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
    with _opened(store) as opened:
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
    with _opened(store) as opened:
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
    with _opened(store) as opened:
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


@contextmanager
def _opened(place: str, make: bool = False) -> Iterator[TopicStore]:
    """Open a store that is there; only `create` makes one, lest a slip of the pen leave an empty file."""
    from gcom import topics

    if not make and "://" not in place and not Path(place).is_file():
        raise BadValue(
            f"there is no store {place!r}: name its file, or make one with: gcom topics create TOPIC --store {place}"
        )
    with topics.open(place) as store:
        yield store


@app.command()
def record(
    store: Place,
    into: Annotated[Path, typer.Option("--into", metavar="LOGDIR", help="The folder of the producers' logs.")],
    effects: Annotated[
        list[Path] | None, typer.Option("--effects", metavar="FILE", help="A file that run() got; may be repeated.")
    ] = None,
) -> None:
    """Write down what a store holds, and what was done with it, for `gcom audit LOGDIR`.

    Do it once producers and consumers have ended: a receipt that is younger would look like a loss. Producers write
    their own part, if they open the store with log_dir.

    \b
    Examples:
      gcom topics record --store app.db --into logs/
      gcom topics record --store app.db --into logs/ --effects ledger.db
    """
    from gcom.topics.dump import record_store

    with _opened(store) as opened:
        count = record_store(opened, into, effects or [])
    notice(f"{many(count, 'message')} recorded: gcom audit {into}")
