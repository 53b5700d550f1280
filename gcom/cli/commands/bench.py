"""`gcom bench`: the cost of GCom on this machine, each command with its own processes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gcom.cli import extras, options
from gcom.cli.output import Output

app = typer.Typer(rich_markup_mode=None)

Safe = Annotated[bool, typer.Option("--safe", help="Deliver what a majority of the members holds.")]
Members = Annotated[int, typer.Option(metavar="N", help="Processes in the group.")]
Senders = Annotated[int, typer.Option(metavar="N", help="How many of them send.")]
Seconds = Annotated[float, typer.Option(metavar="SECONDS", help="How long to send, all turns together.")]


# A callback that does nothing: its docstring is what --help says of the commands together.
@app.callback()
def bench_top() -> None:
    """Measure what GCom costs on this machine."""


@app.command(cls=extras.Bench)
def throughput(
    ordering: options.OrderingWord = None,
    multicast: options.MulticastWord = None,
    safe: Safe = False,
    members: Members = 3,
    senders: Senders = 3,
    size: Annotated[int, typer.Option(metavar="BYTES", help="Bytes in a message, 17 or more.")] = 100,
    seconds: Seconds = 10.0,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Also measure, in turns: frames (bare Pyro5 frames), tcp (raw TCP), or pysyncobj (a replicated log).",
        ),
    ] = None,
    log: Annotated[
        bool, typer.Option("--log", help="Write delivery logs, and measure in turns with and without them.")
    ] = False,
    log_dir: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where --log writes. [default: a temporary folder]", show_default=False),
    ] = None,
    as_json: options.Json = False,
) -> int:
    """Messages per second at the slowest member, with latency, processor time and memory; every delivery is checked.

    It starts its own registry and one process per member. The exit status is 1 if any delivery was wrong. With
    --baseline frames, `ratio` is GCom's rate ÷ that of the same payload in bare Pyro5 frames of 200 messages, with
    --baseline tcp ÷ that of raw TCP in Python, one way, as fast as it goes, with --baseline pysyncobj ÷ that of the
    same messages as commands of PySyncObj's replicated log (pip install 'gcom[bench]'); with --log, `log_ratio` is the
    rate with delivery logs ÷ that without, in the same run.

    \b
    Examples:
      gcom bench throughput --members 3 --senders 3 --size 100 --seconds 10
      gcom bench throughput --ordering fifo --multicast reliable --baseline frames --json
      gcom bench throughput --ordering total --baseline pysyncobj
      gcom bench throughput --log-dir logs
    """
    if baseline == "pysyncobj":
        extras.need("bench", baseline)
    from gcom.bench.throughput.turns import ThroughputSetup
    from gcom.cli import progress

    # Any name does: each run has a registry of its own.
    definition = options.definition("bench", ordering, multicast, None, safe, None)
    log = log or log_dir is not None
    setup = ThroughputSetup(definition, members, senders, size, seconds, baseline, log, log_dir)
    return progress.throughput(setup, Output(), as_json)


@app.command(cls=extras.Bench)
def latency(
    ordering: options.OrderingWord = None,
    multicast: options.MulticastWord = None,
    safe: Safe = False,
    rate: Annotated[float, typer.Option(metavar="N", help="Messages per second, of all senders together.")] = 1000.0,
    members: Members = 3,
    senders: Senders = 1,
    size: Annotated[int, typer.Option(metavar="BYTES", help="Bytes in a message, 16 or more.")] = 100,
    seconds: Seconds = 10.0,
    baseline: Annotated[
        str | None, typer.Option(metavar="KIND", help="Also measure, in turns: pyro (a bare Pyro5 echo at that rate).")
    ] = None,
    loop: Annotated[bool, typer.Option("--loop", help="Receive by a loop over events(), not by callbacks.")] = False,
    as_json: options.Json = False,
) -> int:
    """The time from send to delivery at the slowest receiver, at a steady rate, and what it costs each process.

    It starts its own registry and one process per member, and measures in turns of a second. Members receive by
    `listen(direct=True)`, or with --loop in a thread of the application's own. In the JSON `cores` is processor
    time as a share of a core, `waited` for how many seconds per second a process's threads could have run and had
    no core: where it is large, latency is the machine's; `own_ms` is the time until a sender has its own message,
    which is not in the figures of the receivers, and `late_ms` how much later than planned it called `send`, which
    is not either. `stages_ms` are the parts of a message's way, from stamps taken in one more turn: until it is
    numbered, carried to the receiver, ordered, released (by a majority, if one has to hold it), and taken by the
    application. With --baseline pyro `ratio` is GCom's p50 ÷ that of one bare Pyro5 call at the same rate, there
    and back. The exit status is 1 if any delivery was wrong. It needs psutil: pip install 'gcom[bench]'.

    \b
    Examples:
      gcom bench latency --ordering fifo --baseline pyro
      gcom bench latency --ordering total --safe --rate 200 --members 5 --json
    """
    from gcom.bench.latency.turns import LatencySetup
    from gcom.cli import bench_tables

    definition = options.definition("bench", ordering, multicast, None, safe, None)
    setup = LatencySetup(definition, members, senders, rate, size, seconds, baseline, loop)
    return bench_tables.latency(setup, Output(), as_json)


@app.command("all", cls=extras.BenchWithPlots)
def everything(
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The page to write, NAME.md; its plots go into pictures/ beside it.")
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Briefly, in about three minutes, and without kills.")] = False,
    as_json: options.Json = False,
) -> int:
    """Measure all that is told of GCom's speed, and write it as a page with tables, plots, machine and commit.

    Single messages beside a paced Pyro5 echo with their stages, large ones, and the cost of groups in which
    nothing is sent; floods beside bare Pyro5 frames and raw TCP; failover. It takes a quarter
    of an hour. The exit status is 1 if any delivery was wrong. It needs psutil and matplotlib: pip install
    'gcom[bench]'.

    \b
    Examples:
      gcom bench all --out docs/performance.md
      gcom bench all --quick --out /tmp/performance.md --json
    """
    from gcom.cli import bench_tables

    return bench_tables.everything(out, quick, Output(), as_json)


@app.command(cls=extras.Bench)
def failover(
    trials: Annotated[int, typer.Option(metavar="N", help="Kills of each kind.")] = 50,
    kill: Annotated[
        str, typer.Option(metavar="WHOM", help="Whom to kill: leader, member, registry, sequencer, or all.")
    ] = "all",
    members: Annotated[int, typer.Option(metavar="N", help="Processes in the group, 3 or more.")] = 5,
    ordering: Annotated[
        str | None, typer.Option(metavar="ORDER", help="The group's ordering. [default: TOTAL]", show_default=False)
    ] = None,
    multicast: options.MulticastWord = None,
    safe: Safe = False,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the instants and the members that are chosen.")] = 0,
    as_json: options.Json = False,
) -> int:
    """Measure how long a group is held up when a member is killed, and how fast its membership follows other troubles.

    Real processes on this machine, with the defaults of GCom, all members sending. A kill is SIGKILL; its time ends
    when the slowest survivor has delivered a message of each other survivor that was sent after the kill, in a view
    without the dead. With --kill all, the default, there follow: a member that is paused and goes on, ten processes
    that join at one instant, view changes of eight members that each send five times a second, a split that is healed,
    and three members of which two are killed at once. The sequencer is killed in total orders only. The exit status is
    1 if a group did not go on at all.

    \b
    Examples:
      gcom bench failover --trials 50
      gcom bench failover --kill leader --trials 10 --ordering fifo
      gcom bench failover --trials 5 --json | jq -c 'select(.met == false)'
    """
    from gcom.bench.failover.trials import FailoverSetup, Kill
    from gcom.cli import bench_tables

    definition = options.definition("bench", ordering or bench_tables.HARDEST, multicast, None, safe, None)
    setup = FailoverSetup(definition, members, trials, Kill.parse(kill), seed)
    return bench_tables.failover(setup, Output(), as_json)


@app.command(cls=extras.Bench)
def idle(
    members: Annotated[int, typer.Option(metavar="N", help="Processes, each of them in all groups.")] = 3,
    groups: Annotated[int, typer.Option(metavar="N", help="Groups of these processes.")] = 1,
    seconds: Annotated[float, typer.Option(metavar="SECONDS", help="How long to look.")] = 20.0,
    ordering: options.OrderingWord = None,
    multicast: options.MulticastWord = None,
    safe: Safe = False,
    as_json: options.Json = False,
) -> int:
    """Measure what groups cost in which nothing is sent: processor time and switches of threads, of each member.

    It starts its own registry and one process per member. The bound is 0.4 % of a core for one group and 0.085 % for
    each further one; it decides no exit status. It needs psutil: pip install 'gcom[bench]'.

    \b
    Examples:
      gcom bench idle
      gcom bench idle --members 5 --groups 20 --json
    """
    from gcom.bench.idle.cost import IdleSetup
    from gcom.cli import bench_tables

    definition = options.definition("bench", ordering, multicast, None, safe, None)
    return bench_tables.idle(IdleSetup(definition, members, groups, seconds), Output(), as_json)


@app.command()
def topics(
    size: Annotated[int, typer.Option(metavar="BYTES", help="Bytes in a message.")] = 1024,
    commits: Annotated[int, typer.Option(metavar="N", help="Commits for each figure, about.")] = 1000,
    as_json: options.Json = False,
) -> int:
    """Measure topics in a file: producers, batches, also to a server, effects once, and the way to a reader.

    Rates stand beside c0, the time of a bare commit of one row on the same disk. The bounds decide no exit status. A
    second table has the commits and the processor time of each way of processing a message.

    \b
    Examples:
      gcom bench topics
      gcom bench topics --size 100 --commits 200 --json
    """
    from gcom.bench.topics.measuring import TopicsBenchSetup
    from gcom.cli import bench_tables

    return bench_tables.topics(TopicsBenchSetup(size, commits), Output(), as_json)


@app.command()
def sessions(
    reads: Annotated[int, typer.Option(metavar="N", help="Reads for each figure.")] = 20_000,
    as_json: options.Json = False,
) -> int:
    """Measure sessions: reads and writes under each guarantee beside none, a move to another replica, and a bank.

    The store has three replicas: this process, and two others. The bounds decide no exit status.

    \b
    Examples:
      gcom bench sessions
      gcom bench sessions --reads 2000 --json
    """
    from gcom.bench.sessions.measuring import SessionBenchSetup
    from gcom.cli import bench_tables

    return bench_tables.sessions(SessionBenchSetup(reads), Output(), as_json)


@app.command()
def replicated(
    commands: Annotated[int, typer.Option(metavar="N", help="Commands for each figure.")] = 2_000,
    replay: Annotated[int, typer.Option(metavar="N", help="Commands of the log that is replayed.")] = 50_000,
    kills: Annotated[int, typer.Option(metavar="N", help="Leaders that are killed, of each kind.")] = 3,
    baseline: Annotated[
        str | None, typer.Option(metavar="KIND", help="Also measure pysyncobj or etcd, under the same load.")
    ] = None,
    as_json: options.Json = False,
) -> int:
    """Measure a replicated state: commands beside sends of its group, on disks, a replay, and a killed leader.

    The state has three replicas: this process, and two others. c0 is one bare SQLite commit. A replay is told for a
    million commands, whatever its own count. The baseline etcd needs the command etcd (Debian: etcd-server), pysyncobj
    pip install 'gcom[bench]'. The bounds decide no exit status.

    \b
    Examples:
      gcom bench replicated
      gcom bench replicated --replay 1000000 --kills 10
      gcom bench replicated --commands 500 --baseline etcd --json
    """
    from gcom.bench.replicated.measuring import ReplicatedBenchSetup
    from gcom.cli import bench_tables

    return bench_tables.replicated(ReplicatedBenchSetup(commands, replay, kills, baseline), Output(), as_json)


@app.command(cls=extras.BenchOfAudit)
def audit(
    deliveries: Annotated[int, typer.Option(metavar="N", help="Of all members together.")] = 10_000_000,
    members: Annotated[int, typer.Option(metavar="N", help="Processes in the group, all of them sending.")] = 5,
    run_length: Annotated[int, typer.Option(metavar="N", help="Messages in a run, on average.")] = 20,
    twice: Annotated[bool, typer.Option("--twice", help="Also half the input, each three times.")] = False,
    # The order that asks most of the audit: every rule about order has a case.
    ordering: Annotated[str, typer.Option(metavar="ORDER", help="That of the group.")] = "CAUSALTOTAL",
    broken: Annotated[bool, typer.Option("--broken", help="Halfway one member delivers a run too late.")] = False,
    spark: Annotated[
        bool, typer.Option("--spark", help="By Spark; else by the engine that gcom audit chooses.")
    ] = False,
    as_json: options.Json = False,
) -> int:
    """Measure how long the audit takes: write the logs of a healthy group, and judge them by every rule.

    Each row is one `gcom audit` in a process of its own, from its start to its verdict; the first, of 10,000
    deliveries, is the start-up. Shuffled is what Spark moved between its tasks, of the bytes read. 100 million
    deliveries take 15 GB of disk in runs of 1, and 1 GB in runs of 20. It needs psutil: pip install 'gcom[bench]'.

    \b
    Examples:
      gcom bench audit
      gcom bench audit --deliveries 100000000 --run-length 1
      gcom bench audit --ordering FIFO --broken
      gcom bench audit --twice --json
    """
    from gcom.bench.audit.run import AuditBenchSetup
    from gcom.cli import bench_tables

    definition = options.definition("bench", ordering, None, None, False, None)
    setup = AuditBenchSetup(definition, members, deliveries, run_length, twice, broken, spark)
    return bench_tables.audit(setup, Output(), as_json)


@app.command(cls=extras.Bench)
def tls(
    ordering: options.OrderingWord = None,
    multicast: options.MulticastWord = None,
    safe: Safe = False,
    members: Annotated[int, typer.Option(metavar="N", help="Processes in the group.")] = 3,
    size: Annotated[int, typer.Option(metavar="BYTES", help="Bytes in a message, 17 or more.")] = 100,
    rate: Annotated[float, typer.Option(metavar="N", help="Messages per second, where latency is measured.")] = 1000.0,
    rounds: Annotated[int, typer.Option(metavar="N", help="Turns of each side.")] = 3,
    seconds: Annotated[float, typer.Option(metavar="SECONDS", help="How long each turn sends at full speed.")] = 5.0,
    as_json: options.Json = False,
) -> int:
    """Measure the cost of TLS, and of signed runs: the same group with and without, in turns within one run.

    Throughput with all members sending, p50 at a steady rate with one that sends, and the time of `Node.join`. It makes
    an authority and certificates in a temporary folder. The exit status is 1 if any delivery was wrong. It needs
    psutil: pip install 'gcom[bench]'.

    \b
    Examples:
      gcom bench tls
      gcom bench tls --rounds 1 --seconds 2 --json
      gcom bench tls --ordering total --members 5
    """
    from gcom.bench.security.tls import TlsBenchSetup
    from gcom.cli import bench_tables

    definition = options.definition("bench", ordering, multicast, None, safe, None)
    return bench_tables.tls(TlsBenchSetup(definition, members, size, rate, rounds, seconds), Output(), as_json)
