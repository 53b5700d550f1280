"""The flags of `gcom-registry run`, which other commands take as well. Each is a setting (registry/settings.py)."""

from __future__ import annotations

from typing import Annotated

import typer

Config = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="TOML file of settings. [default: $GCOM_CONFIG, else registry.toml in the user's folder for gcom]",
    ),
]
Host = Annotated[str | None, typer.Option(help="Loopback address to listen on. [default: 127.0.0.1]")]
Port = Annotated[
    str | None, typer.Option(metavar="PORT", help="Port to listen on; 0 takes any free one. [default: 7411]")
]
Data = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Keep names and votes there; `none` keeps nothing. Default: a folder of the user's for each port; "
        "with --port 0 none.",
    ),
]
LogFormat = Annotated[
    str | None, typer.Option(metavar="FORM", help="Log on standard error as text or json lines. [default: text]")
]
LogLevel = Annotated[
    str | None, typer.Option(metavar="LEVEL", help="Log from there: debug, info, warning, error. [default: warning]")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")]
