"""`gcom bank`: customers and branches of an input file, in this process."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gcom.cli import options
from gcom.cli.output import Output, notice
from gcom.errors import BadValue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gcom.bank.customers import CustomerResult
    from gcom.bank.orders import BankOrders
    from gcom.demo.bank.chaos import ChaosResult

app = typer.Typer(help="Run a bank of branches, whose customers see their own money at each.", rich_markup_mode=None)


@app.callback()
def _bank() -> None:
    """Run a bank of branches, whose customers see their own money at each."""


Input = Annotated[Path, typer.Argument(metavar="INPUT.json", help="Customers and branches.", show_default=False)]
Overdraft = Annotated[bool, typer.Option("--overdraft", help="Allow withdrawals that leave less than nothing.")]
LogDir = Annotated[Path | None, typer.Option(metavar="FOLDER", help="Write delivery logs into this folder.")]


@app.command()
def run(
    input: Input,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write there. [default: standard output]")
    ] = None,
    overdraft: Overdraft = False,
    log_dir: LogDir = None,
    base_port: Annotated[
        int | None, typer.Option(metavar="PORT", help="Go to branches that serve at PORT + id.", show_default=False)
    ] = None,
    stop_when_done: Annotated[
        bool, typer.Option("--stop-when-done", help="End these branches at the end; needs --base-port.")
    ] = False,
) -> int:
    """Carry out what customers do at branches, all at once; write each one's balance after its last order.

    A customer's orders are done one after another, each at the branch that it names. Each customer has one session,
    so a branch shows it all that it did at others. A refused order changes nothing, and is told on standard error.

    The branches are in this process, or those of `gcom bank serve` with --base-port. Where such a branch does not
    answer, its customers go to another one.

    \b
    Examples:
      gcom bank run input.json -o output.json
      gcom bank run input.json --log-dir logs && gcom audit logs
      gcom bank run input.json --base-port 50047 --stop-when-done
    """
    from gcom.bank import orders

    asked = orders.read(input)
    if base_port is not None:
        if overdraft or log_dir is not None:
            raise BadValue("--overdraft and --log-dir are for the branches: give them to gcom bank serve")
        return _run_served(asked, output, base_port, stop_when_done)
    if stop_when_done:
        raise BadValue("--stop-when-done needs --base-port, the branches that are to end")
    return _run_here(asked, output, overdraft, log_dir)


def _run_served(asked: BankOrders, output: Path | None, base_port: int, stop_when_done: bool) -> int:
    from gcom.bank.visits import ServedBranches
    from gcom.demo.bank.serving import ServedBank

    bank = ServedBank(asked, base_port)
    branches = ServedBranches({it: f"127.0.0.1:{bank.port(it)}" for it in asked.branches})
    results = branches.carry_out(asked.customers, _tell_refusals)
    if stop_when_done:
        branches.stop()
    _write(results, output)
    notice(f"customers: {len(results)}, branches: {len(asked.branches)}")
    return 0


def _run_here(asked: BankOrders, output: Path | None, overdraft: bool, log_dir: Path | None) -> int:
    from gcom.bank import branches, customers

    accounts = {it.id: asked.balance for it in asked.customers}
    with branches.opened(asked.branches, accounts, overdraft, log_dir) as bank:
        results = customers.carry_out(asked.customers, bank, _tell_refusals)
        branch = next(iter(bank.values()))
        branch.replicas.barrier().result(branches.OPEN_S)  # else it may lag behind what others were answered
        with branch.session() as auditor:
            total, expected = auditor.state.total(), auditor.state.expected()
    _write(results, output)
    is_right = total == expected
    verdict = "as they should" if is_right else f"and should hold {expected}"
    notice(f"customers: {len(results)}, branches: {len(asked.branches)}; all accounts hold {total}, {verdict}")
    return 0 if is_right else 1


def _write(results: list[CustomerResult], output: Path | None) -> None:
    text = json.dumps([{"id": it.id, "balance": it.balance} for it in results]) + "\n"
    if output is None:
        sys.stdout.write(text)
    else:
        temporary = output.with_name(f".{output.name}.{os.getpid()}")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(output)


@app.command()
def serve(
    input: Input,
    base_port: Annotated[int, typer.Option(metavar="PORT", help="Branch id listens at PORT + id.")] = 50047,
    overdraft: Overdraft = False,
    data: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Keep the accounts there: they outlive all branches.")
    ] = None,
    log_dir: LogDir = None,
) -> None:
    """Serve the branches of a file, each in a process of its own, until they are stopped or Ctrl-C.

    A branch that dies is started again, and takes what the others have. Each branch answers MsgDelivery and
    ClockUpdate at its port (docs/sessions.md).

    \b
    Examples:
      gcom bank serve input.json
      gcom bank serve input.json --data bank
      gcom bank run input.json --base-port 50047 --stop-when-done     in another terminal
    """
    from gcom.bank import orders
    from gcom.demo.bank.serving import ServedBank
    from gcom.demo.bank.serving import serve as serve_bank

    bank = ServedBank(orders.read(input), base_port, overdraft, data and data.resolve(), log_dir and log_dir.resolve())
    serve_bank(bank, notice)


@app.command()
def demo(
    branches: Annotated[int, typer.Option(metavar="N", help="Processes, 3 or more.")] = 5,
    customers: Annotated[int, typer.Option(metavar="N", help="All bank at the same time.")] = 50,
    chaos: Annotated[float, typer.Option(metavar="SECONDS", help="Kill and pause branches for so long.")] = 60.0,
    seed: Annotated[int, typer.Option(metavar="N", help="Chooses the orders and the victims.")] = 1,
    data: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Keep the accounts there: they outlive all branches.")
    ] = None,
    log_dir: LogDir = None,
    as_json: options.Json = False,
) -> int:
    """Have customers bank while their branches are killed and paused, and check every answer.

    Each customer has one session, and moves between two clients. An answer is wrong if it is stale, or if an order
    was lost or carried out twice. At the end all accounts are compared with what was confirmed, and the audit judges
    the branches' logs.

    \b
    Examples:
      gcom bank demo
      gcom bank demo --branches 3 --customers 10 --chaos 20
      gcom bank demo --log-dir logs && gcom audit logs --report report.html
    """
    from gcom.cli.audits.demos import kept_if_wrong, passes_audit
    from gcom.demo.bank import chaos as havoc

    plan = havoc.ChaosPlan(branches, customers, chaos, seed)

    def all_is_right(logs: Path) -> bool:
        result = havoc.run(plan, havoc.bank_of(plan, data and data.resolve(), logs.resolve()), notice)
        output = Output()
        if as_json:
            output.row(result.row())
        else:
            for line in _lines(result):
                output.text(line)
        output.flush()
        return passes_audit(logs, as_json=as_json) and result.is_right

    return kept_if_wrong(log_dir, all_is_right)


def _lines(result: ChaosResult) -> Iterator[str]:
    yield f"{result.kills} branches killed, {result.pauses} paused"
    yield (
        f"{result.orders:,} orders, {result.refused:,} of them refused for lack of money; {result.moves:,} moves of "
        f"sessions, {result.retried:,} retries; the slowest order took {result.slowest_s:.1f} s"
    )
    yield from (f"WRONG: {it}" for it in result.wrong[:20])
    if len(result.wrong) > 20:
        yield f"and {len(result.wrong) - 20:,} more answers are wrong"
    verdict = "as confirmed" if result.total == result.expected else f"WRONG: {result.expected:,} were confirmed"
    yield f"all accounts hold {result.total:,}, {verdict}"
    if not result.is_right:
        yield "FAIL"


def _tell_refusals(result: CustomerResult) -> None:
    for text in result.refused:
        notice(f"customer {result.id}: {text}")
