"""The benches: the name of each, its settings with their help, and the module that measures.

A setup's docstring is what --help says of its command. Nothing of what measures is imported here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from gcom.bench.frame import BenchSetting, GroupSetup, Setup
from gcom.errors import BadValue
from gcom.values import limits
from gcom.values.definition import Ordering

SIZE_MIN = 17  # a stamp, and one byte that tells the payloads of a pool from it
SIZE_MAX = 128 * 1024  # bytes; a sender's pool has a chunk of messages
PACED_SIZE_MIN = 16  # a number and a time
KILLS = ("leader", "member", "registry", "sequencer")
START_DELIVERIES = 10_000  # the input by which the audit's start-up is measured
_HARDEST = Ordering.TOTAL  # the order that asks most of the survivors

Senders = Annotated[int, BenchSetting("How many of them send.", "N", 1, limits.MEMBERS_MAX)]
Seconds = Annotated[float, BenchSetting("How long to send, all turns together.", "SECONDS", 0.1, 3600.0)]
Size = Annotated[int, BenchSetting("Bytes in a message, 17 or more.", "BYTES", SIZE_MIN, SIZE_MAX)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputSetup(GroupSetup):
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

    command = "throughput"
    module = "gcom.bench.throughput.turns"
    senders: Senders = 3
    size: Size = 100
    seconds: Seconds = 10.0
    baseline: Annotated[
        str | None,
        BenchSetting(
            "Also measure, in turns: frames (bare Pyro5 frames), tcp (raw TCP), or pysyncobj (a replicated log).",
            "KIND",
            choices=("frames", "tcp", "pysyncobj"),
        ),
    ] = None
    log: Annotated[bool, BenchSetting("Write delivery logs, and measure in turns with and without them.")] = False
    log_dir: Annotated[Path | None, BenchSetting("Where --log writes. [default: a temporary folder]", "FOLDER")] = None

    def check(self) -> None:
        GroupSetup.check(self)
        _check_senders(self, self.senders)
        folder = self.log_dir
        if folder is not None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise BadValue(f"log folder {str(folder)!r} is no empty folder: name a new one")

    def needs(self) -> tuple[tuple[str, ...], ...]:
        return (("bench", "psutil", "pysyncobj"),) if self.baseline == "pysyncobj" else self.packages


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencySetup(GroupSetup):
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

    command = "latency"
    module = "gcom.bench.latency.turns"
    rate: Annotated[float, BenchSetting("Messages per second, of all senders together.", "N", 1, 100_000)] = 1000.0
    senders: Senders = 1
    size: Annotated[
        int, BenchSetting("Bytes in a message, 16 or more.", "BYTES", PACED_SIZE_MIN, limits.MESSAGE_BYTES_MAX)
    ] = 100
    seconds: Seconds = 10.0
    baseline: Annotated[
        str | None,
        BenchSetting("Also measure, in turns: pyro (a bare Pyro5 echo at that rate).", "KIND", choices=("pyro",)),
    ] = None
    loop: Annotated[bool, BenchSetting("Receive by a loop over events(), not by callbacks.")] = False

    def check(self) -> None:
        GroupSetup.check(self)
        _check_senders(self, self.senders)
        if self.members < 2:
            raise BadValue("one member alone has no other to receive: 2 at least")

    @property
    def label(self) -> str:
        """Return the group's promises, and how it receives if not as usual."""
        return f"{self.kind}, a loop" if self.loop else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class EverythingSetup(Setup):
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

    command = "all"
    module = "gcom.bench.performance.plan"
    packages = (("bench", "psutil", "matplotlib"),)
    out: Annotated[Path, BenchSetting("The page to write, NAME.md; its plots go into pictures/ beside it.", "FILE")]
    quick: Annotated[bool, BenchSetting("Briefly, in about three minutes, and without kills.")] = False

    def check(self) -> None:
        # A page that cannot be written must not cost a quarter of an hour.
        if self.out.suffix != ".md" or not self.out.parent.is_dir():
            raise BadValue(f"--out {str(self.out)!r} must be a file NAME.md in a folder that is there")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailoverSetup(GroupSetup):
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

    command = "failover"
    module = "gcom.bench.failover.trials"
    trials: Annotated[int, BenchSetting("Kills of each kind.", "N", 1, 10_000)] = 50
    kill: Annotated[
        str, BenchSetting("Whom to kill: leader, member, registry, sequencer, or all.", "WHOM", choices=(*KILLS, "all"))
    ] = "all"
    members: Annotated[
        int,
        BenchSetting("Processes in the group, 3 or more.", "N", 3, limits.MEMBERS_MAX, "the rest must be a majority"),
    ] = 5
    ordering: Annotated[str, BenchSetting("The group's ordering.", "ORDER", choices=tuple(Ordering))] = _HARDEST
    seed: Annotated[int, BenchSetting("Of the instants and the members that are chosen.", "N")] = 0

    def check(self) -> None:
        if not self.define().total and self.kill == "sequencer":
            raise BadValue(f"{self.ordering} has no sequencer: choose a total order")

    @property
    def kills(self) -> list[str]:
        """Return the kinds of kills that are wanted, and exist in this group."""
        wanted = KILLS if self.kill == "all" else (self.kill,)
        return [kill for kill in wanted if self.definition.total or kill != "sequencer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleSetup(GroupSetup):
    """Measure what groups cost in which nothing is sent: processor time and switches of threads, of each member.

    It starts its own registry and one process per member. The bound is 0.4 % of a core for one group and 0.085 % for
    each further one; it decides no exit status. It needs psutil: pip install 'gcom[bench]'.

    \b
    Examples:
      gcom bench idle
      gcom bench idle --members 5 --groups 20 --json
    """

    command = "idle"
    module = "gcom.bench.idle.cost"
    members: Annotated[int, BenchSetting("Processes, each of them in all groups.", "N", 1, limits.MEMBERS_MAX)] = 3
    groups: Annotated[int, BenchSetting("Groups of these processes.", "N", 1, 1_000)] = 1
    seconds: Annotated[float, BenchSetting("How long to look.", "SECONDS", 1.0, 3600.0)] = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsBenchSetup(Setup):
    """Measure topics in a file: producers, batches, also to a server, effects once, and the way to a reader.

    Rates stand beside c0, the time of a bare commit of one row on the same disk. The bounds decide no exit status. A
    second table has the commits and the processor time of each way of processing a message.

    \b
    Examples:
      gcom bench topics
      gcom bench topics --size 100 --commits 200 --json
    """

    command = "topics"
    module = "gcom.bench.topics.measuring"
    packages = ()
    size: Annotated[int, BenchSetting("Bytes in a message.", "BYTES", 1, 1_000_000)] = 1024
    commits: Annotated[int, BenchSetting("Commits for each figure, about.", "N", 10, 1_000_000)] = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBenchSetup(Setup):
    """Measure sessions: reads and writes under each guarantee beside none, a move to another replica, and a bank.

    The store has three replicas: this process, and two others. The bounds decide no exit status.

    \b
    Examples:
      gcom bench sessions
      gcom bench sessions --reads 2000 --json
    """

    command = "sessions"
    module = "gcom.bench.sessions.measuring"
    packages = ()
    reads: Annotated[int, BenchSetting("Reads for each figure.", "N", 200, 10_000_000)] = 20_000

    @property
    def writes(self) -> int:
        """Return the number of writes for each figure."""
        return self.reads // 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicatedBenchSetup(Setup):
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

    command = "replicated"
    module = "gcom.bench.replicated.measuring"
    packages = ()
    commands: Annotated[int, BenchSetting("Commands for each figure.", "N", 50, 1_000_000)] = 2_000
    replay: Annotated[int, BenchSetting("Commands of the log that is replayed.", "N", 1_000, 10_000_000)] = 50_000
    kills: Annotated[int, BenchSetting("Leaders that are killed, of each kind.", "N", 1, 100)] = 3
    baseline: Annotated[
        str | None,
        BenchSetting("Also measure pysyncobj or etcd, under the same load.", "KIND", choices=("pysyncobj", "etcd")),
    ] = None

    def needs(self) -> tuple[tuple[str, ...], ...]:
        return (("bench", "pysyncobj"),) if self.baseline == "pysyncobj" else self.packages


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditBenchSetup(Setup):
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

    command = "audit"
    module = "gcom.bench.audit.run"
    packages = (("bench", "psutil"), ("audit", "numpy", "pyarrow", "pyspark"))
    deliveries: Annotated[int, BenchSetting("Of all members together.", "N", 1_000, 10**9)] = 10_000_000
    members: Annotated[
        int, BenchSetting("Processes in the group, all of them sending.", "N", 1, limits.MEMBERS_MAX)
    ] = 5
    run_length: Annotated[int, BenchSetting("Messages in a run, on average.", "N", 1, limits.RUN_MESSAGES_MAX)] = 20
    twice: Annotated[bool, BenchSetting("Also half the input, each three times.")] = False
    # The order that asks most of the audit: every rule about order has a case.
    ordering: Annotated[str, BenchSetting("That of the group.", "ORDER", choices=tuple(Ordering))] = "CAUSALTOTAL"
    broken: Annotated[bool, BenchSetting("Halfway one member delivers a run too late.")] = False
    spark: Annotated[bool, BenchSetting("By Spark; else by the engine that gcom audit chooses.")] = False

    def check(self) -> None:
        if self.twice and self.deliveries < 4 * START_DELIVERIES:
            least = 4 * START_DELIVERIES
            raise BadValue(f"to be measured twice, deliveries {self.deliveries} is not at least {least}")
        ordering = Ordering(self.ordering)
        if self.broken and not (ordering.is_fifo or ordering.is_total):
            raise BadValue(f"a {ordering} group promises no order that a late delivery could break")


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsBenchSetup(GroupSetup):
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

    command = "tls"
    module = "gcom.bench.security.tls"
    size: Size = 100
    rate: Annotated[float, BenchSetting("Messages per second, where latency is measured.", "N", 1, 100_000)] = 1000.0
    rounds: Annotated[int, BenchSetting("Turns of each side.", "N", 1, 100)] = 3
    seconds: Annotated[float, BenchSetting("How long each turn sends at full speed.", "SECONDS", 0.5, 600.0)] = 5.0


def _check_senders(setup: GroupSetup, senders: int) -> None:
    if senders > setup.members:
        raise BadValue(f"senders {senders} is not 1 to {setup.members}: all of them are members")


BENCHES: tuple[type[Setup], ...] = (
    ThroughputSetup,
    LatencySetup,
    EverythingSetup,
    FailoverSetup,
    IdleSetup,
    TopicsBenchSetup,
    SessionBenchSetup,
    ReplicatedBenchSetup,
    AuditBenchSetup,
    TlsBenchSetup,
)
