"""The options of `gcom-registry run`, each of them a setting (settings.py), and some of other commands."""

from __future__ import annotations

from typing import Annotated

import typer

Config = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="TOML file of settings; `none` reads none. [default: $GCOM_SERVE_CONFIG, else registry.toml in the user's "
        "folder for gcom]",
    ),
]
Listen = Annotated[
    str | None,
    typer.Option(
        metavar="HOST[:PORT[-PORT]]",
        help="Listen there, for other machines, by TLS; the first start makes an authority and a certificate.",
    ),
]
Advertise = Annotated[
    str | None, typer.Option(metavar="HOST[:PORT]", help="The address for others, where it is another.")
]
Cert = Annotated[str | None, typer.Option(metavar="FILE", help="A certificate of your own. [default: $GCOM_TLS_CERT]")]
CertKey = Annotated[str | None, typer.Option("--key", metavar="FILE", help="Its private key. [default: $GCOM_TLS_KEY]")]
Authority = Annotated[str | None, typer.Option("--ca", metavar="FILE", help="Its authority's. [default: $GCOM_TLS_CA]")]
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
Metrics = Annotated[
    str | None,
    typer.Option(
        metavar="[HOST:]PORT",
        help="Serve /metrics, /healthz and /readyz there, by HTTP, on 127.0.0.1 unless a host is named.",
    ),
]
LogFormat = Annotated[
    str | None, typer.Option(metavar="FORM", help="Log on standard error as text or json lines. [default: text]")
]
LogLevel = Annotated[
    str | None,
    typer.Option(metavar="LEVEL", help="Log from debug, info, notice, warning or error on. [default: notice]"),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")]
