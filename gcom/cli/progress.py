"""The output of the demo and the benchmark: a progress bar and a table for people, JSON lines for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from gcom.bench.frame import BenchTable, Tell
from gcom.cli.output import Output, notice
from gcom.demo.checks import DemoResult
from gcom.demo.run import Watcher, run
from gcom.demo.texts import chosen_texts

NOTICE_S = 5.0  # where there is no terminal, a line of a bench this often


def demo(files: Sequence[Path], log_dir: Path, output: Output, as_json: bool, *, verbose: bool) -> int:
    """Run the demo and show its results; return 0 only if every delivery was right."""
    texts = chosen_texts(files)
    notice(f"sending {', '.join(text.source for text in texts if text.source)}")
    # On standard error, so that the result alone is on standard output.
    with _watching(verbose) as watcher:
        results = run(texts, log_dir, watcher)
    if as_json:
        for result in results:
            output.row(result.row())
        output.flush()
    else:
        if verbose:
            show(_demo_table(results), output)
        for result in results:
            output.text(result.line())
        output.flush()
    # Behind the table, as notices: what is wrong is read last, and is not in the data.
    for wrong in [what for result in results for what in result.wrong]:
        notice(f"wrong: {wrong}")
    notice(f"delivery logs are in {log_dir}/")
    # Also behind --json: a build that runs the demo looks at the status alone.
    return 0 if all(result.right for result in results) else 1


def _demo_table(results: Sequence[DemoResult]) -> Table:
    """Return a table narrow enough for 80 columns."""
    members = results[0].members if results else 0
    caption = "p50, p99: from calling send to each delivery, full windows included"
    table = Table(title=f"GCom demo: {members} members", caption=caption, box=SIMPLE, pad_edge=False, show_edge=False)
    for title in (
        "ordering",
        "messages",
        "deliveries",
        "messages\na second",
        "p50\nms",
        "p99\nms",
        "same\nset",
        "order",
    ):
        left = title in ("ordering", "same\nset", "order")
        table.add_column(title, justify="left" if left else "right", no_wrap=True, vertical="bottom")
    for result in results:
        table.add_row(
            result.ordering,
            f"{result.messages:,}",
            f"{result.deliveries:,}",
            f"{result.rate:,.0f}",
            f"{result.p50_ms:.1f}",
            f"{result.p99_ms:.1f}",
            "yes" if result.same_set else "NO",
            {True: "kept", False: "BROKEN", None: "free"}[result.in_order],
        )
    return table


class _Bar:
    """A progress bar on a terminal's standard error."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("starting", total=None)

    def begin(self, ordering: str, deliveries: int) -> None:
        self._progress.reset(self._task, description=ordering, total=deliveries, completed=0)

    def delivered(self, deliveries: int) -> None:
        self._progress.update(self._task, completed=deliveries)


class _Lines:
    """A line for each ordering, where there is no terminal to draw on; if `verbose`, also one at each quarter."""

    def __init__(self, verbose: bool) -> None:
        self._verbose = verbose
        self._ordering = ""
        self._total = 0
        self._next = 1

    def begin(self, ordering: str, deliveries: int) -> None:
        self._ordering, self._total, self._next = ordering, deliveries, 1
        notice(f"{ordering}: {deliveries:,} deliveries to come")

    def delivered(self, deliveries: int) -> None:
        # Four lines per ordering: enough to see in a log of a build that it goes on.
        if self._verbose and deliveries * 4 >= self._total * self._next:
            self._next = deliveries * 4 // max(1, self._total) + 1
            notice(f"{self._ordering}: {deliveries} of {self._total} deliveries")


@contextmanager
def _watching(verbose: bool) -> Iterator[Watcher]:
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(verbose)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # Transient: the table that follows says all that the bar did.
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Bar(progress)


@contextmanager
def steps() -> Iterator[Tell]:
    """Yield a callable for the text of each step, shown beside a spinner on a terminal, else as a line now and then."""
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status("starting") as status:
            yield status.update
    else:
        yield _throttled()


# The log of a build would have thousands of lines else; a line now and then shows that the bench goes on.
def _throttled() -> Tell:
    last_s = 0.0

    def tell(text: str) -> None:
        nonlocal last_s
        if monotonic() - last_s >= NOTICE_S:
            last_s = monotonic()
            notice(text)

    return tell


def show_bench(bench: BenchTable, output: Output) -> None:
    """Print a table of a bench: its first column and its judgements stand at the left."""
    table = Table(title=bench.title)
    for place, title in enumerate(bench.columns):
        table.add_column(title, justify="left" if place == 0 or title == "judgement" else "right", overflow="fold")
    for row in bench.rows:
        table.add_row(*row)
    show(table, output)


def show(table: Table, output: Output) -> None:
    """Print a table, as wide as it needs to be where there is no terminal: rich would cut words at 80 columns."""
    # 200 columns hold every table of ours; a fixed width also keeps the lines of a file the same from run to run.
    console = Console() if output.terminal else Console(width=200)
    # Rich would write to the descriptor itself, and exit with 1 where its reader is gone; Output says OutputClosed.
    with console.capture() as captured:
        console.print(table)
    output.text(captured.get().rstrip())
    output.flush()
