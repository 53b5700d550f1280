"""`gcom audit`: its words. What does the work is imported when asked for: the audit's packages are an extra."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from gcom.cli import extras, options

_READING, _SPARK, _REPORT = ("numpy", "pyarrow"), ("pyspark",), ("jinja2", extras.MATPLOTLIB)
# A name that no user types: `gcom audit FOLDER` means it, and Typer wants each command to have one.
_LOGS = "logs"


class _LogsByDefault(TyperGroup):
    """The command group: it judges unless its first argument is a sub-command, so a folder may be named `logs`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        # An empty word stands for the command without a name: `gcom audit logs/` must judge, though `logs` is a
        # sub-command as well.
        named = args and args[0] in self.commands and args[0] != _LOGS
        return super().parse_args(ctx, args if named else ["", *args])

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> tuple[str | None, Any, list[str]]:  # type: ignore[override]
        return super().resolve_command(ctx, args) if args[0] else ("", self.commands[_LOGS], args[1:])


class _Unnamed(typer.Context):
    @property
    def command_path(self) -> str:
        # The empty word would leave a blank at the end of "gcom audit" in messages.
        return super().command_path.rstrip()


class _Logs(TyperCommand):
    context_class = _Unnamed


app = typer.Typer(
    cls=_LogsByDefault,
    rich_markup_mode=None,
    help="Judge delivery logs: which promises held, with evidence.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command(_LOGS, cls=_Logs)
def logs(
    folders: Annotated[list[str], typer.Argument(metavar="LOGDIR", help="Folders that --log-dir named.")],
    as_json: Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write all as JSON.")] = None,
    report: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a report: one HTML file that opens offline.")
    ] = None,
    witness: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Write for each incident the smallest logs that still break the rule."),
    ] = None,
    junit: Annotated[str | None, typer.Option(metavar="FILE", help="Write verdicts as JUnit XML.")] = None,
    parquet: Annotated[
        str | None, typer.Option(metavar="DIR", help="Write verdicts, incidents and coverage as Parquet tables.")
    ] = None,
    allow_unknown: Annotated[
        bool, typer.Option("--allow-unknown", help="Exit with 0 where nothing is violated, though not all is known.")
    ] = False,
    all_rules: Annotated[bool, typer.Option("--all-rules", help="Judge what is not promised, too: slower.")] = False,
    incremental: Annotated[
        Path | None, typer.Option(metavar="STATE", help="Keep what is found of segments there, and read only new ones.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show each rule of every group.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show the verdict alone, where it is PASS.")] = False,
    spark: Annotated[bool, typer.Option("--spark", help="Judge by Spark, however small the logs are.")] = False,
    master: Annotated[str | None, typer.Option(metavar="URL", help="Spark's master; local[*] if not given.")] = None,
    remote: Annotated[str | None, typer.Option(metavar="URL", help="A Spark Connect server, as sc://host.")] = None,
) -> int:
    """Judge delivery logs: which of its promises each group kept, with evidence for each that it broke.

    Members write the logs (`gcom join --log-dir`, `gcom.Node(log_dir=...)`); every rule is in docs/DELIVERY_LOG.md. The
    first line printed is the verdict. Exit status: 0 all promised rules hold, 1 one is violated, 2 none is violated
    but something is unknown or there was nothing to judge, 3 the audit could not run.

    \b
    Examples:
      gcom audit logs/
      gcom audit logs/ --report audit.html
      gcom audit logs/ --json audit.json --junit audit.xml --witness witnesses/
      gcom audit logs/ --incremental audit-state/

    \b
    Beside it:
      gcom audit compact --help    write logs as Parquet, which it reads as well
      gcom audit watch --help      judge logs that grow, again and again
      gcom audit import --help     judge logs of other systems: ShiViz, Jepsen, Kafka, NATS
      gcom audit explain RULE      a rule in plain words; without RULE a line for each
    """
    extras.need("audit", *_READING, *(_SPARK if spark or master or remote else ()), *(_REPORT if report else ()))
    from gcom.cli.audits.judging import Judging
    from gcom.cli.audits.verdicts import Outputs, audit

    how = Judging(spark, master, remote, all_rules, incremental)
    outputs = Outputs(as_json, report, witness, junit, parquet)
    return audit(folders, how, outputs, allow_unknown=allow_unknown, verbose=verbose, quiet=quiet)


@app.command("compact")
def compact(
    folders: Annotated[list[str], typer.Argument(metavar="LOGDIR", help="Folders that --log-dir named.")],
    into: Annotated[Path, typer.Option("--into", metavar="FOLDER", help="A new folder for the Parquet files.")],
) -> int:
    """Write logs as Parquet, which the audit reads as it reads the logs.

    Segments of megabytes come to about a tenth of the space. Each file has a head of its own, so segments of a kilobyte
    take several times more. What came of yours is said at the end.

    \b
    Examples:
      gcom audit compact logs/ --into compact/
      gcom audit compact/
    """
    extras.need("audit", *_READING)
    from gcom.cli.audits.verdicts import compact_logs

    return compact_logs(folders, into)


@app.command("watch")
def watch(
    folders: Annotated[list[str], typer.Argument(metavar="LOGDIR", help="Folders that --log-dir named.")],
    state: Annotated[Path, typer.Option(metavar="STATE", help="A folder of its own: what was seen, found and told.")],
    every: Annotated[
        float, typer.Option(min=0.5, max=86_400, metavar="SECONDS", help="How often to look for sealed segments.")
    ] = 10.0,
    once: Annotated[bool, typer.Option("--once", help="Judge what is new since the last time, and end.")] = False,
    master: Annotated[str | None, typer.Option(metavar="URL", help="Spark's master; local[*] if not given.")] = None,
    as_json: options.Json = False,
) -> int:
    """Judge logs that grow: a line whenever segments were sealed, with the incidents that are new.

    Spark's Structured Streaming looks for sealed segments, and its checkpoint is in STATE, with what is known of each
    segment: so a watch that is started again goes on where it was, and reads only what is new. A member seals a segment
    by its size or its age (docs/DELIVERY_LOG.md); what it still writes is read along. Ctrl-C ends the watch (130). With
    --once the exit status is that of gcom audit, and 2 if no segment was sealed.

    \b
    Examples:
      gcom audit watch logs/ --state watch-state/
      gcom audit watch logs/ --state watch-state/ --every 60 --json >>verdicts.jsonl
      gcom audit watch logs/ --state watch-state/ --once
    """
    extras.need("audit", *_READING, *_SPARK)
    from gcom.cli.audits.judging import Judging
    from gcom.cli.audits.watching import watch as watch_logs

    how = Judging(spark=True, master=master)
    return watch_logs(folders, state, how, None if once else every, as_json=as_json)


@app.command("import")
def import_logs(
    form: Annotated[str, typer.Argument(metavar="FORM", help="shiviz, jepsen, porcupine, kafka or nats.")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="The log; of kafka and nats one or several.")],
    into: Annotated[Path, typer.Option("--into", metavar="FOLDER", help="A new folder for the delivery logs.")],
    regex: Annotated[
        str | None,
        typer.Option(metavar="R", help="With shiviz: groups host, clock and event. [default: GoVector's]"),
    ] = None,
    as_json: options.Json = False,
) -> int:
    """Turn another system's log into delivery logs, as far as it says what they need; then audit these.

    shiviz reads events with vector clocks, as GoVector writes them, and tells whether the clocks are possible. jepsen
    reads the history of a list-append test, in EDN, and porcupine that of a key-value store. kafka and nats read what
    your consumers wrote of the records that they were handed, a JSON object a line (docs/audit-import.md has the
    fields). Only the rules that the records can carry are judged; which these are is said. Lines that fit nothing are
    counted and told; if they are half of all, nothing is imported (status 3).

    \b
    Examples:
      gcom audit import shiviz govector.log --into logs/
      gcom audit import jepsen store/latest/history.edn --into logs/
      gcom audit import porcupine c10-ok.txt --into logs/
      gcom audit import kafka consumer-1.jsonl consumer-2.jsonl --into logs/
      gcom audit import nats consumers.jsonl --into logs/ --json
      gcom audit import shiviz app.log --regex "(?<event>.*)\\n(?<host>\\S*) (?<clock>{.*})" --into logs/
    """
    extras.need("audit", *_READING)
    from gcom.cli.audits.verdicts import import_log

    return import_log(form, files, into, regex, as_json=as_json)


@app.command("explain")
def explain_rule(
    rule: Annotated[str | None, typer.Argument(metavar="RULE", help="As DURABLE; without it a line for each.")] = None,
    as_json: options.Json = False,
) -> int:
    """Say in plain words what a rule asks, which groups promise it, and what it means where it is broken.

    \b
    Examples:
      gcom audit explain
      gcom audit explain DURABLE
      gcom audit explain "virtual synchrony" --json
    """
    extras.need("audit", *_READING)
    from gcom.cli.audits.explaining import explain

    return explain(rule, as_json=as_json)
