"""`gcom bank`: customers and branches of an input file, in this process."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gcom.cli.output import notice

if TYPE_CHECKING:
    from gcom.bank.customers import CustomerResult

app = typer.Typer(help="Run a bank of branches, whose customers see their own money at each.", rich_markup_mode=None)


@app.callback()
def _bank() -> None:
    """Run a bank of branches, whose customers see their own money at each."""


@app.command()
def run(
    input: Annotated[Path, typer.Argument(metavar="INPUT.json", help="Customers and branches.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write there. [default: standard output]")
    ] = None,
    overdraft: Annotated[bool, typer.Option(help="Allow withdrawals that leave less than nothing.")] = False,
    log_dir: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write delivery logs into this folder.")
    ] = None,
) -> int:
    """Carry out what customers do at branches, all at once; write each one's balance after its last order.

    A customer's orders are done one after another, each at the branch that it names. Each customer has one session,
    so a branch shows it all that it did at others. A refused order changes nothing, and is told on standard error.

    \b
    Examples:
      gcom bank run input.json -o output.json
      gcom bank run input.json --log-dir logs && gcom audit logs
    """
    from gcom.bank import branches, customers, orders

    asked = orders.read(input)
    accounts = {it.id: asked.balance for it in asked.customers}
    with branches.opened(asked.branches, accounts, overdraft, log_dir) as bank:
        results = customers.carry_out(asked.customers, bank, _tell_refusals)
        branch = next(iter(bank.values()))
        branch.replicas.barrier().result(branches.OPEN_S)  # else it may lag behind what others were answered
        with branch.session() as auditor:
            total, expected = auditor.state.total(), auditor.state.expected()
    text = json.dumps([{"id": it.id, "balance": it.balance} for it in results]) + "\n"
    if output is None:
        sys.stdout.write(text)
    else:
        temporary = output.with_name(f".{output.name}.{os.getpid()}")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(output)
    is_right = total == expected
    verdict = "as they should" if is_right else f"and should hold {expected}"
    notice(f"customers: {len(results)}, branches: {len(asked.branches)}; all accounts hold {total}, {verdict}")
    return 0 if is_right else 1


def _tell_refusals(result: CustomerResult) -> None:
    for text in result.refused:
        notice(f"customer {result.id}: {text}")
