"""`gcom bench`: the cost of GCom on this machine, each command with its own processes.

The commands, their options and help are made from the setups in gcom/bench/settings.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from inspect import Parameter, Signature
from typing import Any, get_type_hints

import typer

from gcom.bench.frame import BenchResult, Setup, joined
from gcom.bench.settings import BENCHES
from gcom.cli import extras, options
from gcom.cli.output import Output, notice

app = typer.Typer(rich_markup_mode=None)


# A callback that does nothing: its docstring is what --help says of the commands together.
@app.callback()
def bench_top() -> None:
    """Measure what GCom costs on this machine."""


def _command(kind: type[Setup]) -> Callable[..., int]:
    """Return the function of a bench's command, whose parameters are the settings."""

    def command(as_json: bool, **given: Any) -> int:
        return _run(kind(**given), as_json)

    hints, settings = get_type_hints(kind), kind.settings()
    parameters = []
    for each in fields(kind):
        if setting := settings.get(each.name):
            flag = f"--{each.name.replace('_', '-')}"
            shown = "[default:" not in setting.help
            default = ... if each.default is MISSING else each.default
            option = typer.Option(default, flag, metavar=setting.metavar, help=setting.help, show_default=shown)
            parameters.append(Parameter(each.name, Parameter.KEYWORD_ONLY, default=option, annotation=hints[each.name]))
    parameters.append(Parameter("as_json", Parameter.KEYWORD_ONLY, default=False, annotation=options.Json))
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined] # Typer reads it
    command.__annotations__ = {it.name: it.annotation for it in parameters}
    command.__doc__ = kind.__doc__
    return command


for bench in BENCHES:
    app.command(bench.command)(_command(bench))


def _run(setup: Setup, as_json: bool) -> int:
    """Measure, and show what came of it; return 1 if anything was wrong."""
    for extra, *packages in setup.needs():
        extras.need(extra, *packages)
    from gcom.cli.progress import show_bench, steps

    output, results = Output(), list[BenchResult]()
    with steps() as tell:
        for result in setup.measure(tell):
            results.append(result)
            # At once: the next one may take minutes.
            if as_json and result.row:
                output.row(result.row)
                output.flush()
    if not as_json:
        for table in joined(it for result in results for it in result.tables):
            show_bench(table, output)
    for result in results:
        for text in (*result.notes, *(f"wrong: {what}" for what in result.wrong)):
            notice(text)
    return 1 if any(result.wrong for result in results) else 0
