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
def members(
    folders: Annotated[list[Path], typer.Argument(help="The folders `data` of replicas.", show_default=False)],
    as_json: options.Json = False,
) -> int:
    """Show the replicas of one state beside each other: who is configured, what each disk has, and which is the latest.

    The latest disk names the replicas. The exit status is 1 if the folders are of less than a majority of them: then
    the latest of these may lack what was confirmed. They may be in use.

    \b
    Examples:
      gcom replicated members /var/lib/stock
      gcom replicated members /mnt/alice/stock /mnt/bob/stock --json
    """
    from gcom.replicated.durable.storage import look_into

    disks = [look_into(it) for it in folders]
    found = {str(it["name"]): it for it in disks}
    if len({it["state"] for it in disks}) > 1 or len(found) < len(disks):
        got = ", ".join(f"{it['name']} of {it['state']}" for it in disks)
        raise BadValue(f"the folders must be of different replicas of one state; got {got}")
    latest = max(found.values(), key=lambda it: (it["term"], it["index"]))
    names = latest["replicas"]
    assert isinstance(names, list)
    output = Output()
    for name in [*names, *sorted(set(found) - set(names))]:
        row = _member_row(name, found.get(name), configured=name in names, latest=found.get(name) is latest)
        if as_json:
            output.row(row)
        else:
            output.text(_line(row))
    output.flush()
    here = len(set(names) & set(found))
    if 2 * here > len(names):
        return 0
    notice(f"{here} of {len(names)} replicas are here, which is no majority: others may have later entries")
    return 1


def _line(row: dict[str, object]) -> str:
    name, role, disk, *place = row
    shown = f"{row[name]!s:<12}{row[role]!s:<10}{row[disk]!s:<11}"
    return (shown + ", ".join(f"{it} {row[it]}" for it in place)).rstrip()


def _member_row(name: str, disk: dict[str, object] | None, configured: bool, latest: bool) -> dict[str, object]:
    """Return what is known of one replica; of one without a folder its name alone."""
    role = "replica" if configured else "removed"
    if disk is None:
        return {"name": name, "role": role, "disk": "not given"}
    place = {"term": disk["term"], "index": disk["index"], "confirmed": disk["confirmed"]}
    return {"name": name, "role": role, "disk": "latest" if latest else "here", **place}


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
