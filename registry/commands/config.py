"""The command that shows the settings, and where each is from."""

from __future__ import annotations

from pathlib import Path

from gcom.cli.output import Output, notice, table
from registry.operation.settings import RegistrySettings


def show(settings: RegistrySettings, file: Path | None, as_json: bool) -> None:
    """Print a line per setting."""
    output = Output()
    if as_json:
        for key, it in settings.chosen.items():
            output.row(
                {"type": "setting", "key": key, "value": it.value or None, "origin": it.origin, "where": it.where}
            )
    else:
        rows = [(key, it.value or "-", it.where or it.origin) for key, it in settings.chosen.items()]
        table(output, [("KEY", "VALUE", "FROM"), *rows])
    output.flush()
    if file and not file.exists():
        notice(f"there is no settings file {str(file)!r}: make one, or name another with --config")
