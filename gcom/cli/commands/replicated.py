"""`gcom replicated`: the folders of durable replicas, for operators."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gcom.cli import options
from gcom.cli.output import Output, notice
from gcom.errors import BadValue

app = typer.Typer(
    rich_markup_mode=None,
    help="Look at the folders of durable replicated states, and give up replicas that are lost (docs/replicated.md).",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Folder = Annotated[Path, typer.Argument(help="The folder `data` of one replica.", show_default=False)]


@app.command()
def status(folder: Folder, as_json: options.Json = False) -> None:
    """Show what a replica's disk has: its last entry, what of it is known to be confirmed, and the configured names.

    It may be asked while a process uses the folder.

    \b
    Example:
      gcom replicated status /var/lib/stock
    """
    from gcom.replicated.durable.storage import look_into

    found = look_into(folder)
    output = Output()
    if as_json:
        output.row(found)
    else:
        for name, value in found.items():
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            output.text(f"{name:<12}{shown}")
    output.flush()


@app.command()
def recover(
    folder: Folder,
    give_up: Annotated[
        str, typer.Option("--give-up", metavar="NAME,NAME", help="Replicas that are lost.", show_default=False)
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do it, now that you know what may be lost.")] = False,
) -> int:
    """Give up replicas for good, so that those that are left are a majority. The replica's process must be stopped.

    Do it where the replica with the latest entry is (see status), and start that one again.

    \b
    Examples:
      gcom replicated recover /var/lib/stock --give-up bob,carol          says what may be lost
      gcom replicated recover /var/lib/stock --give-up bob,carol --yes
    """
    from gcom.replicated.durable.storage import LogStorage, look_into

    found = look_into(folder)
    names = [it.strip() for it in give_up.split(",") if it.strip()]
    configured = found["replicas"]
    assert isinstance(configured, list)
    strangers = [it for it in names if it not in configured or it == found["name"]]
    if strangers or not names:
        raise BadValue(
            f"--give-up must name other replicas of {', '.join(configured)}; got {', '.join(strangers) or 'none'}"
        )
    notice(
        f"{found['name']} has entries up to {found['index']} of term {found['term']}; what {', '.join(names)} synced "
        "beyond that is lost, though it may have been confirmed"
    )
    if not yes:
        notice("nothing is changed: say --yes to do it")
        return 1
    storage = LogStorage(folder, str(found["state"]), str(found["name"]), tuple(configured))
    try:
        left = storage.give_up(names)
    finally:
        storage.close()
    notice(f"the replicas are {', '.join(left)} now; start {found['name']}, then the others")
    return 0
