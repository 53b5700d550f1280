"""Extras: packages that some commands need beside those of GCom itself. A command asks for them before any work."""

from __future__ import annotations

from importlib.util import find_spec

from gcom.errors import ExtraMissing

MATPLOTLIB = "matplotlib"


def need(extra: str, *packages: str) -> None:
    """Raise ExtraMissing if one of the packages that the extra brings is not installed."""
    # Looked for and not imported: some take a second, and the command may need them at its end.
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        *others, last = missing
        names = f"{', '.join(others)} and {last} are" if others else f"{last} is"
        raise ExtraMissing(f"{names} not installed: pip install 'gcom[{extra}]'")
