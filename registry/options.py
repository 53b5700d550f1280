"""The options of `gcom-registry` by which it serves."""

from __future__ import annotations

from typing import Annotated

import typer

PORT_DEFAULT = "7411"

Listen = Annotated[
    str | None,
    typer.Option(
        metavar="HOST[:PORT[-PORT]]",
        help="Listen there, for other machines, by TLS; the first start makes an authority and a certificate.",
        show_default=False,
    ),
]
Advertise = Annotated[
    str | None,
    typer.Option(metavar="HOST[:PORT]", help="The address for others, where it is another.", show_default=False),
]
Cert = Annotated[str | None, typer.Option(envvar="GCOM_TLS_CERT", metavar="FILE", help="A certificate of your own.")]
Key = Annotated[str | None, typer.Option(envvar="GCOM_TLS_KEY", metavar="FILE", help="Its private key.")]
Authority = Annotated[str | None, typer.Option("--ca", envvar="GCOM_TLS_CA", metavar="FILE", help="Its authority's.")]
Host = Annotated[str, typer.Option(help="Loopback address to listen on.")]
Port = Annotated[str, typer.Option(metavar="PORT", help="Port to listen on; 0 takes any free one.")]
Data = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Keep names and votes there; `none` keeps nothing. Default: a folder of the user's for each port; "
        "with --port 0 none.",
        show_default=False,
    ),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        metavar="[HOST:]PORT",
        help="Serve /metrics, /healthz and /readyz there, by HTTP, on 127.0.0.1 unless a host is named.",
        show_default=False,
    ),
]
